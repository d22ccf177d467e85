"""Grids of cells: every matrix and every mask in a figure is one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from polyhead_course.figures.plots.drawing import FIXED_INK, FIXED_PAPER, GREY

_SQUARE = Path.unit_rectangle()
HEAD_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fbb4c4", "#d9d9a0", "#c7b299", "#cccccc")


def add_grid(
    figure: Figure,
    faces: np.ndarray,
    *,
    cell: float,
    left: float = 0.0,
    top: float = 0.0,
    cell_texts: np.ndarray | None = None,
    number_format: str = "",
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    turn: int = 0,
) -> Axes:
    """Add cells to an `inch_figure`, and return axes in which each is one unit wide and high.

    `faces`, (num_rows, num_columns), is the colour of each cell, or "none"; its side, and where the first one
    begins, are in inches. Cells with `cell_texts`, numbers in `number_format` or texts, (num_rows,
    num_columns), have white lines between them, others grey ones. `rows` are labels to the left, `columns`
    above, turned by `turn` degrees.

    Raises:
        ValueError: `rows` has not one label for each row, or `columns` for each column.
    """
    height, width = faces.shape
    edge, line = (GREY, 0.8) if cell_texts is None else (FIXED_PAPER, 1.0)
    axes = figure.add_axes((left, 1 - top - height * cell, width * cell, height * cell))
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    add_cells(axes, faces, edgecolor=edge, linewidth=line, clip_on=False)
    for (row, column), content in () if cell_texts is None else np.ndenumerate(cell_texts):
        red, green, blue = to_rgb(str(faces[row, column]))
        ink = FIXED_PAPER if 0.299 * red + 0.587 * green + 0.114 * blue < 0.52 else FIXED_INK
        label = format(content, number_format)
        axes.text(column + 0.5, row + 0.5, label, ha="center", va="center", color=ink)
    if rows:
        axes.set_yticks(np.arange(height) + 0.5, rows)
    if columns:
        va = "center" if turn > 45 else "bottom"
        turned: dict[str, Any] = {"rotation": turn, "ha": "left", "va": va, "rotation_mode": "anchor"}
        axes.xaxis.tick_top()
        axes.set_xticks(np.arange(width) + 0.5, columns, **turned if turn else {})
    axes.tick_params(length=0, pad=4)
    return axes


def add_cells(
    axes: Axes, faces: np.ndarray, at: tuple[float, float] = (0.0, 0.0), side: float = 1.0, **look: Any
) -> None:
    """Add cells, the first with its corner `at` a point; one path for each colour keeps the SVG small."""
    for face in dict.fromkeys(faces.flat):
        squares = np.argwhere(faces == face)[:, None, ::-1] + np.array(_SQUARE.vertices)
        paths = (Path(np.array(at) + side * square, _SQUARE.codes) for square in squares)
        axes.add_patch(PathPatch(Path.make_compound_path(*paths), facecolor=face, **look))


def has_long_label(labels: Sequence[str]) -> bool:
    """Whether a label is wider than a cell; a character of three bytes is twice as wide as a letter."""
    return max(len(label.encode("utf-8")) for label in labels) > 9


def matrix_colours(matrix: np.ndarray, highest: int | float | None = None) -> np.ndarray:
    """White to blue up to the highest number, or purple to orange around 0 if there are negative ones."""
    if (matrix < 0).any():
        return signed_colours(matrix, highest)
    return colormap_colours("Blues", matrix / (1.25 * (highest or float(np.abs(matrix).max()) or 1.0)))


def signed_colours(matrix: np.ndarray, highest: int | float | None = None) -> np.ndarray:
    """Purple below 0, white at 0, orange above it; the darkest is for the highest absolute number."""
    scale = highest or float(np.abs(matrix).max()) or 1.0
    return colormap_colours("PuOr_r", 0.5 + matrix / (3.2 * scale))


def colormap_colours(name: str, positions: np.ndarray) -> np.ndarray:
    """The colour at each position, from 0 to 1, in one of matplotlib's colormaps."""
    return np.array([[to_hex(face) for face in row] for row in colormaps[name](positions)])


def add_colour_key(axes: Axes, faces: Mapping[str, str], below: float) -> None:
    """Add a legend of cells under a grid: a face for each label, none where it is empty."""
    handles = [
        Patch(facecolor=face or "none", edgecolor=GREY if face else "none", linewidth=0.8, label=label)
        for label, face in faces.items()
    ]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -below), borderpad=0, borderaxespad=0,
                handlelength=1.2, handleheight=1.2)  # fmt: skip
