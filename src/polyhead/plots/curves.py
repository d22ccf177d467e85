"""Curves and points: what scaling and norms do to gradients, and where a weighted sum can lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from scipy.spatial import ConvexHull, QhullError

from polyhead.checked import Size
from polyhead.language import text
from polyhead.plots.drawing import BLUE, GREY, ORANGE, drawn, finite, fitting, numbers

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STYLES = {
    "scaled": (BLUE, "o"),
    "unscaled": (ORANGE, "s"),
    "post_norm": (BLUE, "o"),
    "pre_norm": (ORANGE, "s"),
    "no_residual": (GREY, "^"),
}


@drawn
def scaling_curves(
    head_dims: Sequence[int],
    entropy: Mapping[str, Sequence[float]],
    gradient_norm: Mapping[str, Sequence[float]],
    num_keys: Size,
) -> Figure:
    """Entropy of the weights, in nats, and the norm of the softmax's Jacobian against the head dimension.

    Each has two curves, "scaled" and "unscaled", of one number for each of the `head_dims`, which stand on a
    logarithmic axis. The dotted line is the entropy of equal weights, ln(num_keys).
    """
    if not head_dims or min(head_dims) < 1:
        raise ValueError(f"head_dims must be ints of at least 1, got {list(head_dims)}")
    if num_keys < 2:
        raise ValueError(f"num_keys must be at least 2, got {num_keys}")
    figure = Figure(figsize=(4.6, 4.9))
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes, name, curves in ((upper, "entropy", entropy), (lower, "gradient_norm", gradient_norm)):
        for key in ("scaled", "unscaled"):
            _curve(axes, key, head_dims, numbers(f"{name}[{key!r}]", curves.get(key), len(head_dims)))
        _name(axes, name)
    highest = np.log(num_keys)
    upper.axhline(highest, color=GREY, linestyle=":", linewidth=1.4)
    upper.annotate(
        text("line.uniform"), (head_dims[-1], highest), ha="right", va="bottom",
        xytext=(0, 2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    upper.set_ylim(0, highest * 1.15)
    lower.set_ylim(bottom=0)
    lower.set_xscale("log", base=2)
    lower.set_xticks(head_dims, [str(dim) for dim in head_dims])
    lower.minorticks_off()
    lower.set_xlabel(text("axis.head_dim"))
    figure.subplots_adjust(hspace=0.3)
    return figure


@drawn
def gradient_by_layer(curves: Mapping[str, object]) -> Figure:
    """Gradient norm against the layer, on a logarithmic axis.

    The curves are sequences of numbers above 0, one for each layer from the first, by the names "post_norm",
    "pre_norm" and "no_residual"; all equally long.
    """
    if not curves or set(curves) - {"post_norm", "pre_norm", "no_residual"}:
        raise ValueError(f"curves must be post_norm, pre_norm or no_residual, got {list(curves)}")
    figure = Figure(figsize=(4.5, 3.4))
    axes = figure.subplots()
    size, lowest, highest = None, math.inf, -math.inf
    for name, curve in curves.items():
        norms = finite(f"curves[{name!r}]", curve, size)
        if norms.min() <= 0:
            raise ValueError(f"curves[{name!r}] must hold numbers above 0, got {norms.min()}")
        # Two digits of the exponent: what the eye sees, and the same on every machine.
        log = np.round(np.log10(norms), 2)
        size = len(log)  # all are as long as the first
        _curve(axes, name, range(1, size + 1), log, marks=4)
        lowest, highest = min(lowest, np.floor(log.min())), max(highest, np.ceil(log.max()) + 0.0)
    if highest - lowest <= 2:  # too few powers of ten for an axis
        ticks = [10**power * digit for power in np.arange(lowest, highest) for digit in (1, 2, 5)]
        ticks += [10**highest]
        axes.set_yticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])
        axes.set_ylim(lowest, highest + 0.05)
    else:
        powers = np.arange(highest, lowest - 0.5, -np.ceil((highest - lowest) / 6))
        axes.set_yticks(powers, ["10" + str(int(power)).translate(_SUPERSCRIPT) for power in powers])
        axes.set_ylim(lowest - 0.3, highest + 0.05)
    axes.set_xlabel(text("axis.layer"))
    _name(axes, "gradient_norm")
    return figure


def _curve(axes: Axes, key: str, places: Sequence[int], curve: np.ndarray, marks: int = 6) -> None:
    colour, marker = _STYLES[key]
    axes.plot(places, curve, color=colour, marker=marker, markersize=marks, label=text(f"curve.{key}"))


def _name(axes: Axes, key: str) -> None:
    axes.set_title(text(f"axis.{key}"), loc="left")
    axes.legend(loc="best", fontsize=9)


@drawn
def weighted_sums(values: object, outputs: object, tokens: Sequence[str]) -> Figure:
    """Two-dimensional values as points, what their weighted averages can reach, and the outputs in it.

    Values and outputs are (num_tokens, 2); at least three values, not all on a line. `tokens` name them.
    """
    points = numbers("values", values, None, 2)
    sums = numbers("outputs", outputs, len(points), 2)
    fitting("tokens", tokens, len(points))
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        raise ValueError(f"values must be points, not all on one line, got {points.tolist()}") from None
    figure = Figure(figsize=(4.6, 3.6))
    axes = figure.subplots()
    axes.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.15, edgecolor="none"))
    for start, end in zip(points, sums, strict=True):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.2})
    axes.scatter(points[:, 0], points[:, 1], s=55, color=BLUE, label=text("point.value"), zorder=3)
    axes.scatter(sums[:, 0], sums[:, 1], s=65, color=ORANGE, marker="D", label=text("point.output"), zorder=3)
    for label, point in zip(tokens, points, strict=True):
        below = point[1] < points[:, 1].mean()
        axes.annotate(label, point, xytext=(0, -9 if below else 8), textcoords="offset points",
                      ha="center", va="top" if below else "bottom")  # fmt: skip
    low, high = points.min(axis=0), points.max(axis=0)
    axes.set(xlim=(low[0] - 0.6, high[0] + 0.9), ylim=(low[1] - 0.6, high[1] + 0.7))
    axes.legend(loc="upper right", fontsize=9)
    return figure
