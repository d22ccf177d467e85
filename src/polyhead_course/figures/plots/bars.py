"""Bars: weights and probabilities of tokens, and the memory of caches."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead.checked import Positive
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, Array, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import has_long_label
from polyhead_course.words.language import text


def _probability_bars(
    axes: Axes, probs: np.ndarray, words: Sequence[str], tokens: Sequence[str], **look: Any
) -> None:
    """Draw a bar for each token, with its words above it, grey where they are "0"."""
    columns = range(len(probs))
    axes.bar(columns, probs, color=BLUE, width=0.75)
    for column, height, word in zip(columns, probs, words, strict=True):
        ink = GREY if word == "0" else INK
        axes.text(column, height + 0.02, word, color=ink, ha="center", va="bottom", fontsize=8.5)
    axes.set_xticks(columns, tokens, **look)
    axes.set(ylim=(0, 1.12), yticks=[0, 0.5, 1])
    axes.tick_params(length=0, pad=3, labelbottom=True)
    axes.spines["bottom"].set_color(GREY)


@plot
def cache_bars(kibibytes: Mapping[str, float]) -> Figure:
    """Draw a bar for the cache of one token in each model, in KiB; the names are code, or of models.

    >>> cache_bars({"Llama 2 7B": 512.0, "Llama 3 8B": 128.0})
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(4.4, 0.5 + 0.4 * len(kibibytes)))
    axes = figure.subplots()
    longest = max(kibibytes.values())
    for row, size in enumerate(kibibytes.values()):
        axes.barh(row, size, height=0.62, color=BLUE)
        axes.text(size + 0.02 * longest, row, f"{round(size, 4):g}", va="center")
    axes.set_yticks(range(len(kibibytes)), list(kibibytes))
    axes.set(ylim=(len(kibibytes) - 0.5, -0.5), xlim=(0, 1.15 * longest), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(left=False)
    axes.set_title(text("axis.cache_per_token"), loc="left")
    return figure


@plot
def temperatures(scores: Array, tokens: Sequence[str], values: Sequence[Positive]) -> Figure:
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
        _probability_bars(axes, weights, words, tokens, rotation=55, ha="right", rotation_mode="anchor")
        axes.set_title(f"T = {temperature:g}")
    panels[0].set_ylabel(text("axis.weight"))
    figure.subplots_adjust(wspace=0.12)
    return figure


@plot
def next_token_bars(choices: Mapping[str, Array], tokens: Sequence[str]) -> Figure:
    """Draw the probabilities of the next token as bars, one panel for each choice; a 0 is a token cut off.

    Args:
        choices: by title, such as `T = 2`, the probabilities, (num_tokens,).
        tokens: their labels.

    >>> next_token_bars({"T = 1": [0.75, 0.25], "top-k 1": [1.0, 0.0]}, ["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    columns = min(3, len(choices))
    lines = math.ceil(len(choices) / columns)
    figure = Figure(figsize=(4.7, 0.2 + 1.75 * lines))
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axes, (title, values) in zip(panels.flat, choices.items(), strict=False):
        probs = to_array(values)
        _probability_bars(axes, probs, [f"{p:.2f}" if p else "0" for p in probs], tokens)
        axes.set_title(title)
    for axes in panels.flat[len(choices) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set_ylabel(text("probability"))
    figure.subplots_adjust(wspace=0.12, hspace=0.55)
    return figure


@plot
def masked_row(before: Array, masked: Array, late: Array, tokens: Sequence[str]) -> Figure:
    """Draw one row of weights, (num_keys,), without a mask, masked before the softmax, and set to 0 after it.

    Each is a strip of bars with its sum at the right; the dashed outlines are the weights without the mask.

    >>> masked_row([0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.5, 0.25, 0.0], ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    arrays = {"before": to_array(before), "masked": to_array(masked), "late": to_array(late)}
    figure, cell, height = inch_figure(), 0.85, 0.62
    for line, (name, array) in enumerate(arrays.items()):
        top = line * (height + 0.52)
        axes = _add_bars(figure, array, [f"{weight:.2f}" for weight in array], top, cell, height)
        if name != "before":
            for key, weight in enumerate(arrays["before"]):
                outline = Rectangle((key + 0.2, 0), 0.6, weight)
                axes.add_patch(outline).set(facecolor="none", edgecolor=GREY, linestyle="--")
        axes.set_title(text(f"row.{name}"), loc="left", y=1, pad=14)
        total = text("row.sum", number=f"{array.sum():.2f}")
        axes.text(len(tokens) + 0.1, 0, total, va="bottom")
    axes.set_xticks(np.arange(len(tokens)) + 0.5, tokens)
    return figure


@plot
def blind_rows(answers: Mapping[str, Array], tokens: Sequence[str]) -> Figure:
    """Draw the weights, (num_keys,), that programs give to one query: a strip of bars for each name.

    Where a weight is not a number, NaN is written in place of a bar.

    >>> blind_rows({"zeros": [0.0, 0.0], "NaN": [np.nan, np.nan]}, ["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, cell, height = inch_figure(), 0.56, 0.3
    for line, (name, row) in enumerate(answers.items()):
        weights = to_array(row)
        words = ["NaN" if np.isnan(weight) else f"{weight:.2f}" for weight in weights]
        axes = _add_bars(figure, np.nan_to_num(weights), words, line * (height + 0.2), cell, height)
        axes.text(-0.15, 0, name, ha="right", va="bottom")
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(np.arange(len(tokens)) + 0.5, tokens, **turned if has_long_label(tokens) else {})
    return figure


def _add_bars(
    figure: Figure, row: np.ndarray, words: Sequence[str], top: float, cell: float, height: float
) -> Axes:
    """Add axes with bars between 0 and 1 and a word above each; a bar is three fifths of its place wide."""
    axes = figure.add_axes((0, 1 - top - height, len(row) * cell, height))
    axes.set(xlim=(0, len(row)), ylim=(0, 1), xticks=[], yticks=[])
    axes.spines["left"].set_visible(False)
    for key, (weight, word) in enumerate(zip(row, words, strict=True)):
        axes.add_patch(Rectangle((key + 0.2, 0), 0.6, weight, facecolor=BLUE))
        colour = ORANGE if word == "NaN" else INK
        axes.annotate(word, (key + 0.5, weight), xytext=(0, 1.5), textcoords="offset points", ha="center",
                      va="bottom", color=colour, annotation_clip=False)  # fmt: skip
    axes.tick_params(length=0, pad=3)
    return axes
