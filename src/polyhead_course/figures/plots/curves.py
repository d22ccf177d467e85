"""Curves and points: what scaling does to gradients, and where a weighted sum can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from polyhead_course.figures.plots.charts import chart, power_ticks
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, plot, to_array, to_log10
from polyhead_course.words.language import text

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

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
    lowest, highest = 0.0, 0.0
    places = np.log2(head_dims).round(4)
    for name, (colour, marker) in _STYLES.items():
        low, middle, high = to_log10(sizes[name]).T
        axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(places, middle, color=colour, marker=marker, label=text(f"curve.{name}"))
        lowest, highest = min(lowest, low.min()), max(highest, high.max())
    bottom, top = np.floor(lowest), np.ceil(highest)
    power_ticks(axes, np.arange(top, bottom - 0.5, -np.ceil((top - bottom) / 6)))
    axes.set_ylim(bottom - 0.3, top + 0.3)
    axes.set_xticks(places, [str(dim) for dim in head_dims])
    axes.legend(loc="lower left", fontsize=9)
    axes.text(0.025, 0.22, text("legend.quantiles"), transform=axes.transAxes, fontsize=9, va="bottom")
    return figure


def convex_hull(values: np.ndarray) -> ConvexHull:
    """Compute the convex hull of points, (num_points, 2): all that their weighted averages can reach.

    Raises:
        ValueError: all points are on one line.
    """
    from scipy.spatial import ConvexHull, QhullError  # takes as long to import as the rest of the figures

    try:
        return ConvexHull(np.unique(values, axis=0))
    except QhullError:
        raise ValueError(f"values must be points, not all on one line, got {values.tolist()}") from None


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
    hull = convex_hull(points)
    figure = Figure(figsize=(4.6, 3.8))
    axes = figure.subplots()
    axes.add_patch(Polygon(hull.points[hull.vertices], facecolor=BLUE, alpha=0.15, edgecolor="none"))
    for start, end in zip(points, sums, strict=True):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.2})
    axes.scatter(points[:, 0], points[:, 1], s=55, color=BLUE, label=text("point.value"), zorder=3)
    axes.scatter(sums[:, 0], sums[:, 1], s=65, color=ORANGE, marker="D", label=text("point.output"), zorder=3)
    reached = points
    if wished is not None:
        wish = to_array(wished)
        axes.scatter(
            wish[0], wish[1], s=90, color=INK, marker="x", linewidth=2, label=text("point.wish"), zorder=4
        )
        reached = np.vstack((points, wish))
    for label, point, output in zip(tokens, points, sums, strict=True):
        below = output[1] > point[1]  # where its arrow does not go
        axes.annotate(label, point, xytext=(0, -9 if below else 8), textcoords="offset points",
                      ha="center", va="top" if below else "bottom")  # fmt: skip
    low, high = reached.min(axis=0), reached.max(axis=0)
    axes.set(xlim=(low[0] - 0.6, high[0] + 0.9), ylim=(low[1] - 0.6, high[1] + 0.7))
    axes.legend(loc="upper right", fontsize=9)
    return figure
