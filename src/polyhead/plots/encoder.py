"""The encoder's pictures: waves of positions, the sublayers of a layer, and gradients layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from polyhead.language import text
from polyhead.plots.drawing import BLUE, FIXED_INK, GREY, INK, ORANGE, drawn, numbers

_CELL = 0.16  # inches
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@drawn
def position_waves(table: object) -> Figure:
    """What positions add, as coloured cells: orange is positive, purple negative, white 0.

    Args:
        table: (num_positions, embed_dim), each entry from -1 to 1, at most 40 by 20.

    Returns:
        The drawing.

    Raises:
        ValueError: it is no such matrix.
    """
    matrix = numbers("table", table, 2)
    if matrix.shape[0] > 40 or matrix.shape[1] > 20:
        raise ValueError(f"table must have at most 40 rows and 20 columns, got shape {matrix.shape}")
    outside = matrix[np.abs(matrix) > 1]
    if outside.size:
        raise ValueError(f"table must lie between -1 and 1, got {outside[0]}")
    rows, columns = matrix.shape
    figure = Figure(figsize=(columns * _CELL, rows * _CELL))
    axes = figure.add_axes((0, 0, 1, 1))
    colours = colormaps["PuOr_r"]
    for (row, column), number in np.ndenumerate(matrix):
        face = to_hex(colours(0.5 + 0.45 * round(number, 2)))
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=face, edgecolor=face, linewidth=0.3))
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.set_xticks(np.arange(0, columns, 2) + 0.5, [str(i) for i in range(0, columns, 2)])
    axes.set_yticks(np.arange(0, rows, 4) + 0.5, [str(i) for i in range(0, rows, 4)])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, pad=4)
    axes.set_xlabel(text("axis.dimension"))
    axes.set_ylabel(text("axis.position"))
    return figure


_COLUMN, _HALF, _TOP = 2.35, 1.95, 0.5  # inches: one layer's width, one sublayer's height, room for titles
_STREAM, _BRANCH, _BOX = 0.42, 1.5, 1.4  # where the straight path runs, and the boxes beside it
_FILLS = {"self_attention": "#c6dbef", "feed_forward": "#fdd0a2", "norm": "#d9d9d9"}


@drawn
def layer_sublayers() -> Figure:
    """An encoder layer, read downwards, with post-norm on the left and with pre-norm on the right.

    The straight line is the residual path.

    Returns:
        The drawing.
    """
    size = 2 * _COLUMN, _TOP + 2 * _HALF + 0.35
    figure = Figure(figsize=size)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, size[0]), ylim=(size[1], 0))
    axes.axis("off")
    for number, name in enumerate(("post_norm", "pre_norm")):
        left = number * _COLUMN
        axes.text(left + 0.05, 0.12, text(f"title.{name}"), va="center")
        stream = left + _STREAM
        _line(axes, [(stream, 0.3), (stream, size[1])], INK, 2.2, arrow=True)
        for half, sublayer in enumerate(("self_attention", "feed_forward")):
            _sublayer(axes, left, _TOP + half * _HALF, sublayer, norm_first=name == "pre_norm")
    return figure


def _sublayer(axes: Axes, left: float, top: float, name: str, norm_first: bool) -> None:
    stream, branch = left + _STREAM, left + _BRANCH
    plus = top + (1.55 if norm_first else 1.05)
    _line(axes, [(stream, top), (branch, top), (branch, plus), (stream + 0.13, plus)], GREY, 1.5, arrow=True)
    if norm_first:
        _box(axes, branch, top + 0.4, 0.9, "norm")
        _box(axes, branch, top + 1.05, _BOX, name)
    else:
        _box(axes, branch, top + 0.52, _BOX, name)
        _box(axes, stream, top + 1.5, 0.8, "norm")
    axes.add_patch(Circle((stream, plus), 0.13, facecolor="#fdfdfd", edgecolor=FIXED_INK, zorder=4))
    axes.text(stream, plus, "+", ha="center", va="center", color=FIXED_INK, zorder=5)


def _box(axes: Axes, x: float, y: float, width: float, name: str) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - 0.18), width, 0.36, boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=_FILLS[name], edgecolor=FIXED_INK, linewidth=1.0, zorder=3,
        )
    )  # fmt: skip
    axes.text(x, y, text(f"block.{name}"), ha="center", va="center", color=FIXED_INK, fontsize=9.5, zorder=5)


def _line(
    axes: Axes, points: Sequence[tuple[float, float]], colour: str, width: float, arrow: bool = False
) -> None:
    axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, solid_capstyle="butt", zorder=1)
    if arrow:
        axes.annotate(
            "", points[-1], points[-2],
            arrowprops={
                "arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0,
                "mutation_scale": 12,
            },
        )  # fmt: skip


_CURVES = {"post_norm": (BLUE, "o"), "pre_norm": (ORANGE, "s"), "no_residual": (GREY, "^")}


@drawn
def gradient_by_layer(curves: Mapping[str, object]) -> Figure:
    """Gradient norm against the layer, on a logarithmic axis.

    Args:
        curves: one sequence of numbers above 0, one for each layer from the first, by the names "post_norm",
            "pre_norm" and "no_residual"; all equally long.

    Returns:
        The drawing.

    Raises:
        TypeError: `curves` is no dict.
        ValueError: there is no curve, one has another name or another length, or holds a number not above 0.
    """
    if not isinstance(curves, Mapping):
        raise TypeError(f"curves must be a dict of sequences, got {type(curves).__name__}")
    if not curves or set(curves) - set(_CURVES):
        raise ValueError(f"curves must have names out of {', '.join(_CURVES)}, got {list(curves)}")
    logs = {}
    for name, curve in curves.items():
        scaled = np.asarray(curve, dtype=float)
        if not (scaled > 0).all():
            raise ValueError(f"curves[{name!r}] must hold numbers above 0, got {scaled.min()}")
        # Two digits of the exponent: what the eye sees, and the same on every machine.
        logs[name] = np.round(numbers(f"curves[{name!r}]", np.log10(scaled), 1), 2)
    lengths = {name: len(curve) for name, curve in logs.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"curves must be equally long, got {lengths}")
    figure = Figure(figsize=(4.5, 3.4))
    axes = figure.subplots()
    for name, curve in logs.items():
        colour, marker = _CURVES[name]
        places = np.arange(1, len(curve) + 1)
        axes.plot(places, curve, color=colour, marker=marker, markersize=4, label=text(f"curve.{name}"))
    lowest = np.floor(min(curve.min() for curve in logs.values()))
    highest = np.ceil(max(curve.max() for curve in logs.values())) + 0.0
    if highest - lowest <= 2:  # too few powers of ten for an axis
        ticks = [10**power * digit for power in np.arange(lowest, highest) for digit in (1, 2, 5)]
        axes.set_yticks(np.log10([*ticks, 10**highest]), [f"{tick:g}" for tick in [*ticks, 10**highest]])
    else:
        powers = np.arange(highest, lowest - 0.5, -np.ceil((highest - lowest) / 6))
        axes.set_yticks(powers, ["10" + str(int(power)).translate(_SUPERSCRIPT) for power in powers])
    axes.set_ylim(lowest - 0.3 * (highest - lowest > 2), highest + 0.05)
    axes.set_xlabel(text("axis.layer"))
    axes.set_title(text("axis.gradient_norm"), loc="left")
    axes.legend(loc="best", fontsize=9)
    return figure
