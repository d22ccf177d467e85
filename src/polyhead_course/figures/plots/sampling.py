"""The probabilities of the next token, and what remains of them before one is sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from polyhead_course.figures.plots.charts import probability_bars
from polyhead_course.figures.plots.drawing import plot, to_array
from polyhead_course.words.language import text


@plot
def next_token_bars(choices: Mapping[str, object], tokens: Sequence[str]) -> Figure:
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
        probability_bars(axes, probs, [f"{p:.2f}" if p else "0" for p in probs], tokens)
        axes.set_title(title)
    for axes in panels.flat[len(choices) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set_ylabel(text("probability"))
    figure.subplots_adjust(wspace=0.12, hspace=0.55)
    return figure
