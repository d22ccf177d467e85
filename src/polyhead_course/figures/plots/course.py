"""The map of a course: which chapter builds on which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from unicodedata import east_asian_width

from matplotlib.figure import Figure

from polyhead_course.figures.plots.boxes import Point, arrow, box, canvas
from polyhead_course.figures.plots.drawing import BLUE, GREY, plot

_ACROSS = 2  # boxes a line: more would be too small on a phone
_WIDTH = 2.1  # of a box in inches
_LETTERS = 24  # the longest line that fits into a box; an ideograph counts two
# After any of these a line may break: an ideograph with its punctuation, or a word.
_PIECES = re.compile(r"[\u2e80-\u9fff][\u3001\u3002\uff01-\uff60]*\s*|[^\s\u2e80-\u9fff]+\s*")


@plot
def course_map(chapters: Mapping[str, tuple[str, Sequence[str]]]) -> Figure:
    """Draw every chapter as a box, with an arrow from each chapter to those that build on it.

    Chapters go by their names, each with its title and the names of those that it builds on, which are above
    it. Where it builds on one through another, only the arrows through the other are drawn.

    >>> course_map({"01": ("One head", []), "02": ("Masks", ["01"])})
    <polyhead_course.figures.plots.Drawing>
    """
    levels, arrows = _order({name: needs for name, (_, needs) in chapters.items()})
    titles = {name: _wrap(title) for name, (title, _) in chapters.items()}
    height = 0.12 + 0.17 * max(title.count("\n") + 1 for title in titles.values())
    width = _ACROSS * (_WIDTH + 0.15)
    middles: dict[str, Point] = {}
    y = height / 2 + 0.02
    for line in (level[i : i + _ACROSS] for level in levels for i in range(0, len(level), _ACROSS)):
        for column, name in enumerate(line):
            middles[name] = width / 2 + (column - (len(line) - 1) / 2) * (_WIDTH + 0.15), y
        y += height + 0.26
    figure, axes = canvas(width, y - height / 2 - 0.24)
    for name, middle in middles.items():
        box(axes, middle, (_WIDTH, height), titles[name], "#c6dbef", BLUE, fontsize=10.0)
    for needed, name in arrows:
        (start_x, start_y), (end_x, end_y) = middles[needed], middles[name]
        arrow(axes, [(start_x, start_y + height / 2), (end_x, end_y - height / 2)], GREY, 1.3)
    return figure


def _order(needs: Mapping[str, Sequence[str]]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Group chapters by the longest path to them; keep the arrows that no longer path replaces."""
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    levels, arrows = [], []
    earlier: dict[str, set[str]] = {}
    while level := sorted(sorter.get_ready(), key=list(needs).index):
        sorter.done(*level)
        levels.append(level)
        for name in level:
            through = set[str]().union(*(earlier[needed] for needed in needs[name]))
            arrows += [(needed, name) for needed in needs[name] if needed not in through]
            earlier[name] = through | set(needs[name])
    return levels, arrows


def _wrap(title: str) -> str:
    lines = [""]
    for piece in _PIECES.findall(title):
        line = (lines[-1] + piece).rstrip()
        if lines[-1] and len(line) + sum(east_asian_width(char) in "WF" for char in line) > _LETTERS:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)
