"""Curves and points: what scaling does to a softmax, and where a weighted sum can lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from scipy.spatial import ConvexHull, QhullError

from polyhead import _validate
from polyhead.language import text
from polyhead.plots.drawing import BLUE, GREY, INK, ORANGE, drawn, labels, numbers


@drawn
def scaling_curves(
    head_dims: Sequence[int],
    entropy: Mapping[str, Sequence[float]],
    gradient_norm: Mapping[str, Sequence[float]],
    num_keys: int,
) -> Figure:
    """Entropy of the weights and size of the softmax's gradient against the head dimension.

    Args:
        head_dims: the head dimensions, on a logarithmic axis.
        entropy: two sequences, by the names "scaled" and "unscaled", in nats.
        gradient_norm: the same for the norm of the softmax's Jacobian.
        num_keys: how many keys there are; equal weights have the entropy ln(num_keys).

    Returns:
        The drawing.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: a sequence is missing or not as long as `head_dims`, or a size is too small.
    """
    if not isinstance(head_dims, Sequence) or isinstance(head_dims, str):
        raise TypeError(f"head_dims must be a sequence of ints, got {type(head_dims).__name__}")
    if not head_dims:
        raise ValueError("head_dims must hold at least one head dimension, got none")
    for dim in head_dims:
        _validate.at_least("head_dims", dim)
    _validate.at_least("num_keys", num_keys, 2)
    figure = Figure(figsize=(4.6, 4.9))
    upper, lower = figure.subplots(2, 1, sharex=True)
    _pair(upper, head_dims, "entropy", entropy)
    _pair(lower, head_dims, "gradient_norm", gradient_norm)
    upper.axhline(np.log(num_keys), color=GREY, linestyle=":", linewidth=1.4)
    upper.annotate(
        text("line.uniform"), (head_dims[-1], np.log(num_keys)), ha="right", va="bottom",
        xytext=(0, 2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    upper.set_ylim(0, np.log(num_keys) * 1.15)
    lower.set_ylim(bottom=0)
    lower.set_xscale("log", base=2)
    lower.set_xticks(list(head_dims), [str(dim) for dim in head_dims])
    lower.minorticks_off()
    lower.set_xlabel(text("axis.head_dim"))
    figure.subplots_adjust(hspace=0.3)
    return figure


def _pair(axes: Axes, head_dims: Sequence[int], name: str, curves: Mapping[str, Sequence[float]]) -> None:
    if not isinstance(curves, Mapping):
        raise TypeError(f"{name} must be a dict with 'scaled' and 'unscaled', got {type(curves).__name__}")
    for key, colour, marker in (("scaled", BLUE, "o"), ("unscaled", ORANGE, "s")):
        if key not in curves:
            raise ValueError(f"{name} must have the curves 'scaled' and 'unscaled', got {sorted(curves)}")
        curve = numbers(f"{name}[{key!r}]", curves[key], 1)
        if len(curve) != len(head_dims):
            raise ValueError(f"{name}[{key!r}] must have {len(head_dims)} numbers, got {len(curve)}")
        axes.plot(head_dims, curve, color=colour, marker=marker, label=text(f"curve.{key}"))
    axes.set_title(text(f"axis.{name}"), loc="left")
    axes.legend(loc="best", fontsize=9)


@drawn
def weighted_sums(values: object, outputs: object, tokens: Sequence[str]) -> Figure:
    """Two-dimensional values as points, what their weighted averages can reach, and the outputs in it.

    Args:
        values: (num_tokens, 2), at least three that lie on no common line.
        outputs: (num_tokens, 2).
        tokens: one label a token.

    Returns:
        The drawing.

    Raises:
        TypeError: the tokens are no strings.
        ValueError: a shape does not fit, there are fewer than three tokens, or all values lie on one line.
    """
    names = labels("tokens", tokens)
    points, means = numbers("values", values, 2), numbers("outputs", outputs, 2)
    if (
        points.shape != means.shape
        or points.shape[1:] != (2,)
        or len(points) != len(names)
        or len(points) < 3
    ):
        raise ValueError(
            f"values and outputs must both have shape ({len(names)}, 2), with at least 3 tokens, "
            f"got {points.shape} and {means.shape}"
        )
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        raise ValueError(f"values must not lie on one line, got {points.tolist()}") from None
    figure = Figure(figsize=(4.6, 3.6))
    axes = figure.subplots()
    axes.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.15, edgecolor="none"))
    for start, end in zip(points, means, strict=True):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.2})
    axes.scatter(points[:, 0], points[:, 1], s=55, color=BLUE, label=text("point.value"), zorder=3)
    axes.scatter(
        means[:, 0], means[:, 1], s=65, color=ORANGE, marker="D", label=text("point.output"), zorder=3
    )
    for label, point in zip(names, points, strict=True):
        below = point[1] < points[:, 1].mean()
        axes.annotate(label, point, xytext=(0, -9 if below else 8), textcoords="offset points",
                      ha="center", va="top" if below else "bottom", color=INK)  # fmt: skip
    low, high = points.min(axis=0), points.max(axis=0)
    axes.set(xlim=(low[0] - 0.6, high[0] + 0.9), ylim=(low[1] - 0.6, high[1] + 0.7))
    axes.legend(loc="upper right", fontsize=9)
    return figure
