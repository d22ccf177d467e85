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
from polyhead_course.figures.plots.curves import hull_of
from polyhead_course.figures.plots.drawing import (
    BLUE,
    FIXED_INK,
    FIXED_PAPER,
    GREY,
    INK,
    ORANGE,
    blank,
    drawn,
    fitting,
    numbers,
)
from polyhead_course.figures.plots.grid import paint, shades
from polyhead_course.words.language import text

_FACES = ("#9ecae1", "#fdae6b", "#a1d99b", "#c5b5e3")  # one for each head
_PLAIN = "#d9d9d9"
_WIDE = 2.05  # inches: two matrices of this width and a sign between them fit on a phone
_LOOKS = ((ORANGE, "s"), (BLUE, "o"), (GREY, "^"))
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@drawn
def wish_and_hull(values: object, wish: object, tokens: Sequence[str]) -> Figure:
    """Values as points, what their averages reach, and a wished output with the average nearest to it.

    Values are (num_tokens, 2), a red and a blue number each, not all on a line; the wish is (2,), outside
    their convex hull. `tokens` name the values.
    """
    points, target = numbers("values", values, None, 2), numbers("wish", wish, 2)
    fitting("tokens", tokens, len(points))
    hull = hull_of(points)
    if (hull.equations[:, :2] @ target + hull.equations[:, 2] <= 0).all():
        raise ValueError(f"wish must lie outside what averages reach, got {target.tolist()}")
    corners = hull.points[hull.vertices]
    nearest = np.round(_nearest(corners, target), 4)
    figure = Figure(figsize=(4.4, 3.4))
    axes = figure.subplots()
    axes.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.15, edgecolor="none"))
    axes.plot(*zip(nearest, target, strict=True), color=GREY, linestyle=":", linewidth=1.6, zorder=2)
    places = np.unique(points, axis=0)
    for name, spots, colour, marker, size in (
        ("value", places, BLUE, "o", 55),
        ("nearest", nearest[None], GREY, "D", 50),
        ("wish", target[None], ORANGE, "*", 190),
    ):
        axes.scatter(
            spots[:, 0],
            spots[:, 1],
            s=size,
            color=colour,
            marker=marker,
            label=text(f"point.{name}"),
            zorder=3,
        )
    for place in places:
        names = [token for token, point in zip(tokens, points, strict=True) if (point == place).all()]
        axes.annotate(", ".join(names), place, xytext=(9, -3), textcoords="offset points", va="top")
    every = np.vstack([points, target])
    low, high = every.min(axis=0), every.max(axis=0)
    axes.set(xlim=(low[0] - 0.4, high[0] + 0.9), ylim=(low[1] - 0.6, high[1] + 0.5))
    axes.set_xlabel(text("axis.red"))
    axes.set_ylabel(text("axis.blue"))
    axes.legend(loc="center left", bbox_to_anchor=(0, 1.08), ncol=3, fontsize=9, columnspacing=0.8)
    return figure


