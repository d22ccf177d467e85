"""Matrices as coloured tables of numbers: heat maps, the five steps of attention, the weights of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead_course.figures.plots.drawing import inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_grid, matrix_colours
from polyhead_course.words.language import text

_CELL = 0.46  # inches: a phone shrinks a figure of 4.8 inches to three quarters, and digits stay legible
_FRAME = "#d6006c"  # in neither scale of colours, and seen on light and dark cells


@plot
def heatmap(
    matrix: object,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    decimals: Count = 2,
    highest: Positive | None = None,
) -> Figure:
    """Draw a matrix, (num_rows, num_columns), with its numbers, one coloured cell an entry.

    Columns without labels of their own have those of the rows. The number of the darkest colour is `highest`,
    the largest entry's size if not given.

    >>> heatmap([[0.25, 0.75], [0.5, 0.5]], ["a", "b"], highest=1)
    <polyhead_course.figures.plots.Drawing>
    """
    array = to_array(matrix)
    across = rows if columns is None else columns
    figure = inch_figure()
    axes = add_grid(
        figure, matrix_colours(array, highest), words=array, number_format=f"z.{decimals}f", cell=_CELL,
        rows=rows, columns=across, turn=30 if _has_long_label(across) else 0,
    )  # fmt: skip
    axes.set_title(title, loc="left", y=1, pad=24)
    return figure


# Steps, the matrices in their line with the sign before each, and the side of a cell in inches.
_Line = tuple[tuple[str, ...], tuple[tuple[str, str], ...], float]
_LINES: tuple[_Line, ...] = (
    (("project",), (("", "X"), ("→", "Q"), ("", "K"), ("", "V")), 0.26),
    (("dot",), (("", "Q"), ("×", "Kᵀ"), ("=", "QKᵀ")), 0.26),
    (("scale", "softmax"), (("", "S"), ("→", "A")), 0.36),
    (("weighted_sum",), (("", "A"), ("×", "V"), ("=", "O")), 0.36),
)
_NAMES = {"X": "embeddings", "Q": "queries", "K": "keys", "V": "values", "S": "scores", "A": "weights",
          "O": "output"}  # fmt: skip
_DECIMALS = {"S": 1, "A": 2, "O": 2}
_FRAMES = {"Q": "row", "Kᵀ": "column", "QKᵀ": "cell", "S": "row", "A": "row", "V": "column", "O": "cell"}


@plot
def five_steps(
    *,
    embeddings: object,
    queries: object,
    keys: object,
    values: object,
    dot_products: object,
    scores: object,
    weights: object,
    output: object,
    tokens: Sequence[str],
) -> Figure:
    """Draw the whole of attention on one page: every matrix from the embeddings to the output.

    Each has one row a token, with its label in `tokens`. Each line is a step or two. In each product
    the last row of the left matrix, the first column of the right one, and what they make are framed.

    >>> Q, A = [[1.0, 0.0], [0.0, 1.0]], [[0.75, 0.25], [0.25, 0.75]]
    >>> five_steps(embeddings=Q, queries=Q, keys=Q, values=Q, dot_products=Q, scores=Q, weights=A, output=A,
    ...            tokens=["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    arrays = {
        "X": to_array(embeddings), "Q": to_array(queries), "K": to_array(keys), "Kᵀ": to_array(keys).T,
        "V": to_array(values), "QKᵀ": to_array(dot_products), "S": to_array(scores), "A": to_array(weights),
        "O": to_array(output),
    }  # fmt: skip
    figure, top = inch_figure(), 0.0
    for steps, matrices, cell in _LINES:
        names = [text(f"step.{step}") for step in steps]
        figure.text(-0.68, 1 - top, " · ".join(names), fontsize=10.5, va="center")
        top += 0.44
        left, middle = 0.0, 1 - top - len(tokens) * cell / 2
        for number, (sign, symbol) in enumerate(matrices):
            if sign:
                figure.text(left + 0.14, middle, sign, fontsize=12, ha="center", va="center")
                left += 0.28
            array, rows = arrays[symbol], () if number else tokens
            axes = _add_step(figure, symbol, array, cell=cell, left=left, top=top, rows=rows)
            if steps != ("project",):
                _add_frame(axes, _FRAMES[symbol], array.shape)
            gap = 0.1 if number + 1 < len(matrices) else 0.0
            left += max(array.shape[1] * cell, 0.6 if symbol in _NAMES else 0.0) + gap
        top += len(tokens) * cell + 0.3
    return figure


def _add_step(figure: Figure, symbol: str, array: np.ndarray, **look: Any) -> Axes:
    """Add one matrix of the five steps with its title."""
    faces = matrix_colours(array, 1.0 if symbol == "A" else None)
    number_format = f"z.{_DECIMALS.get(symbol, 0)}f"
    axes = add_grid(figure, faces, words=array, number_format=number_format, **look)
    axes.tick_params(axis="y", labelsize=8.5)
    name = text(f"title.{_NAMES[symbol]}") + " " if symbol in _NAMES else ""
    formula = "S = QKᵀ / √d_k" if symbol == "S" else symbol
    axes.set_title(name + formula, loc="left", y=1, pad=4, fontsize=9)
    return axes


def _add_frame(axes: Axes, part: str, shape: tuple[int, ...]) -> None:
    """Add a frame around the last row, the first column, or the cell where they meet."""
    height, width = shape
    upper = 0 if part == "column" else height - 1
    right = width if part == "row" else 1
    across, down = [0, right, right, 0, 0], [upper, upper, height, height, upper]
    axes.plot(across, down, color=_FRAME, linewidth=2.2, clip_on=False, zorder=4)


@plot
def head_weights(weights: object, rows: Sequence[str], columns: Sequence[str] | None = None) -> Figure:
    """Draw the weights of each head as a heat map, (num_heads, num_queries, num_keys), two heads a line.

    `rows` are one label a query, `columns` one a key; if not given, they are the same.

    >>> head_weights([[[0.25, 0.75], [0.5, 0.5]]], ["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    across = rows if columns is None else columns
    cell = 0.42  # two heads of four keys each, with labels, stay within 4.8 inches
    figure = inch_figure()
    for number, matrix in enumerate(to_array(weights)):
        line, place = divmod(number, 2)
        upright = _has_long_label(across) and line == 0
        axes = add_grid(
            figure, matrix_colours(matrix, 1.0), words=matrix, number_format="z.2f", cell=cell,
            left=place * (len(across) * cell + 0.25), top=line * (len(rows) * cell + 0.4),
            rows=() if place else rows, columns=() if line else across, turn=90 if upright else 0,
        )  # fmt: skip
        pad = 68.4 if upright else 5.0 if line else 19.4
        axes.set_title(text("title.head", number=number + 1), loc="left", y=1, pad=pad)
    return figure


def _has_long_label(labels: Sequence[str]) -> bool:
    """Whether a label is wider than a cell; a character of three bytes is twice as wide as a letter."""
    return max(len(label.encode("utf-8")) for label in labels) > 9
