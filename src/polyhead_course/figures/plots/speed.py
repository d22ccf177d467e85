"""What attention costs: time and memory against the length of the sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, drawn, numbers
from polyhead_course.words.language import text

_STYLES = ((INK, "o"), (BLUE, "s"), (ORANGE, "^"), ("#31a354", "D"), (GREY, "v"))


@drawn
def time_and_memory(
    lengths: Sequence[Size], times: Mapping[str, object], mebibytes: Mapping[str, object]
) -> Figure:
    """Two panels below each other, against the length: time as a ratio, and memory on a logarithmic axis.

    Times and memory are (num_lengths,) for each of at most five forms, whose names are code; the first form
    is the one that the others' times are divided by.
    """
    names = list(times)
    if not names or len(names) > len(_STYLES) or names != list(mebibytes):
        raise ValueError(
            f"times and mebibytes must have the same 1 to {len(_STYLES)} forms, "
            f"got {names}, {list(mebibytes)}"
        )
    figure = Figure(figsize=(4.7, 5.6))
    panels = figure.subplots(2, 1, sharex=True)
    for axes, curves, what in zip(panels, (times, mebibytes), ("times", "mebibytes"), strict=True):
        for name, (colour, marker) in zip(names, _STYLES, strict=False):
            heights = numbers(f"{what}[{name!r}]", curves[name], len(lengths), lowest=1e-6)
            axes.plot(lengths, np.round(heights, 3), color=colour, marker=marker, markersize=5, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.minorticks_off()
        axes.set_title(text(f"axis.{what}"), loc="left")
    panels[0].set_ylim(bottom=0)
    panels[1].set_yscale("log", base=2)
    panels[1].yaxis.set_major_formatter("{x:g}")
    panels[1].set_xlabel(text("axis.length"))
    panels[0].legend(loc="lower left", fontsize=8, labelspacing=0.2, borderaxespad=0.1)
    return figure
