"""What attention averages: how far away, and how sharply."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead.checked import Positive
from polyhead_course.figures.plots.boxes import arrow, box, canvas
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, drawn, fitting, numbers
from polyhead_course.words.language import text

_FACE = "#c6dbef"


@drawn
def path_lengths(tokens: Sequence[str]) -> Figure:
    """The way from the first token to the last: step by step in a recurrent network, at once in attention."""
    if len(tokens) < 2:
        raise ValueError(f"tokens must be two labels or more, got {list(tokens)}")
    width = 4.7
    figure, axes = canvas(width, 2.3)
    pitch = width / len(tokens)
    size = (0.78 * pitch, 0.34)
    places = [pitch * (number + 0.5) for number in range(len(tokens))]
    for name, title, middle in (("recurrence", 0.12, 0.62), ("attention", 1.12, 1.95)):
        label = text(f"path.{name}", steps=len(tokens) - 1)
        axes.text(0.05, title, label, va="center", color=INK, fontsize=10)
        for x, token in zip(places, tokens, strict=True):
            box(axes, (x, middle), size, token, _FACE, fontsize=8.5)
    for start, end in itertools.pairwise(places):
        arrow(axes, [(start + size[0] / 2, 0.62), (end - size[0] / 2, 0.62)], ORANGE, 2.0)
    first, last = places[0], places[-1]
    arrow(axes, [(first, 1.78), (first, 1.42), (last, 1.42), (last, 1.78)], ORANGE, 2.0)
    return figure


@drawn
def temperatures(scores: object, tokens: Sequence[str], values: Sequence[Positive]) -> Figure:
    """The weights softmax(scores / T) of one query as bars, a group of bars for each temperature T.

    The scores are (num_tokens,), with the labels `tokens`; `values` are the temperatures.
    """
    row = numbers("scores", scores, None)
    fitting("tokens", tokens, len(row))
    if not values or not 0 < min(values) <= max(values) < math.inf:
        raise ValueError(f"values must be one finite temperature above 0 or more, got {list(values)}")
    figure = Figure(figsize=(4.7, 2.9))
    panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    places = np.arange(len(row))
    for axes, temperature in zip(panels, values, strict=True):
        exponentials = np.exp((row - row.max()) / temperature)
        weights = numbers("weights", exponentials / exponentials.sum(), len(row))
        axes.bar(places, weights, color=BLUE, width=0.75)
        for place, weight in zip(places, weights, strict=True):
            axes.text(place, weight + 0.02, f"{weight:.2f}", ha="center", va="bottom", fontsize=8.5)
        axes.set_title(f"T = {temperature:g}")
        axes.set_xticks(places, tokens, rotation=55, ha="right", rotation_mode="anchor", fontsize=9)
        axes.set(ylim=(0, 1.12), yticks=[0, 0.5, 1])
        axes.tick_params(length=0, pad=3)
        axes.spines["bottom"].set_color(GREY)
    panels[0].set_ylabel(text("axis.weight"))
    figure.subplots_adjust(wspace=0.12)
    return figure
