"""Tokens in boxes: paths between them, targets, generation step by step, the tree of a beam search."""

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead.checked import Size
from polyhead_course.figures.plots.boxes import Point, arrow, box, canvas
from polyhead_course.figures.plots.drawing import BLUE, FIXED_INK, GREY, INK, ORANGE, Array, plot, to_array
from polyhead_course.words.language import text

_SIDE = 0.17  # inches: a key of a cache
_INPUT, _OUTPUT, _MODEL = "#c6dbef", "#fdd0a2", "#d9d9d9"


@plot
def one_query(weights: Sequence[float], tokens: Sequence[str], query: int = -1) -> Figure:
    """Draw a token as a query: a line to each token, the wider the larger its weight, (num_tokens,).

    The query is the last token, or the one with this number; lines to the tokens after it are orange.

    >>> one_query([0.75, 0.0, 0.25], ["b", "a", "d"])
    <polyhead_course.figures.plots.Drawing>
    """
    width = 4.7
    figure, axes = canvas(width, 1.8)
    pitch = width / len(tokens)
    place = query % len(tokens)
    size, end = (0.84 * pitch, 0.34), (pitch * (place + 0.5), 1.4)
    for number, (weight, token) in enumerate(zip(weights, tokens, strict=True)):
        middle = pitch * (number + 0.5)
        if weight:
            color = ORANGE if number > place else BLUE
            axes.plot([middle, end[0]], [0.62, end[1]], color=color, linewidth=12 * weight, zorder=1)
        box(axes, (middle, 0.45), size, token, _INPUT)
        axes.text(middle, 0.12, f"{weight:.2f}", ha="center", va="center", color=INK)
    box(axes, end, size, tokens[place], _OUTPUT)
    axes.text(end[0] - 0.6 * pitch, end[1], text("query"), ha="right", va="center", color=INK)
    return figure


@plot
def crossing(weights: Array, source: Sequence[str], target: Sequence[str], numbers: bool = False) -> Figure:
    """Draw the tokens of `target` above those of `source`: a line for each weight, the wider the larger.

    The weights are (num_target, num_source). The lines of a target token are blue or orange in turn. With
    `numbers`, the weights of a source token are below it.

    >>> crossing([[0.25, 0.75], [1.0, 0.0]], source=["p", "q"], target=["q", "p"])
    <polyhead_course.figures.plots.Drawing>
    """
    width, above, below = 4.5, 0.42, 2.0
    bottom = below + 0.2 + numbers * 0.2 * len(target)
    figure, axes = canvas(width, bottom + 0.25)
    columns = max(len(source), len(target))
    pitch, middles = width / columns, {}
    for y, tokens, face in ((above, target, _OUTPUT), (below, source, _INPUT)):
        for number, token in enumerate(tokens):
            middles[y, number] = pitch * (number + (columns - len(tokens) + 1) / 2)
            box(axes, (middles[y, number], y), (0.5, 0.32), token, face)
    for y, use in ((0.1, "target_asks"), (bottom + 0.15, "source_answers")):
        axes.text(width / 2, y, text(f"use.{use}"), ha="center", va="center", color=INK)
    for (query, key), weight in np.ndenumerate(to_array(weights)):
        ends, colour = (middles[above, query], middles[below, key]), (BLUE, ORANGE)[query % 2]
        if weight > 0.01:
            axes.plot(ends, (above, below), color=colour, linewidth=9 * weight, zorder=0)
        if numbers:
            label, y = f"{target[query]}  {weight:.3f}", below + 0.3 + 0.2 * query
            axes.text(ends[1], y, label, ha="center", va="center", color=INK)
    return figure


_TOKEN_STEP, _TOKEN_SIZE = 0.93, (0.86, 0.34)  # inches: from one token to the next, and the box around one
_TARGETS_ROW, _INPUTS_ROW = 0.5, 1.35  # how far down the rows are


@plot
def shifted_tokens(tokens: Sequence[str]) -> Figure:
    """Draw the tokens but the last as inputs, and those but the first as targets above them.

    An arrow leads from each input to its target; a dotted line joins each target with the next input, which
    is the same token. At least three tokens, at most six.

    >>> shifted_tokens(["<s>", "a", "b", "</s>"])
    <polyhead_course.figures.plots.Drawing>
    """
    size = len(tokens) - 1
    figure, axes = canvas(size * _TOKEN_STEP, _INPUTS_ROW + 0.55)
    middles = [(number + 0.5) * _TOKEN_STEP for number in range(size)]
    half = _TOKEN_SIZE[1] / 2
    for x, token, target in zip(middles, tokens, tokens[1:], strict=False):
        box(axes, (x, _TARGETS_ROW), _TOKEN_SIZE, target, _OUTPUT)
        box(axes, (x, _INPUTS_ROW), _TOKEN_SIZE, token, _INPUT)
        arrow(axes, [(x, _INPUTS_ROW - half), (x, _TARGETS_ROW + half)], INK, 1.4)
    for x, after in itertools.pairwise(middles):
        ends = (x + 0.12, after - 0.12), (_TARGETS_ROW + half, _INPUTS_ROW - half)
        axes.plot(*ends, color=GREY, linewidth=1.4, linestyle=":", zorder=0)
    axes.text(0.04, _TARGETS_ROW - 0.36, text("title.targets"), va="center")
    axes.text(0.04, _INPUTS_ROW + 0.36, text("title.inputs"), va="center")
    return figure


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
        box(axes, (x, 0.5), (wide, 0.32), tokens[num_prompt + step], _OUTPUT)
        box(axes, (x, 1.05), (wide, 0.34), text("block.model"), _MODEL)
        arrow(axes, [(x, 0.88), (x, 0.66)], INK, 1.4)
        arrow(axes, [(x, 1.44), (x, 1.22)], INK, 1.4)
        for number, token in enumerate(inputs):
            box(axes, (x, 1.6 + 0.36 * number), (wide, 0.32), token, _INPUT)
        if step + 1 < steps:
            between, after = (step + 1) * column, x + column - wide / 2
            arrow(axes, [(x + wide / 2, 0.5), (between, 0.5), (between, 1.6), (after, 1.6)], GREY, 1.3)
        count = num_prompt + step
        for place in range(count):
            face = ORANGE if place >= count - len(inputs) else BLUE
            _add_key(axes, (x + (place - count / 2) * _SIDE, bottom + 0.2 - _SIDE / 2), face)
    for number, (face, key) in enumerate(((ORANGE, "key.computed"), (BLUE, "key.cached"))):
        y = bottom + 0.52 + 0.24 * number
        _add_key(axes, (0.2, y - _SIDE / 2), face)
        axes.text(0.2 + 1.6 * _SIDE, y, text(key), va="center")
    return figure


def _add_key(axes: Axes, corner: Point, face: str) -> None:
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
    box(axes, (column / 2, places[0][0]), (wide, 0.34), start, _INPUT)
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
            box(axes, (x, y), (wide, 0.34), f"{token}  {round(prob, 4):.2f}", face, edge)
    return figure


def _best_path(levels: Sequence[Sequence[tuple[int, str, float, bool]]]) -> list[int]:
    """Find the place in each level of the path to the best candidate of the last one."""
    last = levels[-1]
    path = [max(range(len(last)), key=lambda place: (last[place][3], last[place][2]))]
    for level in levels[:0:-1]:
        path.append(level[path[-1]][0])
    return path[::-1]
