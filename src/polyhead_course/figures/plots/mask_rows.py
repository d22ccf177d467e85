"""What a mask does to rows of weights, and where the causal triangle begins when there is a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_colour_key, add_grid
from polyhead_course.words.language import text

_PALE = "#9ecae1"


@plot
def masked_row(before: object, masked: object, late: object, tokens: Sequence[str]) -> Figure:
    """Draw one row of weights, (num_keys,), without a mask, masked before the softmax, and set to 0 after it.

    Each is a strip of bars with its sum at the right; the dashed outlines are the weights without the mask.

    >>> masked_row([0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.5, 0.25, 0.0], ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    arrays = {"before": to_array(before), "masked": to_array(masked), "late": to_array(late)}
    figure, cell, height = inch_figure(), 0.85, 0.62
    for line, (name, array) in enumerate(arrays.items()):
        top = line * (height + 0.52)
        axes = _add_bars(figure, array, [f"{weight:.2f}" for weight in array], top, cell, height)
        if name != "before":
            for key, weight in enumerate(arrays["before"]):
                outline = Rectangle((key + 0.2, 0), 0.6, weight)
                axes.add_patch(outline).set(facecolor="none", edgecolor=GREY, linestyle="--")
        axes.set_title(text(f"row.{name}"), loc="left", y=1, pad=14, fontsize=10)
        total = text("row.sum", number=f"{array.sum():.2f}")
        axes.text(len(tokens) + 0.1, 0, total, va="bottom", fontsize=9.5)
    axes.set_xticks(np.arange(len(tokens)) + 0.5, tokens, fontsize=9.5)
    return figure


@plot
def blind_rows(answers: Mapping[str, object], tokens: Sequence[str]) -> Figure:
    """Draw the weights, (num_keys,), that programs give to one query: a strip of bars for each name.

    Where a weight is not a number, NaN is written in place of a bar.

    >>> blind_rows({"zeros": [0.0, 0.0], "NaN": [np.nan, np.nan]}, ["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, cell, height = inch_figure(), 0.56, 0.3
    for line, (name, row) in enumerate(answers.items()):
        weights = to_array(row)
        words = ["NaN" if np.isnan(weight) else f"{weight:.2f}" for weight in weights]
        axes = _add_bars(figure, np.nan_to_num(weights), words, line * (height + 0.2), cell, height)
        axes.text(-0.15, 0, name, ha="right", va="bottom", fontsize=9.5)
    axes.set_xticks(np.arange(len(tokens)) + 0.5, tokens, fontsize=9)
    if max(len(token.encode("utf-8")) for token in tokens) > 9:  # wider than a bar's place
        for tick in axes.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
    return figure


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


def _add_bars(
    figure: Figure, row: np.ndarray, words: Sequence[str], top: float, cell: float, height: float
) -> Axes:
    """Add axes with bars between 0 and 1 and a word above each; a bar is three fifths of its place wide."""
    axes = figure.add_axes((0, 1 - top - height, len(row) * cell, height))
    axes.set(xlim=(0, len(row)), ylim=(0, 1), xticks=[], yticks=[])
    axes.spines["left"].set_visible(False)
    for key, (weight, word) in enumerate(zip(row, words, strict=True)):
        axes.add_patch(Rectangle((key + 0.2, 0), 0.6, weight, facecolor=BLUE))
        colour = ORANGE if word == "NaN" else INK
        axes.annotate(word, (key + 0.5, weight), xytext=(0, 1.5), textcoords="offset points", ha="center",
                      va="bottom", fontsize=9, color=colour, annotation_clip=False)  # fmt: skip
    axes.tick_params(length=0, pad=3)
    return axes
