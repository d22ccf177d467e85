"""The painter of grids of cells: every matrix and every mask in a figure is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead.checked import Positive
from polyhead_course.figures.plots.drawing import FIXED_INK, FIXED_PAPER, GREY


def paint(
    figure: Figure,
    faces: np.ndarray,
    *,
    cell: float,
    left: float = 0.0,
    top: float = 0.0,
    words: np.ndarray | None = None,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    turn: int = 0,
) -> Axes:
    """Paint cells into a `blank` figure, and return axes in which each is one unit wide and high.

    `faces`, (num_rows, num_columns), is the colour of each cell, or "none"; its side, and where the first one
    begins, are in inches. Cells with `words`, of the same shape, have white lines between them, others grey
    ones. `rows` are labels to the left, `columns` above, where they `turn` by so many degrees.
    """
    height, width = faces.shape
    edge, line, fontsize = (GREY, 0.8, 9.0) if words is None else (FIXED_PAPER, 1.0, 10.0)
    axes = figure.add_axes((left, 1 - top - height * cell, width * cell, height * cell))
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    for (row, column), face in np.ndenumerate(faces):
        square = Rectangle((column, row), 1, 1, facecolor=face, edgecolor=edge, linewidth=line)
        axes.add_patch(square).set_clip_on(False)
        if words is not None:
            red, green, blue = to_rgb(face)
            ink = FIXED_PAPER if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else FIXED_INK
            word = str(words[row, column])
            axes.text(column + 0.5, row + 0.5, word, ha="center", va="center", color=ink, fontsize=9.5)
    if rows:
        axes.set_yticks(np.arange(height) + 0.5, rows, fontsize=fontsize)
    if columns:
        axes.xaxis.tick_top()
        axes.set_xticks(np.arange(width) + 0.5, columns, fontsize=fontsize)
    if turn:
        for tick in axes.get_xticklabels():
            tick.set(rotation=turn, ha="left", va="center" if turn > 45 else "bottom", rotation_mode="anchor")
    axes.tick_params(length=0, pad=4)
    return axes


def shades(matrix: np.ndarray, highest: Positive | None) -> np.ndarray:
    """White to blue up to the highest number, or purple to orange around 0 if there are negative ones."""
    scale = highest or float(np.abs(matrix).max()) or 1.0
    if (matrix < 0).any():
        return colours("PuOr_r", 0.5 + matrix / (3.2 * scale))
    return colours("Blues", matrix / (1.25 * scale))


def colours(scale: str, places: np.ndarray) -> np.ndarray:
    """The colour at each place, from 0 to 1, of one of matplotlib's scales."""
    return np.array([[to_hex(face) for face in row] for row in colormaps[scale](places)])
