"""Boxes and arrows: what the pictures of layers and of tokens are drawn with."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from polyhead_course.figures.plots.drawing import FIXED_INK

Point = tuple[float, float]


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Create a figure with axes in inches, from its upper left corner."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def box(axes: Axes, at: Point, size: Point, label: str, face: str, edge: str = FIXED_INK) -> None:
    """Draw a rounded box with its middle `at` a point, and a label in it."""
    (x, y), (width, height) = at, size
    corner, style = (x - width / 2, y - height / 2), "round,pad=0,rounding_size=0.06"
    patch = FancyBboxPatch(
        corner, width, height, style, facecolor=face, edgecolor=edge, linewidth=1, zorder=3
    )
    axes.add_patch(patch)
    axes.text(x, y, label, ha="center", va="center", color=FIXED_INK, zorder=5)


def arrow(axes: Axes, points: Sequence[Point], colour: str, width: float) -> None:
    """Draw a line through the points, with an arrow's head at the last."""
    axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, solid_capstyle="butt", zorder=1)
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0,
             "mutation_scale": 12}  # fmt: skip
    axes.annotate("", points[-1], points[-2], arrowprops=style)
