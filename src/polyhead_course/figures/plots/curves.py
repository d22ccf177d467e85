"""Curves and points: what scaling does to gradients, and where a weighted sum can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from polyhead_course.figures.plots.charts import add_points, chart, power_ticks
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, plot, to_array, to_log10
from polyhead_course.words.language import text

_STYLES = {"scaled": (BLUE, "o"), "unscaled": (ORANGE, "s")}


@plot
def gradient_quantiles(head_dims: Sequence[int], sizes: Mapping[str, object]) -> Figure:
    """Draw the size of the gradient at the query against the head dimension, both on logarithmic axes.

    Two curves, "scaled" and "unscaled", each (num_head_dims, 3): the 10th percentile, the median and the 90th
    percentile. The median is the line, the others are the edges of the band around it.

    >>> gradient_quantiles([4, 16], {"scaled": [[0.1, 0.2, 0.3]] * 2, "unscaled": [[0.01, 0.1, 0.2]] * 2})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.7, "axis.head_dim", "axis.query_gradient")
    exponents = {name: to_log10(sizes[name]) for name in _STYLES}
    places = np.log2(head_dims).round(4)
    for name, (colour, marker) in _STYLES.items():
        low, middle, high = exponents[name].T
        axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(places, middle, color=colour, marker=marker, label=text(f"curve.{name}"))
    bottom = math.floor(min(0.0, *(each.min() for each in exponents.values())))
    top = math.ceil(max(0.0, *(each.max() for each in exponents.values())))
    power_ticks(axes, range(top, bottom - 1, -math.ceil((top - bottom) / 6)))
    axes.set_ylim(bottom - 0.3, top + 0.3)
    axes.set_xticks(places, [str(dim) for dim in head_dims])
    axes.legend(loc="lower left", fontsize=9)
    axes.text(0.025, 0.22, text("legend.quantiles"), transform=axes.transAxes, fontsize=9, va="bottom")
    return figure


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


@plot
def weighted_sums(
    values: object, outputs: object, tokens: Sequence[str], wished: object | None = None
) -> Figure:
    """Draw values as points, the area that their weighted averages can reach, and the outputs in it.

    Values and outputs are (num_tokens, 2); at least three values, not all on a line. `tokens` name them.
    `wished`, (2,), is an output that one would like to have.

    >>> weighted_sums([[0, 0], [4, 0], [1, 3]], [[1, 1], [2, 1], [1, 2]], ["a", "b", "c"], wished=[4, 4])
    <polyhead_course.figures.plots.Drawing>
    """
    points, sums = to_array(values), to_array(outputs)
    figure = Figure(figsize=(4.6, 3.8))
    axes = figure.subplots()
    axes.add_patch(Polygon(convex_hull(points), facecolor=BLUE, alpha=0.15, edgecolor="none"))
    for start, end in zip(points, sums, strict=True):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.2})
    add_points(axes, points, "value", s=55, color=BLUE)
    add_points(axes, sums, "output", s=65, color=ORANGE, marker="D")
    shown = points
    if wished is not None:
        wish = to_array(wished)
        add_points(axes, wish[None], "wish", s=90, color=INK, marker="x", linewidth=2, zorder=4)
        shown = np.vstack((points, wish))
    for label, point, output in zip(tokens, points, sums, strict=True):
        below = output[1] > point[1]  # where its arrow does not go
        axes.annotate(label, point, xytext=(0, -9 if below else 8), textcoords="offset points",
                      ha="center", va="top" if below else "bottom")  # fmt: skip
    low, high = shown.min(axis=0), shown.max(axis=0)
    axes.set(xlim=(low[0] - 0.6, high[0] + 0.9), ylim=(low[1] - 0.6, high[1] + 0.7))
    axes.legend(loc="upper right", fontsize=9)
    return figure
