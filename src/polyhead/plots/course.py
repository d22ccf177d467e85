"""The map of the course: which chapter builds on which."""

from __future__ import annotations

from collections.abc import Collection

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from polyhead.language import text
from polyhead.plots.drawing import BLUE, FIXED_INK, GREY, INK, drawn, labels

# Chapter: (column, line) of its box, and the chapters that it builds on.
_CHAPTERS: dict[str, tuple[tuple[float, int], tuple[str, ...]]] = {
    "01-single-head": ((0.5, 0), ()),
    "02-masks": ((0.5, 1), ("01-single-head",)),
    "03-many-heads": ((0.5, 2), ("02-masks",)),
    "04-heads-in-parallel": ((0.5, 3), ("03-many-heads",)),
    "05-encoder": ((0, 4), ("04-heads-in-parallel",)),
    "06-decoder": ((1, 4), ("04-heads-in-parallel",)),
    "07-cross-attention": ((0.5, 5), ("05-encoder", "06-decoder")),
    "08-translator": ((0.5, 6), ("07-cross-attention",)),
    "09-what-heads-do": ((0, 7), ("08-translator",)),
    "10-attention-in-practice": ((1, 7), ("08-translator",)),
    "11-bug-clinic": ((0.5, 8), ("09-what-heads-do", "10-attention-in-practice")),
}
_WIDTH, _HEIGHT, _STEP_X, _STEP_Y = 2.05, 0.42, 2.35, 0.68


@drawn
def course_map(written: Collection[str]) -> Figure:
    """Every chapter as a box, with an arrow from each chapter to those that build on it.

    Args:
        written: the stems of the chapters that can be read already; the others are drawn dashed.

    Returns:
        The drawing.

    Raises:
        TypeError: `written` is no collection of strings.
        ValueError: it names an unknown chapter.
    """
    unknown = sorted(set(labels("written", written)) - set(_CHAPTERS))
    if unknown:
        raise ValueError(
            f"written must name chapters out of {', '.join(_CHAPTERS)}, got {', '.join(unknown)}"
        )
    lines = 1 + max(line for (_, line), _ in _CHAPTERS.values())
    size = _STEP_X + _WIDTH, lines * _STEP_Y
    figure = Figure(figsize=size)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, size[0]), ylim=(size[1], 0))
    axes.axis("off")
    for stem, (place, needs) in _CHAPTERS.items():
        _box(axes, place, text(f"map.{stem}"), stem in written)
        for needed in needs:
            _arrow(axes, _CHAPTERS[needed][0], place)
    return figure


def _corner(place: tuple[float, int]) -> tuple[float, float]:
    return place[0] * _STEP_X, place[1] * _STEP_Y + 0.05


def _box(axes: Axes, place: tuple[float, int], label: str, written: bool) -> None:
    left, top = _corner(place)
    box = FancyBboxPatch(
        (left + 0.06, top),
        _WIDTH - 0.12,
        _HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor="#c6dbef" if written else "none",
        edgecolor=BLUE if written else GREY,
        linestyle="-" if written else (0, (4, 3)),
        linewidth=1.3,
    )
    axes.add_patch(box)
    axes.text(left + _WIDTH / 2, top + _HEIGHT / 2, label, ha="center", va="center",
              color=FIXED_INK if written else INK)  # fmt: skip


def _arrow(axes: Axes, start: tuple[float, int], end: tuple[float, int]) -> None:
    (left, top), (end_left, end_top) = _corner(start), _corner(end)
    axes.annotate(
        "", (end_left + _WIDTH / 2, end_top), (left + _WIDTH / 2, top + _HEIGHT),
        arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
