"""From layer to layer of a deep stack: how large the gradient is, and how far apart the tokens are."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead_course.figures.plots.charts import chart, power_ticks
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, plot, to_array, to_log10
from polyhead_course.words.language import text

# By colour, and by the shape of the marks for those who see no colours.
_STYLES = {
    "neither": (GREY, "^"),
    "norm_only": ("#8c6bb1", "v"),
    "residual_only": ("#31a354", "D"),
    "post_norm": (BLUE, "o"),
    "pre_norm": (ORANGE, "s"),
}


@plot
def gradient_by_layer(curves: Mapping[str, object]) -> Figure:
    """Draw the gradient norm against the layer, on a logarithmic axis.

    The curves are numbers above 0, one for each layer from the first, by the names "neither", "norm_only",
    "residual_only", "post_norm" and "pre_norm", of which some may be missing.

    >>> gradient_by_layer({"post_norm": [1e-3, 1e-2, 1.0], "pre_norm": [2.0, 1.0, 1.0]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.2, "axis.layer", "axis.gradient_norm")
    _add_curves(axes, {name: to_log10(norms) for name, norms in curves.items()})
    low, high = axes.dataLim.intervaly
    # Whole powers of ten, at most eight, counted from 10⁰, so that it is among them if it is in sight.
    step = max(1, math.ceil((high - low) / 6))
    powers = range(math.floor(low / step) * step, math.ceil(high / step) * step + 1, step)
    power_ticks(axes, powers)
    margin = 0.03 * (powers[-1] - powers[0] or step)
    axes.set_ylim(powers[0] - margin, powers[-1] + margin)
    return figure


@plot
def token_spread(curves: Mapping[str, object]) -> Figure:
    """Draw how far apart the tokens of a sequence are after each layer: 0 where all are the same, at most 1.

    The curves are numbers from 0 to 1, named as those of `gradient_by_layer`.

    >>> token_spread({"neither": [0.5, 0.0], "pre_norm": [0.75, 0.5]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.2, "axis.layer", "axis.token_spread")
    _add_curves(axes, {name: to_array(spread).round(3) for name, spread in curves.items()})
    axes.set_ylim(-0.03, 1.03)
    return figure


def _add_curves(axes: Axes, curves: Mapping[str, np.ndarray]) -> None:
    """Add one curve a stack, and the legend below them, since they leave no corner free."""
    for name, heights in curves.items():
        colour, marker = _STYLES[name]
        label = text(f"curve.{name}")
        axes.plot(range(1, len(heights) + 1), heights, color=colour, marker=marker, markersize=4, label=label)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=9)
