"""How a model learns, and where its cross-attention looks when it has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, blank, drawn, fitting, numbers
from polyhead_course.figures.plots.grid import paint, shades
from polyhead_course.words.language import text


@drawn
def training_progress(
    steps: Sequence[int], loss: object, exact_match: object, guessing: Positive, warm_up: Count
) -> Figure:
    """The loss above, the share of exact matches below, each with a number for each of the `steps`.

    The dotted line is the loss of `guessing`; the grey band is the `warm_up`, in steps.
    """
    if len(steps) < 2 or any(later <= step for step, later in itertools.pairwise(steps)):
        raise ValueError(f"steps must be two or more ints, rising, got {list(steps)}")
    losses = numbers("loss", loss, len(steps), lowest=0.0)
    shares = numbers("exact_match", exact_match, len(steps), lowest=0.0, highest=1.0)
    figure = Figure(figsize=(4.5, 4.4))
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(steps, losses, color=BLUE, marker="o", markersize=5)
    upper.axhline(guessing, color=GREY, linestyle=":", linewidth=1.4)
    upper.annotate(
        text("line.guessing"), (steps[-1], guessing), ha="right", va="bottom",
        xytext=(0, 2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    upper.set_ylim(0, max(losses.max(), guessing) * 1.15)
    lower.plot(steps, shares, color=ORANGE, marker="s", markersize=5)
    lower.set_ylim(0, 1.08)
    for axes, name in ((upper, "held_out_loss"), (lower, "exact_match")):
        axes.axvspan(steps[0], warm_up, color=GREY, alpha=0.18, linewidth=0)
        axes.set_title(text(f"axis.{name}"), loc="left")
    lower.annotate(
        text("band.warm_up"), (steps[0] + warm_up / 2, 1.04), ha="center", va="top", fontsize=9
    )  # fmt: skip
    lower.set_xlabel(text("axis.step"))
    figure.subplots_adjust(hspace=0.3)
    return figure


@drawn
def cross_heads(weights: object, source: Sequence[str], target: Sequence[str]) -> Figure:
    """Each head's cross-attention in per cent, (num_heads, num_queries, num_keys), two heads a line.

    The rows are the letters that are written, the columns those that are read, one short label each.
    """
    array = numbers("weights", weights, None, len(target), len(source), lowest=0.0, highest=1.0)
    fitting("source", source, array.shape[2])
    fitting("target", target, array.shape[1])
    cell = 0.29
    figure = blank()
    for number, matrix in enumerate(array):
        line, place = divmod(number, 2)
        left = place * (len(source) * cell + 0.52)
        top = line * (len(target) * cell + 0.95)
        words = np.round(100 * matrix).astype(int)
        look = {"words": words, "rows": target, "columns": source}
        axes = paint(figure, shades(matrix, 1.0), cell=cell, left=left, top=top, **look)
        axes.set_title(text("title.head", number=number + 1), loc="left", y=1, pad=36)
        axes.set_ylabel(text("axis.written"), fontsize=9, labelpad=2)
        axes.set_xlabel(text("axis.read"), fontsize=9, labelpad=4)
        axes.xaxis.set_label_position("top")
    return figure
