"""Masks as small coloured squares: which query sees which key, in which use, and since when."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, ORANGE, Array, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_colour_key, add_grid
from polyhead_course.words.language import text


@plot
def masks(panels: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Draw up to five masks side by side; a coloured cell is True, an empty one False.

    They are boolean, (num_tokens, num_tokens), by the names of the labels "mask.…", such as "causal". Queries
    are the rows, keys the columns. A row that sees no key has an orange frame.

    >>> masks({"causal": torch.ones(3, 3).bool().tril()}, ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    size, cell = len(tokens), 0.235 if len(panels) < 4 else 0.135
    figure, turn = inch_figure(), 60 if max(map(len, tokens)) > 2 else 0
    for number, (name, mask) in enumerate(panels.items()):
        faces = np.where(mask.cpu(), BLUE, "none")
        left, rows = number * (size * cell + 0.14), () if number else tokens
        axes = add_grid(figure, faces, cell=cell, left=left, rows=rows, columns=tokens, turn=turn)
        for row in (faces == "none").all(axis=1).nonzero()[0]:
            across, down = (0, size, size, 0, 0), (row, row, row + 1, row + 1, row)
            axes.plot(across, down, color=ORANGE, linewidth=1.6, clip_on=False)
        axes.set_title(text(f"mask.{name}"), y=1, pad=62 if turn else 22)
    return figure


@plot
def three_uses(
    encoder: Bool[Tensor, "source_length source_length"],
    decoder: Bool[Tensor, "target_length target_length"],
    cross: Bool[Tensor, "target_length source_length"],
    source: Sequence[str],
    target: Sequence[str],
) -> Figure:
    """Draw the masks of the three uses of attention in a Transformer; a coloured cell is True.

    Queries are the rows, keys the columns. The encoder's mask and the cross-attention's hide padding:
    every row is the same; the decoder's hides what comes later. `source` and `target` are one short
    label, best a single letter, for each token that the encoder and the decoder read.

    >>> seen, causal = torch.ones(2, 2).bool(), torch.ones(2, 2).bool().tril()
    >>> three_uses(seen, causal, seen, source=["p", "q"], target=[">", "q"])
    <polyhead_course.figures.plots.Drawing>
    """
    labels = {"source": source, "target": target}
    cell = 0.22
    bottom = max(len(source), len(target)) * cell
    figure = inch_figure()
    left = 0.0
    for use, mask, queries, keys, hides in (
        ("encoder", encoder, "source", "source", "padding"),
        ("decoder", decoder, "target", "target", "causal"),
        ("cross", cross, "target", "source", "padding"),
    ):
        faces, columns = np.where(mask.cpu(), BLUE, "none"), labels[keys]
        axes = add_grid(figure, faces, cell=cell, left=left, rows=labels[queries], columns=columns)
        axes.set_ylabel(text(f"use.{queries}_asks"), labelpad=2)
        # A figure's text keeps its place whatever the size of its axes: the lines of all panels are level.
        middle = left + len(columns) * cell / 2
        figure.text(middle, 1.85, text(f"use.{use}"), ha="center", va="top")
        figure.text(middle, 1.25, text(f"use.{keys}_answers"), ha="center")
        hidden = text("use.mask", name=text(f"mask.{hides}"))
        figure.text(middle, 0.75 - bottom, hidden, ha="center")
        left += len(columns) * cell + 0.62  # the gap holds the labels of the rows
    return figure


@plot
def cache_triangle(tokens: Sequence[str], num_prompt: Size = 1) -> Figure:
    """Draw the causal triangle by the age of its keys: computed in the same step, or taken from the cache.

    Queries are the rows, keys the columns. The first `num_prompt` of the tokens, at most 12, are one
    step, and each that is generated is one.

    >>> cache_triangle(["a", "b", "c"], num_prompt=2)
    <polyhead_course.figures.plots.Drawing>
    """
    size = len(tokens)
    row, column = np.indices((size, size))
    faces = np.select([column > row, (column == row) | (row < num_prompt)], ["none", ORANGE], BLUE)
    figure = inch_figure()
    axes = add_grid(figure, faces, cell=0.34, rows=tokens, columns=tokens, turn=50)
    add_colour_key(axes, {text("key.computed"): ORANGE, text("key.cached"): BLUE}, below=0.07)
    return figure


_PALE = "#9ecae1"


@plot
def cache_alignment(num_cached: Size, tokens: Sequence[str]) -> Figure:
    """Draw the causal triangle of up to 8 `tokens`, of which some are cached: aligned well, and badly.

    On the left the rows of the new queries continue the triangle; on the right they begin it anew, and keys
    of the past are hidden. Queries are the rows, keys the columns.

    >>> cache_alignment(num_cached=2, tokens=["1", "2", "3", "4"])
    <polyhead_course.figures.plots.Drawing>
    """
    size = len(tokens)
    row, column = np.indices((size, size))
    past = column <= row
    figure, cell, turn = inch_figure(), 0.34, 60 if max(map(len, tokens)) > 2 else 0
    for number, (name, shift) in enumerate((("lower_right", 0), ("upper_left", num_cached))):
        seen = column <= row - shift
        faces = np.select(
            [(row < num_cached) & past, (row >= num_cached) & seen, (row >= num_cached) & past],
            [_PALE, BLUE, ORANGE], "none",
        )  # fmt: skip
        left, labels = number * (size * cell + 0.25), () if number else tokens
        axes = add_grid(figure, faces, cell=cell, left=left, rows=labels, columns=tokens, turn=turn)
        axes.set_title(text(f"align.{name}"), y=1, pad=62 if turn else 22)
        if not number:
            keys = {"earlier": _PALE, "new": BLUE, "lost": ORANGE}
            add_colour_key(axes, {text(f"align.{key}"): face for key, face in keys.items()}, below=0.06)
    return figure


@plot
def future_grids(moved: Mapping[str, Mapping[str, Array]]) -> Figure:
    """Draw which outputs move when one token is changed, as two grids for each model: training, evaluation.

    Models go by the names of the labels "model.…", such as "causal". In each mode, "train" and "eval", they
    have a row for each changed token and a column for each output. Orange outputs saw the future.

    >>> future_grids({"one_ahead": dict.fromkeys(("train", "eval"), [[0.5, 1.0], [0.5, 1.0]])})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, cell, top = inch_figure(), 0.235, 0.0
    for name, modes in moved.items():
        for number, mode in enumerate(("train", "eval")):
            matrix = to_array(modes[mode])  # a low digit that differs from run to run is no move
            places = [str(place) for place in range(len(matrix))]
            faces = np.select([matrix <= 0, np.tri(len(matrix), k=-1) > 0], ["none", ORANGE], BLUE)
            axes = add_grid(figure, faces, cell=cell, left=number * (len(matrix) * cell + 0.3), top=top,
                            rows=() if number else places, columns=() if top else places)  # fmt: skip
            title = f"{'' if number else text(f'model.{name}')}\n{text(f'mode.{mode}')}"
            axes.set_title(title, loc="left", y=1, pad=6 if top else 20)
            if not number:
                axes.set_ylabel(text("axis.changed"))
                first = axes
        axes.set_xlabel(text("axis.moved"))
        top += len(matrix) * cell + 0.62
    add_colour_key(first, {text("key.moved"): BLUE, text("key.leak"): ORANGE}, below=0.16)
    return figure


@plot
def window_reach(reaches: Sequence[Bool[Tensor, "length length"]]) -> Figure:
    """Draw which outputs depend on which inputs after one layer with a window, after two, and so on.

    Outputs are the rows, input tokens the columns. Blue is what the layers before reached already,
    orange what the last one adds.

    >>> one_layer = torch.ones(5, 5).bool().tril().triu(-1)
    >>> window_reach([one_layer, torch.ones(5, 5).bool().tril().triu(-2)])
    <polyhead_course.figures.plots.Drawing>
    """
    length, cell = len(reaches[0]), 4.4 / 34  # more than 34 columns would be too small on a phone
    figure, before = inch_figure(), torch.zeros(length, length, dtype=torch.bool)
    for number, reach in enumerate(reaches, start=1):
        faces = np.select([before.numpy(), reach.numpy()], [BLUE, ORANGE], "none")
        axes = add_grid(figure, faces, cell=cell, left=(number - 1) * (length + 1.5) * cell)
        axes.set_title(text("panel.layers", number=number))
        before = reach
    return figure
