"""What a look into the future does: which outputs it moves, and what it makes of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from polyhead.checked import Positive, Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, blank, drawn, numbers
from polyhead_course.figures.plots.grid import paint
from polyhead_course.words.language import text

_CELL, _TITLE = 0.32, 0.34  # inches: a cell's side, and the room for a model's name above its rows
_MODELS = ("causal", "one_ahead", "unmasked", "d2l", "whole_mean", "running_mean")


@drawn
def future_rows(moved: Mapping[str, Mapping[str, object]], changed: Size) -> Figure:
    """By how much each output moves when one token is changed, as a row of cells for each model and mode.

    Models go by their names, "causal", "one_ahead", "unmasked", "d2l", "whole_mean" or "running_mean", and
    each has (num_tokens,) changes by the mode, "train" and "eval". Outputs that move before the `changed`
    position are a leak.
    """
    if not moved or set(moved) - set(_MODELS):
        raise ValueError(f"moved must have models out of {', '.join(_MODELS)}, got {list(moved)}")
    figure, top, size = blank(), 0.0, None
    for name, modes in moved.items():
        rows = {}
        for mode in ("train", "eval"):
            rows[mode] = numbers(f"moved[{name!r}][{mode!r}]", modes.get(mode), size, lowest=0.0)
            size = len(rows[mode])  # all are as long as the first
        if changed >= (size or 0):
            raise ValueError(f"changed must be a position below {size}, got {changed}")
        # A low digit that differs from run to run is no move.
        faces = np.where(np.stack(list(rows.values())) > 0, BLUE, "none")
        faces[:, :changed] = np.where(faces[:, :changed] == BLUE, ORANGE, "none")
        columns = (
            () if top else [f"{place}\n▼" if place == changed else f"{place}\n" for place in range(size or 0)]
        )
        top += _TITLE
        labels = [text(f"mode.{mode}") for mode in rows]
        axes = paint(figure, faces, cell=_CELL, top=top, rows=labels, columns=columns)
        axes.set_title(text(f"model.{name}"), loc="left", y=1, pad=32 if columns else 5)
        top += 2 * _CELL
    legend = {text("key.changed"): None, text("key.moved"): BLUE, text("key.leak"): ORANGE}
    handles = [
        Patch(facecolor=face or "none", edgecolor=GREY if face else "none", linewidth=0.8, label=label)
        for label, face in legend.items()
    ]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -0.12), borderpad=0,
                borderaxespad=0, handlelength=1.2, handleheight=1.2, fontsize=9)  # fmt: skip
    return figure


@drawn
def leak_losses(
    at_once: Mapping[str, Sequence[float]],
    one_by_one: Mapping[str, Mapping[int, float]],
    floor: Positive,
    guessing: Positive,
) -> Figure:
    """Loss against training steps: whole texts at once, as in training, and token by token, as in writing.

    Models go by the names "causal" and "unmasked", one panel each. `at_once` has the losses of the steps 0,
    1, 2, …, `one_by_one` some of them by the step. Dotted lines are the lowest loss that is possible without
    a look into the future, and that of equal probabilities.
    """
    if not at_once or set(at_once) - {"causal", "unmasked"} or set(at_once) != set(one_by_one):
        raise ValueError(f"at_once must be causal or unmasked, as one_by_one, got {list(at_once)}")
    figure = Figure(figsize=(4.6, 2.35 * len(at_once)))
    panels = figure.subplots(len(at_once), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    highest = guessing
    for axes, (name, losses) in zip(panels, at_once.items(), strict=True):
        training = numbers(f"at_once[{name!r}]", losses, None).round(3)
        places, losses = list(one_by_one[name]), list(one_by_one[name].values())
        writing = numbers(f"one_by_one[{name!r}]", losses, None).round(3)
        axes.plot(training, color=BLUE, linewidth=1.3, label=text("curve.at_once"))
        axes.plot(places, writing, color=ORANGE, marker="o", markersize=4, label=text("curve.one_by_one"))
        for height, label, side in ((floor, "lowest_loss", "top"), (guessing, "guessing", "bottom")):
            axes.axhline(height, color=GREY, linestyle=":", linewidth=1.4)
            axes.annotate(text(f"line.{label}"), (len(training) - 1, height), ha="right", va=side,
                          xytext=(0, 2 if side == "bottom" else -3), textcoords="offset points",
                          fontsize=8.5)  # fmt: skip
        axes.set_title(text(f"model.{name}"), loc="left")
        axes.set_ylabel(text("axis.loss"))
        highest = max(highest, training.max(), writing.max())
    panels[0].set_ylim(0, 1.1 * highest)
    panels[0].legend(loc="upper right", fontsize=9)
    panels[-1].set_xlabel(text("axis.step"))
    figure.subplots_adjust(hspace=0.3)
    return figure
