"""What attention costs: time and memory against the length of the sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, plot, to_array
from polyhead_course.words.language import text

_STYLES = ((INK, "o"), (BLUE, "s"), (ORANGE, "^"), ("#31a354", "D"), (GREY, "v"))


@plot
def time_and_memory(
    lengths: Sequence[Size], times: Mapping[str, object], mebibytes: Mapping[str, object]
) -> Figure:
    """Draw two panels against the length: time as a ratio above, memory on a logarithmic axis below.

    Times and memory are (num_lengths,) for each of at most five forms, whose names are code; the times of the
    first form are those by which all times are divided.

    >>> time_and_memory([128, 256], {"baseline": [1, 1], "x": [2, 3]}, {"baseline": [1, 2], "x": [4, 16]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(4.7, 5.6))
    panels = figure.subplots(2, 1, sharex=True)
    for axes, curves, name in zip(panels, (times, mebibytes), ("times", "mebibytes"), strict=True):
        for (form, curve), (colour, marker) in zip(curves.items(), _STYLES, strict=False):
            heights = to_array(curve).round(3)
            axes.plot(lengths, heights, color=colour, marker=marker, markersize=5, label=form)
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.minorticks_off()
        axes.set_title(text(f"axis.{name}"), loc="left")
    panels[0].set_ylim(bottom=0)
    panels[1].set_yscale("log", base=2)
    panels[1].yaxis.set_major_formatter("{x:g}")
    panels[1].set_xlabel(text("axis.length"))
    panels[0].legend(loc="lower left", fontsize=8, labelspacing=0.2, borderaxespad=0.1)
    return figure
