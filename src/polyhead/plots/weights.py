"""The weights of several heads, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead.language import text
from polyhead.plots.drawing import drawn, labels, numbers
from polyhead.plots.matrices import _check_labels, _draw, _Panel

_CELL = 0.42  # inches: two heads of four keys each, with labels, stay within 4.8
_GAP = 0.25
_LINE = 0.4  # above each line: the title
_LETTERS = 9  # bytes of the longest label that fits a cell; longer ones stand upright


@drawn
def head_weights(weights: object, rows: Sequence[str], columns: Sequence[str] | None = None) -> Figure:
    """The weights of each head as a heat map, two heads a line.

    Args:
        weights: (num_heads, num_queries, num_keys), each entry from 0 to 1.
        rows: one label a query.
        columns: one label a key; `rows` if not given.

    Returns:
        The drawing.

    Raises:
        TypeError: the labels are no strings.
        ValueError: the labels do not fit, or the weights hold something that is no number from 0 to 1.
    """
    array = numbers("weights", weights, 3)
    outside = array[(array < 0) | (array > 1)]
    if outside.size:
        raise ValueError(f"weights must lie between 0 and 1, got {outside[0]}")
    names = labels("rows", rows)
    across = labels("columns", columns) if columns is not None else names
    num_heads, num_rows, num_columns = array.shape
    _check_labels("rows", names, num_rows)
    _check_labels("columns", across, num_columns)

    upright = max(len(name.encode("utf-8")) for name in across) > _LETTERS
    size = num_columns * _CELL, num_rows * _CELL
    header = _LINE + (0.88 if upright else 0.2)
    lines = -(-num_heads // 2)
    width = min(num_heads, 2) * (size[0] + _GAP) - _GAP
    height = header + lines * size[1] + (lines - 1) * _LINE
    figure = Figure(figsize=(width, height))
    for number, matrix in enumerate(array):
        line, place = divmod(number, 2)
        left = place * (size[0] + _GAP)
        bottom = height - header - line * (size[1] + _LINE) - size[1]
        axes = figure.add_axes((left / width, bottom / height, size[0] / width, size[1] / height))
        title = text("title.head", number=number + 1)
        _draw(axes, _Panel(title, matrix, names, [], 2, 1.0), with_rows=place == 0)
        if line == 0:
            axes.xaxis.tick_top()
            axes.set_xticks(np.arange(num_columns) + 0.5, across, rotation=90 if upright else 0)
            axes.tick_params(length=0, pad=4)
            axes.set_title(title, loc="left", y=1.0, pad=72 * (header - _LINE) + 5)
    return figure
