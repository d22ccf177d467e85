"""Positions as waves of colour."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from polyhead.language import text
from polyhead.plots.drawing import blank, drawn, numbers
from polyhead.plots.grid import colours, paint


@drawn
def position_waves(table: object) -> Figure:
    """What positions add, as coloured cells: orange is positive, purple negative, white 0.

    The table is (num_positions, embed_dim), at most 40 by 20, with entries from -1 to 1.
    """
    matrix = numbers("table", table, None, None, lowest=-1.0, highest=1.0)
    rows, columns = matrix.shape
    if rows > 40 or columns > 20:
        raise ValueError(f"table must have at most 40 rows and 20 columns, got shape {matrix.shape}")
    faces = colours("PuOr_r", 0.5 + 0.45 * np.round(matrix, 2))
    figure = blank()
    axes = paint(figure, faces, cell=0.16)
    for square in axes.patches:  # so many are a wave only without lines between them
        square.set(edgecolor=square.get_facecolor(), linewidth=0.3)
    axes.set_xticks(np.arange(0, columns, 2) + 0.5, [str(i) for i in range(0, columns, 2)])
    axes.set_yticks(np.arange(0, rows, 4) + 0.5, [str(i) for i in range(0, rows, 4)])
    axes.set_xlabel(text("axis.dimension"))
    axes.set_ylabel(text("axis.position"))
    return figure
