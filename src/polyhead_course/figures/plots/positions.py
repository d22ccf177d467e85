"""Positions as pictures: what shuffling does, waves, two positions compared, a training without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from polyhead.checked import Positive
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, blank, drawn, fitting, numbers
from polyhead_course.figures.plots.grid import colours, paint, shades
from polyhead_course.words.language import text

_CELL, _GAP = 0.46, 0.75  # inches: a cell of numbers, and the room for the lines between two grids


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


@drawn
def shuffled_outputs(first: object, second: object, tokens: Sequence[str], order: Sequence[int]) -> Figure:
    """The outputs of some tokens, and to the right those of the same tokens in another order.

    Both are (num_tokens, value_dim); row i of `second` belongs to `tokens[order[i]]`. A line joins the two
    rows of each token: orange where it has moved, grey where it stands in its place.
    """
    left = numbers("first", first, None, None)
    right = numbers("second", second, *left.shape)
    fitting("tokens", tokens, len(left))
    if sorted(order) != list(range(len(left))):
        raise ValueError(f"order must hold each number from 0 to {len(left) - 1} once, got {list(order)}")
    figure = blank()
    start, width = left.shape[1] * _CELL, left.shape[1] * _CELL + _GAP
    highest = float(np.abs(np.concatenate([left, right])).max()) or None
    for matrix, offset, rows in ((left, 0.0, tokens), (right, width, [tokens[i] for i in order])):
        words = np.vectorize(lambda number: f"{number:z.2f}")(matrix)
        axes = paint(
            figure, shades(matrix, highest), cell=_CELL, left=offset, words=words, rows=rows
        )  # fmt: skip
        if offset:
            axes.yaxis.tick_right()
    for place, token in enumerate(order):
        heights = [1 - (row + 0.5) * _CELL for row in (token, place)]
        colour, thickness = (GREY, 1.4) if token == place else (ORANGE, 2.2)
        figure.add_artist(Line2D([start + 0.06, width - 0.06], heights, color=colour, linewidth=thickness))
    return figure


@drawn
def distance_products(distances: Sequence[int], panels: Mapping[str, Mapping[int, object]]) -> Figure:
    """Products of two position vectors against their distance, from two starting positions.

    The panels are "plain" and "projected"; each has two curves by the position from which the distance
    counts, the first drawn as a line, the second as points.
    """
    if not panels or set(panels) - {"plain", "projected"}:
        raise ValueError(f"panels must be plain or projected, got {list(panels)}")
    if len(distances) < 2:
        raise ValueError(f"distances must be at least 2, got {list(distances)}")
    figure = Figure(figsize=(4.5, 2.1 * len(panels) + 0.5))
    every = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    for axes, (name, curves) in zip(every, panels.items(), strict=True):
        if len(curves) != 2:
            raise ValueError(f"panels[{name!r}] must have two curves, got {len(curves)}")
        looks: tuple[dict[str, Any], ...] = (
            {"color": BLUE},
            {"color": ORANGE, "linestyle": "none", "marker": "o", "markersize": 4},
        )
        for (position, curve), look in zip(curves.items(), looks, strict=True):
            heights = numbers(f"panels[{name!r}][{position}]", curve, len(distances))
            axes.plot(distances, heights, label=text("curve.from_position", position=position), **look)
        axes.set_title(text(f"panel.{name}"), loc="left")
    every[0].legend(loc="upper right", fontsize=9)
    every[-1].set_xlabel(text("axis.distance"))
    figure.subplots_adjust(hspace=0.35)
    return figure


@drawn
def position_losses(curves: Mapping[str, object], guess: Positive, every: Positive = 1) -> Figure:
    """The loss of two trainings, by the names "with_positions" and "no_positions".

    Each has one number for every so many steps; the dotted line is the loss of guessing.
    """
    looks = {"with_positions": (BLUE, "o"), "no_positions": (ORANGE, "s")}
    if not curves or set(curves) - set(looks):
        raise ValueError(f"curves must be with_positions or no_positions, got {list(curves)}")
    figure = Figure(figsize=(4.5, 2.9))
    axes = figure.subplots()
    for name, curve in curves.items():
        losses = numbers(f"curves[{name!r}]", curve, None, lowest=0.0)
        colour, marker = looks[name]
        steps = np.arange(len(losses)) * every
        axes.plot(steps, losses, color=colour, marker=marker, markersize=4, label=text(f"curve.{name}"))
    axes.axhline(guess, color=GREY, linestyle=":", linewidth=1.4, label=text("line.guessing"))
    axes.set_ylim(0, guess * 1.35)
    axes.set_xlabel(text("axis.step"))
    axes.set_title(text("axis.loss"), loc="left")
    axes.legend(loc="best", fontsize=9)
    return figure
