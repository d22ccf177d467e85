"""Choosing the next token: its probabilities after each way of changing them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import BLUE, GREY, drawn, fitting, numbers
from polyhead_course.words.language import text

_COLUMNS = 3


@drawn
def next_token_bars(choices: Mapping[str, object], tokens: Sequence[str]) -> Figure:
    """The probabilities of the next token as bars, a panel for each choice; a token at 0 is cut off.

    Args:
        choices: by title, such as `T = 2`, the probabilities, (num_tokens,).
        tokens: their labels.
    """
    if not choices:
        raise ValueError("choices must hold one row of probabilities or more, got none")
    rows = {
        title: numbers(f"choices[{title!r}]", probs, None, lowest=0.0, highest=1.0)
        for title, probs in choices.items()
    }
    for row in rows.values():
        fitting("tokens", tokens, len(row))
    columns = min(_COLUMNS, len(rows))
    lines = math.ceil(len(rows) / columns)
    figure = Figure(figsize=(4.7, 0.2 + 1.75 * lines))
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    places = np.arange(len(tokens))
    for axes, (title, probs) in zip(panels.flat, rows.items(), strict=False):
        axes.bar(places, probs, color=BLUE, width=0.75)
        for place, p in zip(places, probs, strict=True):
            label, color = (f"{p:.2f}", "black") if p else ("0", GREY)
            axes.text(place, p + 0.02, label, color=color, ha="center", va="bottom", fontsize=8.5)
        axes.set_title(title)
        axes.set_xticks(places, tokens, fontsize=9)
        axes.set(ylim=(0, 1.12), yticks=[0, 0.5, 1])
        axes.tick_params(length=0, pad=3, labelbottom=True)
        axes.spines["bottom"].set_color(GREY)
    for axes in panels.flat[len(rows) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set_ylabel(text("probability"))
    figure.subplots_adjust(wspace=0.12, hspace=0.55)
    return figure
