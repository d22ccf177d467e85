"""How the translator learns: its learning rate, and its loss, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, drawn, finite, numbers
from polyhead_course.words.language import text


@drawn
def learning_rates(rates: Sequence[float], warm_up: Count) -> Figure:
    """The learning rate of each step, in thousandths; the grey band is the `warm_up`, in steps."""
    heights = numbers("rates", 1000 * finite("rates", rates, None), None, lowest=0.0)
    figure = Figure(figsize=(4.5, 2.6))
    axes = figure.subplots()
    axes.plot(range(len(heights)), heights, color=BLUE)
    axes.set(xlim=(0, len(heights)), ylim=(0, heights.max() * 1.2))
    axes.set_title(text("axis.learning_rate"), loc="left")
    _warm_up(axes, warm_up)
    return figure


@drawn
def loss_curves(stored: Sequence[float], own: Sequence[float], guessing: Positive, warm_up: Count) -> Figure:
    """Two curves of the loss of each step on a logarithmic axis, one stored and a shorter one of one's own.

    The dotted line is the loss of `guessing`; the grey band is the `warm_up`, in steps.
    """
    figure = Figure(figsize=(4.5, 3.6))
    axes = figure.subplots()
    for name, losses, colour in (("stored", stored, BLUE), ("own", own, ORANGE)):
        curve = finite(name, losses, None)
        if curve.min() <= 0:
            raise ValueError(f"{name} must hold losses above 0, got {curve.min()}")
        # Two digits of the exponent: what the eye sees, and the same on every machine.
        places = np.round(np.log10(curve), 2) + 0.0
        axes.plot(range(len(curve)), places, color=colour, linewidth=1.4, label=text(f"curve.{name}"))
    guess = round(math.log10(guessing), 2)
    axes.axhline(guess, color=GREY, linestyle=":", linewidth=1.4)
    axes.annotate(
        text("line.guessing"), (len(stored), guess), ha="right", va="bottom",
        xytext=(0, 2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    low, high = (int(edge(limit)) for edge, limit in zip((np.floor, np.ceil), axes.get_ylim(), strict=True))
    axes.set_yticks(range(low, high + 1), [f"{10.0**power:g}" for power in range(low, high + 1)])
    axes.set(xlim=(0, len(stored)), ylim=(low, high + 0.1))
    axes.set_title(text("axis.loss"), loc="left")
    axes.legend(loc="lower left", fontsize=9)
    _warm_up(axes, warm_up)
    return figure


def _warm_up(axes: Axes, steps: int) -> None:
    """The band of the warm-up with its name, and the axis of the steps."""
    axes.axvspan(0, steps, color=GREY, alpha=0.18, linewidth=0)
    top = axes.get_ylim()[1]
    axes.annotate(
        text("band.warm_up"), (steps, top), ha="left", va="top",
        xytext=(4, -2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    axes.set_xlabel(text("axis.step"))
