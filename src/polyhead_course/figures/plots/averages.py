"""What attention averages: how far away, and how sharply."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead.checked import Positive
from polyhead_course.figures.plots.boxes import arrow, box, canvas
from polyhead_course.figures.plots.charts import probability_bars
from polyhead_course.figures.plots.drawing import INK, ORANGE, plot, to_array
from polyhead_course.words.language import text


@plot
def path_lengths(tokens: Sequence[str]) -> Figure:
    """Draw the path from the first token to the last: by steps in a recurrent network, direct in attention.

    >>> path_lengths(["b", "a", "d"])
    <polyhead_course.figures.plots.Drawing>
    """
    width = 4.7
    figure, axes = canvas(width, 2.3)
    pitch = width / len(tokens)
    size = (0.78 * pitch, 0.34)
    middles = [pitch * (number + 0.5) for number in range(len(tokens))]
    for name, title, middle in (("recurrence", 0.12, 0.62), ("attention", 1.12, 1.95)):
        label = text(f"path.{name}", steps=len(tokens) - 1)
        axes.text(0.05, title, label, va="center", color=INK, fontsize=10)
        for x, token in zip(middles, tokens, strict=True):
            box(axes, (x, middle), size, token, "#c6dbef", fontsize=8.5)
    for start, end in itertools.pairwise(middles):
        arrow(axes, [(start + size[0] / 2, 0.62), (end - size[0] / 2, 0.62)], ORANGE, 2.0)
    first, last = middles[0], middles[-1]
    arrow(axes, [(first, 1.78), (first, 1.42), (last, 1.42), (last, 1.78)], ORANGE, 2.0)
    return figure


@plot
def temperatures(scores: object, tokens: Sequence[str], values: Sequence[Positive]) -> Figure:
    """Draw the weights softmax(scores / T) of one query as bars, one panel for each temperature T.

    The scores are (num_tokens,), with the labels `tokens`; `values` are the temperatures.

    >>> temperatures([3.0, 1.0], ["a", "b"], [0.5, 1, 2])
    <polyhead_course.figures.plots.Drawing>
    """
    row = to_array(scores)
    figure = Figure(figsize=(4.7, 2.9))
    panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    for axes, temperature in zip(panels, values, strict=True):
        exponentials = np.exp((row - row.max()) / temperature)
        weights = to_array(exponentials / exponentials.sum())
        words = [f"{weight:.2f}" for weight in weights]
        probability_bars(axes, weights, words, tokens, rotation=55, ha="right", rotation_mode="anchor")
        axes.set_title(f"T = {temperature:g}")
    panels[0].set_ylabel(text("axis.weight"))
    figure.subplots_adjust(wspace=0.12)
    return figure
