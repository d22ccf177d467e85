"""The residual stream: a bundle of terms that runs past the sublayers; each reads it and adds one."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Size
from polyhead_course.figures.plots.boxes import arrow, box, canvas
from polyhead_course.figures.plots.drawing import GREY, INK, plot
from polyhead_course.figures.plots.scripts import subscript
from polyhead_course.words.language import text

_SUBLAYERS = (("self_attention", "#c6dbef"), ("feed_forward", "#fdd0a2"))
# The updates, two a layer: shades of the box that each comes from.
_STRANDS = ("#3182bd", "#e6730b", "#6baed6", "#fd8d3c", "#08519c", "#a63603")
_TOP, _STEP, _GAP, _LEFT, _BOX = 0.42, 0.92, 0.11, 0.45, 2.35  # inches


@plot
def residual_stream(num_layers: Size = 2) -> Figure:
    """Draw the stream of one to three layers, read downwards: u₁, u₂, … are what the sublayers add to x.

    >>> residual_stream(num_layers=1)
    <polyhead_course.figures.plots.Drawing>
    """
    count = 2 * num_layers
    bottom = _TOP + count * _STEP + 0.3
    figure, axes = canvas(4.5, bottom + 0.3)
    _strand(axes, 0, 0.3, bottom, INK)
    axes.text(_LEFT, 0.12, "x", ha="center", va="center")
    for number in range(count):
        _sublayer(axes, number, bottom)
    for layer in range(num_layers):
        top, end = (_TOP + (2 * layer + part) * _STEP for part in (0.1, 1.85))
        axes.plot([3.3, 3.38, 3.38, 3.3], [top, top, end, end], color=GREY, linewidth=1.2)
        label = text("layer.number", number=layer + 1)
        axes.text(3.5, (top + end) / 2, label, va="center", fontsize=9.5)
    total = " + ".join(["x", *(f"u{subscript(number + 1)}" for number in range(count))])
    axes.text(0.2, bottom + 0.17, total, va="center", fontsize=9.5)
    return figure


def _sublayer(axes: Axes, number: int, bottom: float) -> None:
    """Draw a box that reads all strands above it, and the strand that begins where it writes."""
    (name, fill), colour = _SUBLAYERS[number % 2], _STRANDS[number]
    top = _TOP + number * _STEP
    reads, middle, writes = top + 0.1, top + 0.4, top + 0.7
    x = _LEFT + (number + 1) * _GAP
    arrow(axes, [(_LEFT, reads), (_BOX, reads), (_BOX, middle - 0.17)], GREY, 1.5)
    strands = [_LEFT + place * _GAP for place in range(number + 1)]
    axes.plot(strands, [reads] * len(strands), "o", color=GREY, markersize=4.5, zorder=4)
    axes.plot([_BOX, _BOX, x], [middle, writes, writes], color=colour, linewidth=2.6, zorder=1)
    _strand(axes, number + 1, writes, bottom, colour)
    box(axes, (_BOX, middle), (1.5, 0.34), text(f"block.{name}"), fill)
    label = f"u{subscript(number + 1)}"
    axes.text((x + _BOX) / 2, writes + 0.02, label, ha="center", va="top", fontsize=9.5)


def _strand(axes: Axes, place: int, top: float, bottom: float, colour: str) -> None:
    x = _LEFT + place * _GAP
    arrow(axes, [(x, top), (x, bottom)], colour, 2.6)
