"""What a look into the future does: which outputs it moves, and what it makes of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead.checked import Positive, Size
from polyhead_course.figures.plots.charts import level_line
from polyhead_course.figures.plots.drawing import BLUE, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_colour_key, add_grid
from polyhead_course.words.language import text

_CELL, _TITLE = 0.32, 0.34  # inches: a cell's side, and the room for a model's name above its rows


@plot
def future_rows(moved: Mapping[str, Mapping[str, object]], changed: Size) -> Figure:
    """Draw which outputs move when one token is changed, as a row of cells for each model and mode.

    Models go by the names of the labels "model.…", such as "causal" or "d2l", and each has the change of each
    output, (num_tokens,), by the mode, "train" and "eval". Outputs that move before the `changed` position
    are a leak.

    >>> future_rows({"one_ahead": {"train": [0.0, 0.5, 1.0], "eval": [0.0, 0.5, 1.0]}}, changed=2)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, top = inch_figure(), 0.0
    for name, modes in moved.items():
        # A low digit that differs from run to run is no move.
        faces = np.where(np.stack([to_array(modes[mode]) for mode in ("train", "eval")]) > 0, BLUE, "none")
        leaks = faces[:, :changed]
        leaks[leaks == BLUE] = ORANGE
        positions = [f"{place}\n▼" if place == changed else f"{place}\n" for place in range(faces.shape[1])]
        columns = () if top else positions
        top += _TITLE
        rows = [text("mode.train"), text("mode.eval")]
        axes = add_grid(figure, faces, cell=_CELL, top=top, rows=rows, columns=columns)
        axes.set_title(text(f"model.{name}"), loc="left", y=1, pad=32 if columns else 5)
        top += 2 * _CELL
    faces_of = {text("key.changed"): "", text("key.moved"): BLUE, text("key.leak"): ORANGE}
    add_colour_key(axes, faces_of, below=0.12, fontsize=9)
    return figure


@plot
def leak_losses(
    at_once: Mapping[str, Sequence[float]],
    one_by_one: Mapping[str, Mapping[int, float]],
    floor: Positive,
    guessing: Positive,
) -> Figure:
    """Draw the loss against training steps: whole texts at once, as in training, and token by token.

    Models go by the names "causal" and "unmasked", one panel each. `at_once` has the losses of the steps 0,
    1, 2, …, `one_by_one` some of them by the step. Dotted lines are the lowest loss that is possible without
    a look into the future, and that of equal probabilities.

    >>> leak_losses({"causal": [2.0, 1.0]}, {"causal": {0: 2.0, 1: 1.1}}, floor=0.7, guessing=2.1)
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(4.6, 2.35 * len(at_once)))
    panels = figure.subplots(len(at_once), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    highest = guessing
    for axes, (name, losses) in zip(panels, at_once.items(), strict=True):
        training, generation = to_array(losses).round(3), to_array(list(one_by_one[name].values())).round(3)
        axes.plot(training, color=BLUE, linewidth=1.3, label=text("curve.at_once"))
        axes.plot(
            list(one_by_one[name]), generation, color=ORANGE, marker="o", markersize=4,
            label=text("curve.one_by_one"),
        )  # fmt: skip
        end = len(training) - 1
        level_line(axes, floor, "lowest_loss", end, shift=-3, fontsize=8.5)
        level_line(axes, guessing, "guessing", end, fontsize=8.5)
        axes.set_title(text(f"model.{name}"), loc="left")
        axes.set_ylabel(text("axis.loss"))
        highest = max(highest, training.max(), generation.max())
    panels[0].set_ylim(0, 1.1 * highest)
    panels[0].legend(loc="upper right", fontsize=9)
    panels[-1].set_xlabel(text("axis.step"))
    figure.subplots_adjust(hspace=0.3)
    return figure