def _nearest(corners: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The point on the hull's edge that is nearest to one outside."""
    starts, ends = corners, np.roll(corners, -1, axis=0)
    along = ((target - starts) * (ends - starts)).sum(axis=1) / ((ends - starts) ** 2).sum(axis=1)
    feet = starts + along.clip(0, 1)[:, None] * (ends - starts)
    foot: np.ndarray = feet[((feet - target) ** 2).sum(axis=1).argmin()]
    return foot


@drawn
def loss_by_heads(curves: Mapping[int, object]) -> Figure:
    """The loss at each training step, by the number of heads; all curves are equally long."""
    if not curves or len(curves) > len(_LOOKS):
        raise ValueError(f"curves must be one to {len(_LOOKS)}, got {list(curves)}")
    figure = Figure(figsize=(4.4, 2.9))
    axes = figure.subplots()
    length = None
    for (colour, marker), (num_heads, curve) in zip(_LOOKS, curves.items(), strict=False):
        losses = numbers(f"curves[{num_heads!r}]", curve, length, lowest=0.0)
        length = len(losses)
        label = text("curve.heads", number=num_heads)
        every = max(1, length // 10)
        axes.plot(
            np.arange(1, length + 1), losses, color=colour, linewidth=1.5,
            marker=marker, markersize=6, markevery=every, label=label,
        )  # fmt: skip
    axes.set(xlim=(0, None), ylim=(0, None), xlabel=text("axis.step"))
    axes.set_title(text("axis.loss"), loc="left")
    axes.legend(loc="best", fontsize=9)
    return figure


@drawn
def concat_blocks(num_tokens: Size, num_heads: Size, head_dim: Size) -> Figure:
    """X, the heads that read all of it, their outputs side by side, and W_O in one block of rows a head."""
    if num_heads > len(_FACES):
        raise ValueError(f"num_heads must be at most {len(_FACES)}, got {num_heads}")
    joined = num_heads * head_dim
    side = _WIDE / joined
    tall, part = num_tokens * side, head_dim * side
    heads_y, concat_y, square = 1.22, 1.72, _WIDE + 0.36
    output_y = max(square, concat_y + tall) + 0.46
    figure, axes = canvas(2 * _WIDE + 0.4, output_y + tall + 0.36)
    _matrix(axes, (0.0, 0.36), (num_tokens, joined), side, [_PLAIN], across=True)
    _note(axes, (0.0, 0.18), f"X  {num_tokens} × {joined}", left=True)
    for number, face in enumerate(_FACES[:num_heads]):
        middle = (number + 0.5) * part
        arrow(axes, [(_WIDE / 2, 0.36 + tall), (middle, heads_y - 0.16)], GREY, 1.2)
        arrow(axes, [(middle, heads_y + 0.16), (middle, concat_y)], GREY, 1.2)
        label = text("title.head", number=number + 1)
        box(axes, (middle, heads_y), (part - 0.04, 0.32), label, face, fontsize=8.5)
        raised = f"⁽{str(number + 1).translate(_RAISED)}⁾"
        _note(axes, (middle, concat_y + tall + 0.16), f"O{raised}", size=11.5)
        block = (1.5 * _WIDE + 0.4, 0.36 + middle)
        axes.text(*block, f"W_O{raised}", ha="center", va="center", color=FIXED_INK, fontsize=12.5, zorder=5)
    faces = _FACES[:num_heads]
    _matrix(axes, (0.0, concat_y), (num_tokens, joined), side, faces, across=True)
    _note(axes, (0.0, concat_y + tall + 0.38), text("title.concatenated"), left=True)
    _note(axes, (_WIDE + 0.2, concat_y + tall / 2), "×", size=14.0)
    _matrix(axes, (_WIDE + 0.4, 0.36), (joined, joined), side, faces, across=False)
    _note(axes, (_WIDE + 0.4, 0.18), f"W_O  {joined} × {joined}", left=True)
    _matrix(axes, (_WIDE + 0.4, output_y), (num_tokens, joined), side, [_PLAIN], across=True)
    _note(axes, (_WIDE + 0.2, output_y + tall / 2), "=", size=14.0)
    _note(
        axes,
        (_WIDE + 0.4, output_y + tall + 0.16),
        f"{text('title.output')}  {num_tokens} × {joined}",
        left=True,
    )
    return figure


def _matrix(
    axes: Axes, at: Point, shape: tuple[int, int], side: float, faces: Sequence[str], *, across: bool
) -> None:
    """A matrix from its upper left corner: equal blocks of columns or rows, then the lines of its cells."""
    (x, y), (rows, columns) = at, shape
    width, height = columns * side, rows * side
    for number, face in enumerate(faces):
        share = number / len(faces)
        corner = (x + share * width, y) if across else (x, y + share * height)
        size = (width / len(faces), height) if across else (width, height / len(faces))
        axes.add_patch(Rectangle(corner, *size, facecolor=face, edgecolor="none", zorder=2))
    upright = [[(x + i * side, y), (x + i * side, y + height)] for i in range(columns + 1)]
    level = [[(x, y + i * side), (x + width, y + i * side)] for i in range(rows + 1)]
    axes.add_collection(LineCollection(upright + level, colors=FIXED_PAPER, linewidths=0.5, zorder=3))


def _note(axes: Axes, at: Point, words: str, size: float = 9.5, *, left: bool = False) -> None:
    axes.text(*at, words, ha="left" if left else "center", va="center", color=INK, fontsize=size)


@drawn
def head_writes(outputs: Sequence[object], output_weight: object) -> Figure:
    """What each head adds to one token's result: above without W_O, below with it, and in both the sum.

    `outputs` are each head's output for the token, (head_dim,); W_O is (num_heads · head_dim, embed_dim).
    """
    if not outputs:
        raise ValueError("outputs must hold one output a head, got none")
    first = numbers("outputs[0]", outputs[0], None)
    each = [numbers(f"outputs[{place}]", output, len(first)) for place, output in enumerate(outputs)]
    joined = len(each) * len(first)
    weight = numbers("output_weight", output_weight, joined, None)
    apart = np.zeros((len(each), joined))
    for number, output in enumerate(each):
        apart[number, number * len(first) : (number + 1) * len(first)] = output
    rows = [text("title.head", number=number + 1) for number in range(len(each))] + [text("row.all_heads")]
    figure = blank()
    cell = 3.8 / max(joined, weight.shape[1])
    for number, (name, parts) in enumerate((("without", apart), ("with", apart @ weight))):
        whole = np.round(np.vstack([parts, parts.sum(axis=0)]), 4)
        columns = [str(place) if place % len(first) == 0 else "" for place in range(whole.shape[1])]
        top = number * (len(rows) * cell + 0.6)
        faces = shades(whole, float(np.abs(whole).max()) or 1.0)
        faces = np.where(whole == 0, "none", faces)  # what a head cannot reach stays empty
        axes = paint(figure, faces, cell=cell, top=top, rows=rows, columns=columns)
        axes.set_title(text(f"title.{name}_output_projection"), loc="left", y=1, pad=20)
        axes.axhline(len(each), color=INK, linewidth=1.6)
    return figure
