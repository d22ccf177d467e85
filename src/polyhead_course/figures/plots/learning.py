"""How the translator learns: its learning rate, and its loss, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead_course.figures.plots.charts import chart, decimal_ticks, level_line
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, plot, to_array, to_log10
from polyhead_course.words.language import text


@plot
def learning_rates(rates: Sequence[float], warm_up: Count) -> Figure:
    """Draw the learning rate of each step, in thousandths; the grey band is the `warm_up`, in steps.

    >>> learning_rates([0.001, 0.002, 0.0015, 0.001], warm_up=2)
    <polyhead_course.figures.plots.Drawing>
    """
    heights = to_array(1000 * np.array(rates))
    figure, axes = chart(4.5, 2.6, "axis.step", "axis.learning_rate")
    axes.plot(range(len(heights)), heights, color=BLUE)
    axes.set(xlim=(0, len(heights)), ylim=(0, heights.max() * 1.2))
    _add_warm_up(axes, warm_up)
    return figure


@plot
def loss_curves(stored: Sequence[float], own: Sequence[float], guessing: Positive, warm_up: Count) -> Figure:
    """Draw the loss of each step on a logarithmic axis, of the stored run and of one's own, shorter run.

    The dotted line is the loss of `guessing`; the grey band is the `warm_up`, in steps.

    >>> loss_curves([4.0, 2.0, 0.5], [4.5, 2.5], guessing=3.5, warm_up=1)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.6, "axis.step", "axis.loss")
    for name, losses, colour in (("stored", stored, BLUE), ("own", own, ORANGE)):
        label = text(f"curve.{name}")
        axes.plot(range(len(losses)), to_log10(losses), color=colour, linewidth=1.4, label=label)
    level_line(axes, round(math.log10(guessing), 2), "guessing", len(stored))
    low, high = decimal_ticks(axes)
    axes.set(xlim=(0, len(stored)), ylim=(low, high + 0.1))
    axes.legend(loc="lower left", fontsize=9)
    _add_warm_up(axes, warm_up)
    return figure


def _add_warm_up(axes: Axes, steps: int) -> None:
    """Add the band of the warm-up with its name."""
    axes.axvspan(0, steps, color=GREY, alpha=0.18, linewidth=0)
    axes.annotate(
        text("band.warm_up"), (steps, axes.get_ylim()[1]), ha="left", va="top",
        xytext=(4, -2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
