"""Several heads against one: what one cannot reach, and how the outputs of several become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from polyhead.checked import Size
from polyhead_course.figures.plots.boxes import Point, arrow, box, canvas
from polyhead_course.figures.plots.charts import add_points, chart
from polyhead_course.figures.plots.curves import convex_hull
from polyhead_course.figures.plots.drawing import (
    BLUE,
    FIXED_INK,
    FIXED_PAPER,
    GREY,
    INK,
    ORANGE,
    inch_figure,
    plot,
    to_array,
)
from polyhead_course.figures.plots.grid import add_grid, matrix_colours
from polyhead_course.figures.plots.scripts import superscript
from polyhead_course.words.language import text

_FACES = ("#9ecae1", "#fdae6b", "#a1d99b", "#c5b5e3")  # one for each head
_PLAIN = "#d9d9d9"
_WIDE = 2.05  # inches: two matrices of this width and a sign between them fit on a phone
_STYLES = ((ORANGE, "s"), (BLUE, "o"), (GREY, "^"))


@plot
def wish_and_hull(values: object, wish: object, tokens: Sequence[str]) -> Figure:
    """Draw values as points, what their averages reach, and a wished output with the average nearest to it.

    Values are (num_tokens, 2), a red and a blue number each, not all on a line; the wish is (2,), outside
    their convex hull. `tokens` name the values.

    >>> wish_and_hull([[0, 0], [2, 0], [0, 2]], [2, 2], ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    points, target = to_array(values), to_array(wish)
    corners = convex_hull(points)
    nearest = np.round(_nearest(corners, target), 4)
    figure = Figure(figsize=(4.4, 3.4))
    axes = figure.subplots()
    axes.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.15, edgecolor="none"))
    axes.plot(*zip(nearest, target, strict=True), color=GREY, linestyle=":", linewidth=1.6, zorder=2)
    distinct = np.unique(points, axis=0)
    add_points(axes, distinct, "value", s=55, color=BLUE)
    add_points(axes, nearest[None], "nearest", s=50, color=GREY, marker="D")
    add_points(axes, target[None], "wish", s=190, color=ORANGE, marker="*")
    for value in distinct:
        names = [token for token, point in zip(tokens, points, strict=True) if (point == value).all()]
        axes.annotate(", ".join(names), value, xytext=(9, -3), textcoords="offset points", va="top")
    shown = np.vstack([points, target])
    low, high = shown.min(axis=0), shown.max(axis=0)
    axes.set(xlim=(low[0] - 0.4, high[0] + 0.9), ylim=(low[1] - 0.6, high[1] + 0.5))
    axes.set_xlabel(text("axis.red"))
    axes.set_ylabel(text("axis.blue"))
    axes.legend(loc="center left", bbox_to_anchor=(0, 1.08), ncol=3, fontsize=9, columnspacing=0.8)
    return figure


