"""An encoder layer's sublayers and the residual path around them."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from polyhead_course.figures.plots.boxes import arrow, box, canvas
from polyhead_course.figures.plots.drawing import FIXED_INK, FIXED_PAPER, GREY, INK, plot
from polyhead_course.words.language import text

_COLUMN, _HALF, _TOP = 2.35, 1.95, 0.5  # inches: one layer's width, one sublayer's height, room for titles
_STREAM, _BRANCH = 0.42, 1.5  # where the straight path runs, and the boxes beside it
_FILLS = {"self_attention": "#c6dbef", "feed_forward": "#fdd0a2", "norm": "#d9d9d9"}


@plot
def layer_sublayers() -> Figure:
    """Draw an encoder layer, read downwards along its residual path, with post-norm and with pre-norm.

    >>> layer_sublayers()
    <polyhead_course.figures.plots.Drawing>
    """
    height = _TOP + 2 * _HALF + 0.35
    figure, axes = canvas(2 * _COLUMN, height)
    for number, name in enumerate(("post_norm", "pre_norm")):
        left = number * _COLUMN
        axes.text(left + 0.05, 0.12, text(f"title.{name}"), va="center")
        arrow(axes, [(left + _STREAM, 0.3), (left + _STREAM, height)], INK, 2.2)
        for half, sublayer in enumerate(("self_attention", "feed_forward")):
            _sublayer(axes, left, _TOP + half * _HALF, sublayer, norm_first=name == "pre_norm")
    return figure


def _sublayer(axes: Axes, left: float, top: float, name: str, norm_first: bool) -> None:
    stream, branch = left + _STREAM, left + _BRANCH
    plus = top + (1.55 if norm_first else 1.05)
    arrow(axes, [(stream, top), (branch, top), (branch, plus), (stream + 0.13, plus)], GREY, 1.5)
    if norm_first:
        _box(axes, branch, top + 0.4, 0.9, "norm")
        _box(axes, branch, top + 1.05, 1.4, name)
    else:
        _box(axes, branch, top + 0.52, 1.4, name)
        _box(axes, stream, top + 1.5, 0.8, "norm")
    axes.add_patch(Circle((stream, plus), 0.13, facecolor=FIXED_PAPER, edgecolor=FIXED_INK, zorder=4))
    axes.text(stream, plus, "+", ha="center", va="center", color=FIXED_INK, zorder=5)


def _box(axes: Axes, x: float, y: float, width: float, name: str) -> None:
    box(axes, (x, y), (width, 0.36), text(f"block.{name}"), _FILLS[name])
