"""Matrices as coloured tables of numbers: heat maps, the five steps of attention, the weights of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead.language import text
from polyhead.plots.drawing import blank, drawn, fitting, numbers
from polyhead.plots.grid import paint, shades

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

    Each has one row a token, with its label in `tokens`. Dot products become scores by the scaling, and
    scores weights by the softmax.
    """
    fitting("tokens", tokens, len(tokens))
    steps: list[tuple[str, str, object, int, float | None]] = [
        ("", "embeddings", embeddings, 0, None),
        ("project", "queries", queries, 0, None),
        ("project", "keys", keys, 0, None),
        ("project", "values", values, 0, None),
        ("dot", "dot_products", dot_products, 0, None),
        ("scale", "scores", scores, 1, None),
        ("softmax", "weights", weights, 2, 1.0),
        ("weighted_sum", "output", output, 2, None),
    ]
    figure = blank()
    left = top = 0.0
    for step, name, matrix, decimals, highest in steps:
        array = numbers(name, matrix, len(tokens), None)
        rows = () if left else tokens
        axes = _table(figure, array, decimals, highest, cell=_CELL, left=left, top=top, rows=rows)
        titles = [f"step.{step}"] if step else []
        titles += [f"title.{name}"] if name != "dot_products" else []
        axes.set_title(" → ".join(map(text, titles)), loc="left", y=1, pad=5)
        # At least four cells, so that the next title does not run into this one's.
        left = 0.0 if left else max(array.shape[1], 4) * _CELL + 0.45
        top += 0.0 if left else len(tokens) * _CELL + 0.42
    return figure


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
