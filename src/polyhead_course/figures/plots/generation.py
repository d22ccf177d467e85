"""Writing token by token: its steps, the tree of a beam search, what a cache saves, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead.checked import Positive, Size
from polyhead_course.figures.plots.boxes import Point, arrow, box, canvas
from polyhead_course.figures.plots.charts import chart, end_label, level_line, power_ticks
from polyhead_course.figures.plots.drawing import BLUE, FIXED_INK, GREY, INK, ORANGE, plot, to_array, to_log10
from polyhead_course.words.language import text

_SIDE = 0.17  # inches: a key of a cache
_INPUT, _OUTPUT, _MODEL = "#c6dbef", "#fdd0a2", "#d9d9d9"


@plot
def decode_timeline(tokens: Sequence[str], num_prompt: Size) -> Figure:
    """Draw the steps of generation: what goes into the model, what comes out, and the cache.

    The first `num_prompt` of the tokens go in together (prefill); each later step takes the token that has
    just come out (decode). Below each step are the keys that the cache has by then, the new ones in orange.
    A prompt of up to 6 tokens, and 1 to 4 more.

    >>> decode_timeline(["<s>", "a", "b", "</s>"], num_prompt=2)
    <polyhead_course.figures.plots.Drawing>
    """
    steps = len(tokens) - num_prompt
    column = 4.5 / max(steps, 3)
    wide = min(column - 0.3, 1.1)
    bottom = 1.55 + 0.36 * num_prompt
    figure, axes = canvas(steps * column, bottom + 0.9)
    for step in range(steps):
        x = (step + 0.5) * column
        inputs = tokens[:num_prompt] if step == 0 else [tokens[num_prompt + step - 1]]
        axes.text(x, 0.12, text("step.prefill" if step == 0 else "step.decode"), ha="center", va="center")
        box(axes, (x, 0.5), (wide, 0.32), tokens[num_prompt + step], _OUTPUT, fontsize=9.0)
        box(axes, (x, 1.05), (wide, 0.34), text("block.model"), _MODEL, fontsize=9.0)
        arrow(axes, [(x, 0.88), (x, 0.66)], INK, 1.4)
        arrow(axes, [(x, 1.44), (x, 1.22)], INK, 1.4)
        for number, token in enumerate(inputs):
            box(axes, (x, 1.6 + 0.36 * number), (wide, 0.32), token, _INPUT, fontsize=9.0)
        if step + 1 < steps:
            between, after = (step + 1) * column, x + column - wide / 2
            arrow(axes, [(x + wide / 2, 0.5), (between, 0.5), (between, 1.6), (after, 1.6)], GREY, 1.3)
        _cache(axes, x, bottom + 0.2, num_prompt + step, len(inputs))
    for number, (face, key) in enumerate(((ORANGE, "key.computed"), (BLUE, "key.cached"))):
        y = bottom + 0.52 + 0.24 * number
        _key(axes, (0.2, y - _SIDE / 2), face)
        axes.text(0.2 + 1.6 * _SIDE, y, text(key), va="center", fontsize=9)
    return figure


def _cache(axes: Axes, x: float, y: float, count: int, new: int) -> None:
    """Draw a little square for each key, around the point."""
    for number in range(count):
        corner = x + (number - count / 2) * _SIDE, y - _SIDE / 2
        face = ORANGE if number >= count - new else BLUE
        _key(axes, corner, face)


def _key(axes: Axes, corner: Point, face: str) -> None:
    axes.add_patch(Rectangle(corner, _SIDE, _SIDE, facecolor=face, edgecolor=FIXED_INK, linewidth=0.6))


@plot
def beam_tree(start: str, levels: Sequence[Sequence[tuple[int, str, float, bool]]]) -> Figure:
    """Draw the candidates of a beam search, step by step from left to right, each with its probability.

    A level has for each candidate the number of its parent in the level before, its token, the probability of
    the whole sequence, and whether it is kept. What is dropped is grey; the path to the best candidate
    that is kept in the last level is orange.

    >>> beam_tree("<s>", [[(0, "a", 0.6, True), (0, "b", 0.4, False)], [(0, "c", 0.6, True)]])
    <polyhead_course.figures.plots.Drawing>
    """
    tallest = max(len(level) for level in levels)
    column, row = 4.5 / (len(levels) + 1), 0.46
    wide = min(column - 0.25, 0.95)
    figure, axes = canvas((len(levels) + 1) * column, tallest * row)
    places = [[tallest * row / 2]]
    box(axes, (column / 2, places[0][0]), (wide, 0.34), start, _INPUT, fontsize=9.0)
    best = _best_path(levels)
    for number, level in enumerate(levels, start=1):
        x, gap = (number + 0.5) * column, tallest * row / len(level)
        places.append([(place + 0.5) * gap for place in range(len(level))])
        for place, (parent, token, prob, kept) in enumerate(level):
            y, on_best = places[-1][place], best[number - 1] == place
            colour, width = (ORANGE, 1.7) if on_best else (INK if kept else GREY, 1.2)
            ends = (x - column + wide / 2, places[-2][parent]), (x - wide / 2, y)
            arrow(axes, ends, colour, width)
            face = _OUTPUT if on_best else _INPUT if kept else "#eeeeee"
            edge = FIXED_INK if kept else GREY
            box(axes, (x, y), (wide, 0.34), f"{token}  {round(prob, 4):.2f}", face, edge, fontsize=9.0)
    return figure


def _best_path(levels: Sequence[Sequence[tuple[int, str, float, bool]]]) -> list[int]:
    """Find the place in each level of the path to the best candidate of the last one."""
    last = levels[-1]
    path = [max(range(len(last)), key=lambda place: (last[place][3], last[place][2]))]
    for level in levels[:0:-1]:
        path.append(level[path[-1]][0])
    return path[::-1]


@plot
def decode_cost(with_cache: Sequence[int], without_cache: Sequence[int]) -> Figure:
    """Draw the multiply-adds for one more token, on a logarithmic axis, against the number of tokens.

    Both sequences begin with the first token and are equally long; all numbers are at least 1.

    >>> decode_cost([3, 4, 5], [9, 70, 700])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.0, "axis.tokens", "axis.multiply_adds")
    size = len(with_cache)
    for name, curve, colour in (("without_cache", without_cache, ORANGE), ("with_cache", with_cache, BLUE)):
        exponents = to_log10(curve, decimals=3)
        axes.plot(range(1, size + 1), exponents, color=colour)
        end_label(axes, text(f"curve.{name}"), (size, exponents[-1]), shift=5)
    low, high = math.floor(axes.get_ylim()[0]), math.ceil(axes.get_ylim()[1])
    power_ticks(axes, range(low, high + 1))
    axes.set(xlim=(0, size), ylim=(low, high))
    return figure


@plot
def cache_memory(
    lengths: Sequence[int], gibibytes: Mapping[int, Sequence[float]], weights: Positive
) -> Figure:
    """Draw the size of one text's cache against its length, one line for each number of key and value heads.

    Sizes are in GiB, by the number of heads, one for each of the lengths. The dotted line is the size of the
    model's weights.

    >>> cache_memory([100, 200], {32: [1.0, 2.0], 8: [0.25, 0.5]}, weights=1.5)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.2, "axis.tokens", "axis.cache_size")
    for (heads, sizes), colour in zip(gibibytes.items(), (ORANGE, BLUE, GREY), strict=False):
        label = text("curve.kv_heads", number=heads)
        axes.plot(lengths, to_array(sizes), color=colour, marker="o", markersize=4, label=label)
    level_line(axes, weights, "model_weights", 0.85 * max(lengths))
    axes.set(xlim=(0, max(lengths) * 1.02), ylim=(0, None))
    ticks = [length for length in lengths if length > max(lengths) / 8]  # labels that do not overlap
    axes.set_xticks(ticks, [f"{length:,}" for length in ticks])
    axes.legend(loc="upper left", fontsize=9)
    return figure
