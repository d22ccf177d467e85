"""Losses and learning rates against the steps of a training."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive, Size
from polyhead_course.figures.plots.charts import chart, decimal_ticks, level_line, stacked_charts
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, Array, plot, to_array, to_log10
from polyhead_course.words.language import text


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
    axes.legend(loc="lower left")
    _add_warm_up(axes, warm_up)
    return figure


def _add_warm_up(axes: Axes, steps: int) -> None:
    """Add the band of the warm-up with its name."""
    axes.axvspan(0, steps, color=GREY, alpha=0.18, linewidth=0)
    axes.annotate(
        text("band.warm_up"), (steps, axes.get_ylim()[1]), ha="left", va="top",
        xytext=(4, -2), textcoords="offset points",
    )  # fmt: skip


@plot
def leak_losses(
    at_once: Mapping[str, Sequence[float]],
    one_by_one: Mapping[str, Mapping[int, float]],
    guessing: Positive,
) -> Figure:
    """Draw the loss against training steps: whole texts at once, as in training, and token by token.

    Models go by the names "causal" and "unmasked", one panel each. `at_once` has the losses of the steps 0,
    1, 2, …, `one_by_one` some of them by the step. The dotted line is the loss of equal probabilities.

    >>> leak_losses({"causal": [2.0, 1.0]}, {"causal": {0: 2.0, 1: 1.1}}, guessing=2.1)
    <polyhead_course.figures.plots.Drawing>
    """
    titles, size = [text(f"model.{name}") for name in at_once], (4.6, 2.35 * len(at_once))
    figure, panels = stacked_charts(size, titles, text("axis.step"), sharey=True)
    highest = guessing
    for axes, (name, losses) in zip(panels, at_once.items(), strict=True):
        training, generation = to_array(losses).round(3), to_array(list(one_by_one[name].values())).round(3)
        axes.plot(training, color=BLUE, linewidth=1.3, label=text("curve.at_once"))
        axes.plot(
            list(one_by_one[name]), generation, color=ORANGE, marker="o", markersize=4,
            label=text("curve.one_by_one"),
        )  # fmt: skip
        end = len(training) - 1
        level_line(axes, guessing, "guessing", end)
        axes.set_ylabel(text("axis.loss"))
        highest = max(highest, training.max(), generation.max())
    panels[0].set_ylim(0, 1.1 * highest)
    panels[0].legend(loc="upper right")
    return figure


_BY_HEADS = ((ORANGE, "-"), (BLUE, (0, (3, 1))))


@plot
def loss_of_runs(
    runs: Mapping[int | str, Array], every: Size = 1, guessing: Positive | None = None
) -> Figure:
    """Draw the losses of several runs of each of two models, (num_runs, num_points), as thin lines.

    Args:
        runs: The losses by the model's number of heads, or by its name, "two layers" or "one layer".
        every: The number of steps from one loss to the next; the first is that of step 0.
        guessing: The loss of guessing, drawn as a dotted line.

    >>> loss_of_runs({1: [[1.0, 0.5], [1.0, 0.25]], 2: [[0.75, 0.0]]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.0, "axis.step", "axis.loss")
    for (colour, style), (name, curves) in zip(_BY_HEADS, runs.items(), strict=False):
        label = text(
            "curve.heads" if isinstance(name, int) else f"curve.{name.replace(' ', '_')}", number=name
        )
        losses = to_array(curves, decimals=2).T
        steps = every * np.arange(len(losses))
        axes.plot(steps, losses, color=colour, linestyle=style, linewidth=0.8,
            label=[label, *[None] * (losses.shape[1] - 1)],
        )  # fmt: skip
    _finish(axes, guessing, int(steps[-1]))
    return figure


def _finish(axes: Axes, guessing: float | None, end: int) -> None:
    """Add the dotted line of guessing, if there is one, and the legend."""
    if guessing is not None:
        level_line(axes, round(guessing, 2), "guessing", end)
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(loc="best")


@plot
def view_losses(transposed: Array, viewed: Array, every: Size = 1, guess: Positive | None = None) -> Figure:
    """Draw the losses of two models, each number `every` steps after the last; a dotted line at `guess`.

    >>> view_losses([2.5, 0.5, 0.0], [2.5, 1.5, 1.0], every=10)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.6, 3.0, "axis.step", "axis.loss")
    for name, losses, style in (("transposed", transposed, (BLUE, "o")), ("viewed", viewed, (ORANGE, "s"))):
        curve, (colour, marker) = to_array(losses).round(2), style
        steps = every * np.arange(1, len(curve) + 1)
        axes.plot(steps, curve, color=colour, marker=marker, markersize=4, label=text(f"memory.{name}"))
    _finish(axes, guess, int(steps[-1]))
    return figure
