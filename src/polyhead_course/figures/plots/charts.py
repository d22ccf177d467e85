"""Charts: axes with a title and labels, and the parts that several of them have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import BLUE, GREY, INK
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


def level_line(
    axes: Axes, height: Number, name: str, end: Number, *, shift: int = 2, fontsize: Number = 9
) -> None:
    """Draw a dotted line at a height; the label `line.<name>` ends at x = `end`, `shift` points above it."""
    axes.axhline(height, color=GREY, linestyle=":", linewidth=1.4)
    end_label(axes, text(f"line.{name}"), (end, height), shift, fontsize)


def end_label(axes: Axes, label: str, point: tuple[Number, Number], shift: int, fontsize: Number = 9) -> None:
    """Write a label that ends at a point, `shift` points above it; below it if that is negative."""
    axes.annotate(
        label, point, xytext=(0, shift), textcoords="offset points", ha="right",
        va="top" if shift < 0 else "bottom", fontsize=fontsize,
    )  # fmt: skip


def add_points(axes: Axes, points: np.ndarray, name: str, zorder: int = 3, **look: Any) -> None:
    """Add points, (num_points, 2), with the label `point.<name>`."""
    axes.scatter(points[:, 0], points[:, 1], label=text(f"point.{name}"), zorder=zorder, **look)


def horizontal_bars(
    axes: Axes, sizes: Sequence[Number], words: Sequence[str], names: Sequence[str], room: float
) -> None:
    """Draw a bar for each size, from the top, with its name to the left and its words to the right.

    The axis is `room` times as long as the longest bar.
    """
    longest = max(sizes)
    for row, (size, word) in enumerate(zip(sizes, words, strict=True)):
        axes.barh(row, size, height=0.62, color=BLUE)
        axes.text(size + 0.02 * longest, row, word, va="center", fontsize=9.5)
    axes.set_yticks(range(len(sizes)), names)
    axes.set(ylim=(len(sizes) - 0.5, -0.5), xlim=(0, room * longest), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(left=False)


def probability_bars(
    axes: Axes, probs: np.ndarray, words: Sequence[str], tokens: Sequence[str], **look: Any
) -> None:
    """Draw a bar for each token, with its words above it, grey where they are "0"."""
    columns = range(len(probs))
    axes.bar(columns, probs, color=BLUE, width=0.75)
    for column, height, word in zip(columns, probs, words, strict=True):
        ink = GREY if word == "0" else INK
        axes.text(column, height + 0.02, word, color=ink, ha="center", va="bottom", fontsize=8.5)
    axes.set_xticks(columns, tokens, fontsize=9, **look)
    axes.set(ylim=(0, 1.12), yticks=[0, 0.5, 1])
    axes.tick_params(length=0, pad=3, labelbottom=True)
    axes.spines["bottom"].set_color(GREY)
