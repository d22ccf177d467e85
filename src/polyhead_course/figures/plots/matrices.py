"""Matrices as coloured tables of numbers: heat maps, the five steps of attention, the weights of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead_course.figures.plots.drawing import blank, drawn, fitting, numbers
from polyhead_course.figures.plots.grid import paint, shades
from polyhead_course.words.language import text

_Line = tuple[
    tuple[str, ...], tuple[tuple[str, str], ...], float
]  # steps, (sign, matrix) each, cell in inches

_LINES: tuple[_Line, ...] = (
    (("project",), (("", "X"), ("→", "Q"), ("", "K"), ("", "V")), 0.26),
    (("dot",), (("", "Q"), ("×", "Kᵀ"), ("=", "QKᵀ")), 0.26),
    (("scale", "softmax"), (("", "S"), ("→", "A")), 0.36),
    (("weighted_sum",), (("", "A"), ("×", "V"), ("=", "O")), 0.36),
)
_WORDS = {
    "X": "embeddings",
    "Q": "queries",
    "K": "keys",
    "V": "values",
    "S": "scores",
    "A": "weights",
    "O": "output",
}
_FORMULAS = {"S": "S = QKᵀ / √d_k"}
_FRAME = "#d6006c"  # in neither scale of colours, and seen on light and dark cells
_CELL = 0.46  # inches: a phone shrinks a figure of 4.8 inches to three quarters, and digits stay legible


@drawn
def heatmap(
    matrix: object,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    decimals: Count = 2,
    highest: Positive | None = None,
) -> Figure:
    """A matrix, (num_rows, num_columns), with its numbers, one coloured cell an entry.

    Columns without labels of their own have those of the rows. The number of the darkest colour is `highest`,
    the largest entry's size if not given.
    """
    array = numbers("matrix", matrix, None, None)
    across = _labels(array, rows, columns)
    figure = blank()
    turn = 30 if _long(across) else 0
    axes = _table(figure, array, decimals, highest, cell=_CELL, rows=rows, columns=across, turn=turn)
    axes.set_title(title, loc="left", y=1, pad=24)
    return figure


@drawn
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
    """The whole of attention on one page: every matrix from the embeddings to the output.

    Each has one row a token, with its label in `tokens`. Each line is a step or two. In each product
    the last row of the left matrix, the first column of the right one, and what they make are framed.
    """
    fitting("tokens", tokens, len(tokens))
    arrays = {
        "X": numbers("embeddings", embeddings, len(tokens), None),
        "Q": numbers("queries", queries, len(tokens), None),
        "K": numbers("keys", keys, len(tokens), None),
        "V": numbers("values", values, len(tokens), None),
        "QKᵀ": numbers("dot_products", dot_products, len(tokens), len(tokens)),
        "S": numbers("scores", scores, len(tokens), len(tokens)),
        "A": numbers("weights", weights, len(tokens), len(tokens)),
        "O": numbers("output", output, len(tokens), None),
    }
    arrays["Kᵀ"] = arrays["K"].T
    last = len(tokens) - 1
    framed = {"Q": "row", "Kᵀ": "column", "QKᵀ": "cell", "S": "row", "A": "row", "V": "column", "O": "cell"}
    figure = blank()
    top = 0.0
    for steps, line, cell in _LINES:
        names = [text(f"step.{step}") for step in steps]
        figure.text(-0.68, 1 - top, " · ".join(names), fontsize=10.5, va="center")
        left, top = 0.0, top + 0.44
        for number, (sign, symbol) in enumerate(line):
            if sign:
                middle = 1 - top - len(tokens) * cell / 2
                figure.text(left + 0.14, middle, sign, fontsize=12, ha="center", va="center")
                left += 0.28
            array = arrays[symbol]
            decimals = 2 if symbol in ("A", "O") else 1 if symbol == "S" else 0
            highest = 1.0 if symbol == "A" else None
            rows = () if number else tokens
            axes = _table(figure, array, decimals, highest, cell=cell, left=left, top=top, rows=rows)
            axes.tick_params(axis="y", labelsize=8.5)
            name = text(f"title.{_WORDS[symbol]}") + " " if symbol in _WORDS else ""
            axes.set_title(name + _FORMULAS.get(symbol, symbol), loc="left", y=1, pad=4, fontsize=9)
            if steps != ("project",):
                _frame(axes, framed[symbol], last, array.shape)
            left += max(array.shape[1] * cell, 0.6 if name else 0.0) + (0.0 if line[-1][1] == symbol else 0.1)
        top += len(tokens) * cell + 0.3
    return figure


def _frame(axes: Axes, part: str, row: int, shape: tuple[int, ...]) -> None:
    """A frame around one row, the first column, or the cell where they meet."""
    upper, lower = (0, shape[0]) if part == "column" else (row, row + 1)
    right = shape[1] if part == "row" else 1
    across, down = [0, right, right, 0, 0], [upper, upper, lower, lower, upper]
    axes.plot(across, down, color=_FRAME, linewidth=2.2, clip_on=False, zorder=4)


@drawn
def head_weights(weights: object, rows: Sequence[str], columns: Sequence[str] | None = None) -> Figure:
    """The weights of each head as a heat map, (num_heads, num_queries, num_keys), two heads a line.

    `rows` are one label a query, `columns` one a key; if not given, they are the same.
    """
    array = numbers("weights", weights, None, None, None, lowest=0.0, highest=1.0)
    across = _labels(array[0], rows, columns)
    cell = 0.42  # two heads of four keys each, with labels, stay within 4.8 inches
    figure = blank()
    for number, matrix in enumerate(array):
        line, place = divmod(number, 2)
        upright = _long(across) and line == 0
        axes = _table(
            figure, matrix, 2, 1.0, cell=cell,
            left=place * (len(across) * cell + 0.25), top=line * (len(rows) * cell + 0.4),
            rows=() if place else rows, columns=() if line else across, turn=90 if upright else 0,
        )  # fmt: skip
        pad = 68.4 if upright else 5.0 if line else 19.4
        axes.set_title(text("title.head", number=number + 1), loc="left", y=1, pad=pad)
    return figure


def _labels(matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str] | None) -> Sequence[str]:
    """The columns' labels, when there is one label a row and one a column."""
    across = rows if columns is None else columns
    fitting("rows", rows, matrix.shape[0])
    fitting("columns", across, matrix.shape[1])
    return across


def _long(labels: Sequence[str]) -> bool:
    """Whether one of them is wider than a cell; a character of three bytes is twice as wide as a letter."""
    return max(len(label.encode("utf-8")) for label in labels) > 9


def _table(figure: Figure, matrix: np.ndarray, decimals: int, highest: Positive | None, **look: Any) -> Axes:
    words = np.vectorize(lambda number: f"{number:z.{decimals}f}")(matrix)
    return paint(figure, shades(matrix, highest), words=words, **look)
