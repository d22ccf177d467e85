"""From layer to layer of a deep stack: how large the gradient is, and how far apart the tokens are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, drawn, finite, numbers
from polyhead_course.words.language import text

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Residual or not, norm or not: by colour, and by the shape of the marks for those who see no colours.
_STYLES = {
    "neither": (GREY, "^"),
    "norm_only": ("#8c6bb1", "v"),
    "residual_only": ("#31a354", "D"),
    "post_norm": (BLUE, "o"),
    "pre_norm": (ORANGE, "s"),
}


@drawn
def gradient_by_layer(curves: Mapping[str, object]) -> Figure:
    """Gradient norm against the layer, on a logarithmic axis.

    The curves are sequences of numbers above 0, one for each layer from the first, all equally long, by the
    names "neither", "norm_only", "residual_only", "post_norm" and "pre_norm", of which some may be missing.
    """
    figure, axes = _axes(curves, "gradient_norm")
    size = None
    for name, curve in curves.items():
        norms = finite(f"curves[{name!r}]", curve, size)
        if norms.min() <= 0:
            raise ValueError(f"curves[{name!r}] must hold numbers above 0, got {norms.min()}")
        size = len(norms)  # all are as long as the first
        # Two digits of the exponent: what the eye sees, and the same on every machine.
        _curve(axes, name, np.round(np.log10(norms), 2) + 0.0)
    low, high = axes.dataLim.intervaly
    # Whole powers of ten, at most eight, counted from 10⁰, so that it is among them if it is in sight.
    step = max(1, int(np.ceil((high - low) / 6)))
    powers = range(int(np.floor(low / step)) * step, int(np.ceil(high / step)) * step + 1, step)
    axes.set_yticks(list(powers), ["10" + str(power).translate(_SUPERSCRIPT) for power in powers])
    margin = 0.03 * (powers[-1] - powers[0] or step)
    axes.set_ylim(powers[0] - margin, powers[-1] + margin)
    _legend(axes)
    return figure


@drawn
def token_spread(curves: Mapping[str, object]) -> Figure:
    """How far apart the tokens of a sequence are after each layer: 0 where all are the same, at most 1.

    The curves are sequences of numbers from 0 to 1, named as those of `gradient_by_layer`.
    """
    figure, axes = _axes(curves, "token_spread")
    size = None
    for name, curve in curves.items():
        spread = numbers(f"curves[{name!r}]", curve, size, lowest=0.0, highest=1.0)
        size = len(spread)
        _curve(axes, name, np.round(spread, 3))
    axes.set_ylim(-0.03, 1.03)
    _legend(axes)
    return figure


def _axes(curves: Mapping[str, object], name: str) -> tuple[Figure, Axes]:
    if not curves or set(curves) - set(_STYLES):
        raise ValueError(f"curves must be some of {', '.join(_STYLES)}, got {list(curves)}")
    figure = Figure(figsize=(4.5, 3.2))
    axes = figure.subplots()
    axes.set_title(text(f"axis.{name}"), loc="left")
    axes.set_xlabel(text("axis.layer"))
    return figure, axes


def _curve(axes: Axes, name: str, curve: Sequence[float] | np.ndarray) -> None:
    colour, marker = _STYLES[name]
    label = text(f"curve.{name}")
    axes.plot(range(1, len(curve) + 1), curve, color=colour, marker=marker, markersize=4, label=label)


def _legend(axes: Axes) -> None:
    """Below the curves, which leave no corner free."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=9)
