"""Values as points: where their weighted sums can be, and where not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, Array, plot, to_array
from polyhead_course.words.language import text

Room = tuple[float, float]


def add_points(axes: Axes, points: np.ndarray, name: str, zorder: int = 3, **look: Any) -> None:
    """Add points, (num_points, 2), with the label `point.<name>`."""
    axes.scatter(points[:, 0], points[:, 1], label=text(f"point.{name}"), zorder=zorder, **look)


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Find the corners of the area that weighted averages of points, (num_points, 2), can reach.

    Raises:
        ValueError: all points are on one line.
    """
    from scipy.spatial import ConvexHull, QhullError  # takes as long to import as the rest of the figures

    try:
        hull = ConvexHull(np.unique(points, axis=0))
    except QhullError:
        raise ValueError(f"values must be points, not all on one line, got {points.tolist()}") from None
    corners: np.ndarray = hull.points[hull.vertices]
    return corners


def _plane(size: Room, corners: np.ndarray, shown: np.ndarray, low: Room, high: Room) -> tuple[Figure, Axes]:
    """Create axes with a convex hull, and with room for the points shown: so much below, and above them."""
    figure = Figure(figsize=size)
    axes = figure.subplots()
    axes.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.15, edgecolor="none"))
    (left, bottom), (right, top) = shown.min(axis=0) - low, shown.max(axis=0) + high
    axes.set(xlim=(left, right), ylim=(bottom, top))
    return figure, axes


@plot
def weighted_sums(
    values: Array,
    outputs: Array,
    tokens: Sequence[str],
    wished: Array | None = None,
    axis_names: Sequence[str] = (),
) -> Figure:
    """Draw values as points, the area that their weighted averages can reach, and the outputs in it.

    Values and outputs are (num_tokens, 2); at least three values, not all on a line. `tokens` name them.
    `wished`, (2,), is an output that one would like to have; `axis_names` are labels of `terms.yml`.

    >>> weighted_sums([[0, 0], [4, 0], [1, 3]], [[1, 1], [2, 1], [1, 2]], ["a", "b", "c"], wished=[4, 4])
    <polyhead_course.figures.plots.Drawing>
    """
    points, sums = to_array(values), to_array(outputs)
    shown = points if wished is None else np.vstack((points, to_array(wished)))
    figure, axes = _plane((4.6, 3.8), convex_hull(points), shown, low=(0.9, 0.6), high=(0.9, 0.7))
    for start, end in zip(points, sums, strict=True):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.2})
    add_points(axes, points, "value", s=55, color=BLUE)
    add_points(axes, sums, "output", s=65, color=ORANGE, marker="D")
    if wished is not None:
        add_points(axes, shown[-1:], "wish", s=90, color=INK, marker="x", linewidth=2, zorder=4)
    for label, point, output in zip(tokens, points, sums, strict=True):
        below = output[1] > point[1]  # where its arrow does not go
        axes.annotate(label, point, xytext=(0, -9 if below else 8), textcoords="offset points",
                      ha="center", va="top" if below else "bottom")  # fmt: skip
    axes.set(**{f"{axis}label": text(name) for axis, name in zip("xy", axis_names, strict=False)})
    axes.legend(loc="center left", bbox_to_anchor=(0, 1.06), ncol=3, columnspacing=0.8)
    return figure


@plot
def wish_and_hull(values: Array, wish: Array, tokens: Sequence[str]) -> Figure:
    """Draw values as points, what their averages reach, and a wished output with the average nearest to it.

    Values are (num_tokens, 2), a red and a blue number each, not all on a line; the wish is (2,), outside
    their convex hull. `tokens` name the values.

    >>> wish_and_hull([[0, 0], [2, 0], [0, 2]], [2, 2], ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    points, target = to_array(values), to_array(wish)
    corners = convex_hull(points)
    nearest = np.round(_nearest(corners, target), 4)
    shown = np.vstack([points, target])
    figure, axes = _plane((4.4, 3.4), corners, shown, low=(0.4, 0.6), high=(0.9, 0.5))
    axes.plot(*zip(nearest, target, strict=True), color=GREY, linestyle=":", linewidth=1.6, zorder=2)
    distinct = np.unique(points, axis=0)
    add_points(axes, distinct, "value", s=55, color=BLUE)
    add_points(axes, nearest[None], "nearest", s=50, color=GREY, marker="D")
    add_points(axes, target[None], "wish", s=190, color=ORANGE, marker="*")
    for value in distinct:
        names = [token for token, point in zip(tokens, points, strict=True) if (point == value).all()]
        axes.annotate(", ".join(names), value, xytext=(9, -3), textcoords="offset points", va="top")
    axes.set(xlabel=text("axis.red"), ylabel=text("axis.blue"))
    axes.legend(loc="center left", bbox_to_anchor=(0, 1.08), ncol=3, columnspacing=0.8)
    return figure


def _nearest(corners: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Find the point on the hull's edge that is nearest to one outside."""
    starts, ends = corners, np.roll(corners, -1, axis=0)
    along = ((target - starts) * (ends - starts)).sum(axis=1) / ((ends - starts) ** 2).sum(axis=1)
    feet = starts + along.clip(0, 1)[:, None] * (ends - starts)
    foot: np.ndarray = feet[((feet - target) ** 2).sum(axis=1).argmin()]
    return foot


@plot
def keys_and_query(keys: Array, query: Array, tokens: Sequence[str]) -> Figure:
    """Draw keys as points on a circle, and as an arrow the direction of the query of the last token.

    Keys are (num_tokens, 2), the query is (2,) and not 0. `tokens` name the keys.

    >>> keys_and_query([[1, 0], [0, 1], [-1, 0]], [0, 20], ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    points, arrow = to_array(keys), to_array(query)
    if not arrow.any():
        raise ValueError(f"query must not be 0, got {arrow.tolist()}")
    arrow = np.round(0.8 * arrow / np.linalg.norm(arrow), 4)
    figure = Figure(figsize=(3.4, 3.0))
    axes = figure.subplots()
    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor=GREY, linestyle=":", linewidth=1.4))
    axes.annotate("", tuple(arrow), (0, 0), arrowprops={"arrowstyle": "-|>", "color": ORANGE, "linewidth": 2})
    label = text("point.query_of", token=tokens[-1])
    axes.annotate(label, (0, 0), xytext=(0, 8), textcoords="offset points", ha="center")
    axes.scatter(points[:, 0], points[:, 1], s=55, color=BLUE, zorder=3)
    for token, point in zip(tokens, points, strict=True):
        across = "center" if abs(point[0]) < 0.5 else "left" if point[0] > 0 else "right"
        axes.annotate(token, tuple(1.16 * point), ha=across, va="center")
    axes.set(xlim=(-1.4, 1.4), ylim=(-1.25, 1.25), aspect="equal")
    axes.set_axis_off()
    return figure
