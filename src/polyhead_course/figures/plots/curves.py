"""Curves and points: what scaling does to gradients, and where a weighted sum can lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, drawn, finite, fitting, numbers
from polyhead_course.words.language import text

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STYLES = {"scaled": (BLUE, "o"), "unscaled": (ORANGE, "s")}


@drawn
def gradient_quantiles(head_dims: Sequence[int], sizes: Mapping[str, object]) -> Figure:
    """The size of the gradient at the query against the head dimension, both on logarithmic axes.

    Two curves, "scaled" and "unscaled", each (num_head_dims, 3): the 10th percentile, the median and the 90th
    percentile. The median is the line, the others are the edges of the band around it.
    """
    if not head_dims or min(head_dims) < 1:
        raise ValueError(f"head_dims must be ints of at least 1, got {list(head_dims)}")
    figure = Figure(figsize=(4.5, 3.7))
    axes = figure.subplots()
    lowest, highest = 0.0, 0.0
    places = np.log2(head_dims).round(4)
    for name, (colour, marker) in _STYLES.items():
        quantiles = finite(f"sizes[{name!r}]", sizes.get(name), len(head_dims), 3)
        if quantiles.min() <= 0 or (np.diff(quantiles) < 0).any():
            raise ValueError(f"sizes[{name!r}] must hold numbers above 0 that rise, got {quantiles.tolist()}")
        # Two digits of the exponent: what the eye sees, and the same on every machine.
        low, middle, high = np.round(np.log10(quantiles), 2).T
        axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(places, middle, color=colour, marker=marker, label=text(f"curve.{name}"))
        lowest, highest = min(lowest, low.min()), max(highest, high.max())
    bottom, top = np.floor(lowest) + 0.0, np.ceil(highest) + 0.0
    powers = np.arange(top, bottom - 0.5, -np.ceil((top - bottom) / 6))
    axes.set_yticks(powers, ["10" + str(int(power)).translate(_SUPERSCRIPT) for power in powers])
    axes.set_ylim(bottom - 0.3, top + 0.3)
    axes.set_xticks(places, [str(dim) for dim in head_dims])
    axes.set_xlabel(text("axis.head_dim"))
    axes.set_title(text("axis.query_gradient"), loc="left")
    axes.legend(loc="lower left", fontsize=9)
    axes.text(0.025, 0.22, text("legend.quantiles"), transform=axes.transAxes, fontsize=9, va="bottom")
    return figure


def hull_of(values: np.ndarray) -> ConvexHull:
    """The convex hull of two-dimensional values: all that their weighted averages can reach."""
    from scipy.spatial import ConvexHull, QhullError  # takes as long to import as the rest of the figures

    try:
        return ConvexHull(np.unique(values, axis=0))
    except QhullError:
        raise ValueError(f"values must be points, not all on one line, got {values.tolist()}") from None


@drawn
def weighted_sums(
    values: object, outputs: object, tokens: Sequence[str], wished: object | None = None
) -> Figure:
    """Two-dimensional values as points, what their weighted averages can reach, and the outputs in it.

    Values and outputs are (num_tokens, 2); at least three values, not all on a line. `tokens` name them.
    `wished`, (2,), is an output that one would like to have.
    """
    points = numbers("values", values, None, 2)
    sums = numbers("outputs", outputs, len(points), 2)
    fitting("tokens", tokens, len(points))
    hull = hull_of(points)
    figure = Figure(figsize=(4.6, 3.8))
    axes = figure.subplots()
    axes.add_patch(Polygon(hull.points[hull.vertices], facecolor=BLUE, alpha=0.15, edgecolor="none"))
    for start, end in zip(points, sums, strict=True):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.2})
    axes.scatter(points[:, 0], points[:, 1], s=55, color=BLUE, label=text("point.value"), zorder=3)
    axes.scatter(sums[:, 0], sums[:, 1], s=65, color=ORANGE, marker="D", label=text("point.output"), zorder=3)
    reached = points
    if wished is not None:
        wish = numbers("wished", wished, 2)
        axes.scatter(
            wish[:1], wish[1:], s=90, color=INK, marker="x", linewidth=2, label=text("point.wish"), zorder=4
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