def _nearest(corners: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Find the point on the hull's edge that is nearest to one outside."""
    starts, ends = corners, np.roll(corners, -1, axis=0)
    along = ((target - starts) * (ends - starts)).sum(axis=1) / ((ends - starts) ** 2).sum(axis=1)
    feet = starts + along.clip(0, 1)[:, None] * (ends - starts)
    foot: np.ndarray = feet[((feet - target) ** 2).sum(axis=1).argmin()]
    return foot


@plot
def loss_by_heads(curves: Mapping[int, object]) -> Figure:
    """Draw the loss at each training step, by the number of heads, up to three curves.

    >>> loss_by_heads({1: [1.0, 0.5], 2: [0.75, 0.0]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.4, 2.9, "axis.step", "axis.loss")
    for (colour, marker), (num_heads, curve) in zip(_STYLES, curves.items(), strict=False):
        losses = to_array(curve)
        axes.plot(
            np.arange(1, len(losses) + 1), losses, color=colour, linewidth=1.5, marker=marker, markersize=6,
            markevery=max(1, len(losses) // 10), label=text("curve.heads", number=num_heads),
        )  # fmt: skip
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(loc="best", fontsize=9)
    return figure


@plot
def concat_blocks(num_tokens: Size, num_heads: Size, head_dim: Size) -> Figure:
    """Draw X, the heads that read all of it, their outputs side by side, and W_O in one block of rows a head.

    >>> concat_blocks(num_tokens=3, num_heads=2, head_dim=2)
    <polyhead_course.figures.plots.Drawing>
    """
    embed_dim = num_heads * head_dim
    side, faces = _WIDE / embed_dim, _FACES[:num_heads]
    height, part = num_tokens * side, head_dim * side
    right, input_y, heads_y, concat_y = _WIDE + 0.4, 0.36, 1.22, 1.72
    output_y = max(_WIDE + 0.36, concat_y + height) + 0.46
    figure, axes = canvas(2 * _WIDE + 0.4, output_y + height + 0.36)
    _add_matrix(axes, (0.0, input_y), (num_tokens, embed_dim), side, [_PLAIN])
    _add_note(axes, (0.0, 0.18), f"X  {num_tokens} × {embed_dim}", left=True)
    for number, face in enumerate(faces, start=1):
        middle = (number - 0.5) * part
        arrow(axes, [(_WIDE / 2, input_y + height), (middle, heads_y - 0.16)], GREY, 1.2)
        arrow(axes, [(middle, heads_y + 0.16), (middle, concat_y)], GREY, 1.2)
        label = text("title.head", number=number)
        box(axes, (middle, heads_y), (part - 0.04, 0.32), label, face, fontsize=8.5)
        _add_note(axes, (middle, concat_y + height + 0.16), f"O⁽{superscript(number)}⁾", size=11.5)
        block = right + 0.5 * _WIDE, input_y + middle
        axes.text(*block, f"W_O⁽{superscript(number)}⁾", ha="center", va="center", color=FIXED_INK,
                  fontsize=12.5, zorder=5)  # fmt: skip
    _add_matrix(axes, (0.0, concat_y), (num_tokens, embed_dim), side, faces)
    _add_note(axes, (0.0, concat_y + height + 0.38), text("title.concatenated"), left=True)
    _add_note(axes, (_WIDE + 0.2, concat_y + height / 2), "×", size=14.0)
    _add_matrix(axes, (right, input_y), (embed_dim, embed_dim), side, faces, stacked=True)
    _add_note(axes, (right, 0.18), f"W_O  {embed_dim} × {embed_dim}", left=True)
    _add_matrix(axes, (right, output_y), (num_tokens, embed_dim), side, [_PLAIN])
    _add_note(axes, (_WIDE + 0.2, output_y + height / 2), "=", size=14.0)
    label = f"{text('title.output')}  {num_tokens} × {embed_dim}"
    _add_note(axes, (right, output_y + height + 0.16), label, left=True)
    return figure


def _add_matrix(
    axes: Axes, at: Point, shape: tuple[int, int], side: float, faces: Sequence[str], *, stacked: bool = False
) -> None:
    """Add a matrix from its upper left corner: equal blocks of columns, or of rows if stacked, as cells."""
    (x, y), (rows, columns) = at, shape
    width, height = columns * side, rows * side
    for number, face in enumerate(faces):
        share = number / len(faces)
        corner = (x, y + share * height) if stacked else (x + share * width, y)
        size = (width, height / len(faces)) if stacked else (width / len(faces), height)
        axes.add_patch(Rectangle(corner, *size, facecolor=face, edgecolor="none", zorder=2))
    upright = [[(x + i * side, y), (x + i * side, y + height)] for i in range(columns + 1)]
    level = [[(x, y + i * side), (x + width, y + i * side)] for i in range(rows + 1)]
    axes.add_collection(LineCollection(upright + level, colors=FIXED_PAPER, linewidths=0.5, zorder=3))


def _add_note(axes: Axes, at: Point, words: str, size: float = 9.5, *, left: bool = False) -> None:
    axes.text(*at, words, ha="left" if left else "center", va="center", color=INK, fontsize=size)


@plot
def head_writes(outputs: Sequence[object], output_weight: object) -> Figure:
    """Draw what each head adds to one token's result: above without W_O, below with it, and in both the sum.

    `outputs` are each head's output for the token, (head_dim,); W_O is (num_heads · head_dim, embed_dim).

    >>> head_writes([[1.0, 2.0], [3.0, 4.0]], np.eye(4))
    <polyhead_course.figures.plots.Drawing>
    """
    heads, weight = np.stack([to_array(output) for output in outputs]), to_array(output_weight)
    num_heads, head_dim = heads.shape
    blocks = (np.eye(num_heads)[:, :, None] * heads[:, None]).reshape(num_heads, -1)  # a block a head
    rows = [text("title.head", number=number + 1) for number in range(num_heads)] + [text("row.all_heads")]
    figure = inch_figure()
    cell = 3.8 / max(weight.shape)
    for number, (name, parts) in enumerate((("without", blocks), ("with", blocks @ weight))):
        matrix = np.round(np.vstack([parts, parts.sum(axis=0)]), 4)
        faces = np.where(matrix == 0, "none", matrix_colours(matrix))  # what a head cannot reach stays empty
        columns = [str(place) if place % head_dim == 0 else "" for place in range(matrix.shape[1])]
        top = number * (len(rows) * cell + 0.6)
        axes = add_grid(figure, faces, cell=cell, top=top, rows=rows, columns=columns)
        axes.set_title(text(f"title.{name}_output_projection"), loc="left", y=1, pad=20)
        axes.axhline(num_heads, color=INK, linewidth=1.6)
    return figure
