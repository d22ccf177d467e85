"""The figure of a translation: the cross-attention of each character."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import blank, drawn, numbers
from polyhead_course.figures.plots.grid import paint, shades
from polyhead_course.models.translation.translator import Translation
from polyhead_course.words.language import text


@drawn
def attention_picture(translation: Translation) -> Figure:
    """Draw the weights in per cent: a row for each target character, a column for each source token.

    >>> from polyhead_course.models.translation import translate
    >>> attention_picture(translate("Nov 20, 2026", "ko")).save("weights.svg")  # doctest: +SKIP
    """
    rows = [character.replace(" ", "␣") for character in translation.target_tokens]
    columns = translation.source_tokens
    weights = numbers("weights", translation.weights, len(rows), len(columns), lowest=0.0, highest=1.0)
    figure = blank()
    axes = paint(
        figure, shades(weights, 1.0), words=np.round(100 * weights).astype(int), cell=0.32,
        rows=rows, columns=columns, turn=90,
    )  # fmt: skip
    axes.set_title(text("cross_attention"), loc="left", y=1, pad=72)
    axes.set_ylabel(text("axis.written"), fontsize=9, labelpad=6)
    axes.set_xlabel(text("axis.read"), fontsize=9)
    return figure
