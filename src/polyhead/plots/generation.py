"""Who sees whom while a decoder generates: which keys are computed now, and which come from the cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead import _validate
from polyhead.language import text
from polyhead.plots.drawing import BLUE, GREY, ORANGE, drawn, labels

_CELL, _ABOVE, _BELOW = 0.34, 0.85, 0.6  # inches


@drawn
def cache_triangle(tokens: Sequence[str], num_prompt: int = 1) -> Figure:
    """The causal triangle by the age of its keys: computed in the same step, or taken from the cache.

    The prompt is one step, and each later token is one.

    Args:
        tokens: one label a token, for the queries in the rows and the keys in the columns.
        num_prompt: how many of them are there before the first is generated.

    Returns:
        The drawing.

    Raises:
        TypeError: the tokens are no strings, or `num_prompt` no int.
        ValueError: there are fewer tokens than the prompt has, or more than 12.
    """
    names = labels("tokens", tokens)
    prompt = _validate.at_least("num_prompt", num_prompt)
    size = len(names)
    if not prompt <= size <= 12:
        raise ValueError(f"tokens must be num_prompt = {prompt} to 12 labels, got {size}")
    side = size * _CELL
    width, height = side, side + _ABOVE + _BELOW
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, _BELOW / height, 1, side / height))
    for row, column in np.ndindex(size, size):
        now = column == row or (column < row < prompt)
        face = ORANGE if now else BLUE if column < row else "none"
        axes.add_patch(
            Rectangle((column, row), 1, 1, facecolor=face, edgecolor=GREY, linewidth=0.8, clip_on=False)
        )
    axes.set(xlim=(0, size), ylim=(size, 0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    places = np.arange(size) + 0.5
    axes.set_yticks(places, names, fontsize=9)
    axes.xaxis.tick_top()
    axes.set_xticks(places, names, fontsize=9)
    for tick in axes.get_xticklabels():
        tick.set(rotation=50, ha="left", va="center", rotation_mode="anchor")
    axes.tick_params(length=0, pad=4)
    for line, (colour, key) in enumerate(((ORANGE, "key.computed"), (BLUE, "key.cached"))):
        top = size + 0.35 + 0.75 * line
        axes.add_patch(
            Rectangle((0, top), 0.5, 0.5, facecolor=colour, edgecolor=GREY, linewidth=0.8, clip_on=False)
        )
        axes.text(0.75, top + 0.25, text(key), ha="left", va="center", fontsize=9.5)
    return figure
