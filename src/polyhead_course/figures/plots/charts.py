"""Charts: axes with a title and labels, and the parts that several of them have."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import GREY
from polyhead_course.figures.plots.scripts import superscript
from polyhead_course.words.language import text

Number = int | float


def chart(width: float, height: float, x: str, y: str) -> tuple[Figure, Axes]:
    """Create axes with the label `x` of `terms.yml` below them, and `y` as their title, above the y axis."""
    figure = Figure(figsize=(width, height))
    axes = figure.subplots()
    axes.set_xlabel(text(x))
    axes.set_title(text(y), loc="left")
    return figure, axes


def stacked_charts(
    size: tuple[float, float], titles: Sequence[str], x: str, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Create axes below one another, each with its title, with the label `x` below the lowest."""
    figure = Figure(figsize=size)
    panels = list(figure.subplots(len(titles), 1, sharex=True, squeeze=False, **options)[:, 0])
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left")
    panels[-1].set_xlabel(x)
    figure.subplots_adjust(hspace=0.3)
    return figure, panels


def power_ticks(axes: Axes, powers: Iterable[Number]) -> None:
    """Label exponents on the y axis as powers: 10⁻², 10⁻¹, 10⁰."""
    powers = list(powers)
    axes.set_yticks(powers, [f"10{superscript(int(power))}" for power in powers])


def decimal_ticks(axes: Axes) -> tuple[int, int]:
    """Label the exponents on the y axis as numbers: 0.01, 0.1, 1; return the lowest and the highest."""
    low, high = axes.get_ylim()
    powers = range(math.floor(low), math.ceil(high) + 1)
    axes.set_yticks(powers, [f"{10.0**power:g}" for power in powers])
    return powers[0], powers[-1]


def level_line(axes: Axes, height: Number, name: str, end: Number) -> None:
    """Draw a dotted line at a height; the label `line.<name>` ends at x = `end`."""
    axes.axhline(height, color=GREY, linestyle=":", linewidth=1.4)
    label = text(f"line.{name}")
    axes.annotate(label, (end, height), (0, 2), textcoords="offset points", ha="right", va="bottom")
