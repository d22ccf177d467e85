"""Positions as pictures: what shuffling does, waves, two positions compared, a training without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from polyhead.checked import Positive
from polyhead_course.figures.plots.charts import chart
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_grid, colormap_colours, matrix_colours
from polyhead_course.words.language import text

_CELL, _GAP = 0.46, 0.75  # inches: a cell of numbers, and the room for the lines between two grids


@plot
def position_waves(table: object) -> Figure:
    """Draw the vectors of positions as coloured cells: orange is positive, purple negative, white 0.

    The table is (num_positions, embed_dim), at most 40 by 20, with entries from -1 to 1.

    >>> position_waves([[0.0, 1.0], [0.84, 0.54], [0.91, -0.42]])
    <polyhead_course.figures.plots.Drawing>
    """
    matrix = to_array(table).round(2)
    rows, columns = matrix.shape
    figure = inch_figure()
    axes = add_grid(figure, colormap_colours("PuOr_r", 0.5 + 0.45 * matrix), cell=0.16)
    for square in axes.patches:  # so many are a wave only without lines between them
        square.set(edgecolor=square.get_facecolor(), linewidth=0.3)
    axes.set_xticks(np.arange(0, columns, 2) + 0.5, [str(i) for i in range(0, columns, 2)])
    axes.set_yticks(np.arange(0, rows, 4) + 0.5, [str(i) for i in range(0, rows, 4)])
    axes.set_xlabel(text("axis.dimension"))
    axes.set_ylabel(text("axis.position"))
    return figure


@plot
def shuffled_outputs(first: object, second: object, tokens: Sequence[str], order: Sequence[int]) -> Figure:
    """Draw the outputs of some tokens, and to the right those of the same tokens in another order.

    Both are (num_tokens, value_dim); row i of `second` belongs to `tokens[order[i]]`. A line joins the two
    rows of each token: orange where it has moved, grey where it keeps its row.

    >>> shuffled_outputs([[1.0], [2.0]], [[2.0], [1.0]], ["a", "b"], order=[1, 0])
    <polyhead_course.figures.plots.Drawing>
    """
    left, right = to_array(first), to_array(second)
    figure = inch_figure()
    start, width = left.shape[1] * _CELL, left.shape[1] * _CELL + _GAP
    highest = float(np.abs(np.concatenate([left, right])).max())
    for matrix, offset, rows in ((left, 0.0, tokens), (right, width, [tokens[i] for i in order])):
        axes = add_grid(
            figure, matrix_colours(matrix, highest), cell=_CELL, left=offset, words=matrix,
            number_format="z.2f", rows=rows,
        )  # fmt: skip
        if offset:
            axes.yaxis.tick_right()
    for place, token in enumerate(order):
        heights = [1 - (row + 0.5) * _CELL for row in (token, place)]
        colour, thickness = (GREY, 1.4) if token == place else (ORANGE, 2.2)
        figure.add_artist(Line2D([start + 0.06, width - 0.06], heights, color=colour, linewidth=thickness))
    return figure


@plot
def distance_products(distances: Sequence[int], panels: Mapping[str, Mapping[int, object]]) -> Figure:
    """Draw the products of two position vectors against their distance, from two starting positions.

    The panels are "plain" and "projected"; each has two curves by the position from which the distance
    counts, the first drawn as a line, the second as points.

    >>> distance_products([-1, 0, 1], {"plain": {30: [1.0, 2.0, 1.0], 100: [1.0, 2.0, 1.0]}})
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(4.5, 2.1 * len(panels) + 0.5))
    rows = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    styles = (BLUE, "-", ""), (ORANGE, "none", "o")
    for axes, (name, curves) in zip(rows, panels.items(), strict=True):
        for (position, curve), (colour, line, marker) in zip(curves.items(), styles, strict=True):
            axes.plot(
                distances, to_array(curve), color=colour, linestyle=line, marker=marker, markersize=4,
                label=text("curve.from_position", position=position),
            )  # fmt: skip
        axes.set_title(text(f"panel.{name}"), loc="left")
    rows[0].legend(loc="upper right", fontsize=9)
    rows[-1].set_xlabel(text("axis.distance"))
    figure.subplots_adjust(hspace=0.35)
    return figure


@plot
def position_losses(curves: Mapping[str, object], guess: Positive, every: Positive = 1) -> Figure:
    """Draw the losses of two trainings, "with_positions" and "no_positions".

    Each has one number for every so many steps; the dotted line is the loss of guessing.

    >>> position_losses({"no_positions": [1.6, 1.6], "with_positions": [1.6, 0.2]}, guess=1.61, every=10)
    <polyhead_course.figures.plots.Drawing>
    """
    styles = {"with_positions": (BLUE, "o"), "no_positions": (ORANGE, "s")}
    figure, axes = chart(4.5, 2.9, "axis.step", "axis.loss")
    for name, curve in curves.items():
        losses, (colour, marker) = to_array(curve), styles[name]
        steps = np.arange(len(losses)) * every
        axes.plot(steps, losses, color=colour, marker=marker, markersize=4, label=text(f"curve.{name}"))
    axes.axhline(guess, color=GREY, linestyle=":", linewidth=1.4, label=text("line.guessing"))
    axes.set_ylim(0, guess * 1.35)
    axes.legend(loc="best", fontsize=9)
    return figure
