"""A sentence twice, shifted by one: the inputs of a language model, and its targets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from matplotlib.figure import Figure

from polyhead_course.figures.plots.boxes import arrow, box, canvas
from polyhead_course.figures.plots.drawing import GREY, INK, plot
from polyhead_course.words.language import text

_COLUMN, _SIZE = 0.93, (0.86, 0.34)  # inches: from one token to the next, and the box around one
_FILLS = ("#c6dbef", "#fdd0a2")  # inputs and targets
_TARGETS, _INPUTS = 0.5, 1.35  # how far down the rows are


@plot
def shifted_tokens(tokens: Sequence[str]) -> Figure:
    """Draw the tokens but the last as inputs, and those but the first as targets above them.

    An arrow leads from each input to its target; a dotted line joins each target with the next input, which
    is the same token. At least three tokens, at most six.

    >>> shifted_tokens(["<s>", "a", "b", "</s>"])
    <polyhead_course.figures.plots.Drawing>
    """
    size = len(tokens) - 1
    figure, axes = canvas(size * _COLUMN, _INPUTS + 0.55)
    middles = [(number + 0.5) * _COLUMN for number in range(size)]
    half = _SIZE[1] / 2
    for x, token, target in zip(middles, tokens, tokens[1:], strict=False):
        box(axes, (x, _TARGETS), _SIZE, target, _FILLS[1], fontsize=9.0)
        box(axes, (x, _INPUTS), _SIZE, token, _FILLS[0], fontsize=9.0)
        arrow(axes, [(x, _INPUTS - half), (x, _TARGETS + half)], INK, 1.4)
    for x, after in itertools.pairwise(middles):
        ends = (x + 0.12, after - 0.12), (_TARGETS + half, _INPUTS - half)
        axes.plot(*ends, color=GREY, linewidth=1.4, linestyle=":", zorder=0)
    axes.text(0.04, _TARGETS - 0.36, text("title.targets"), va="center")
    axes.text(0.04, _INPUTS + 0.36, text("title.inputs"), va="center")
    return figure
