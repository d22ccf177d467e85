"""What heads do: how a model works without some of them, what each one does, and where a head looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, blank, drawn, fitting, numbers
from polyhead_course.figures.plots.grid import paint, shades
from polyhead_course.words.language import text

_ORDERS = {"least_important": ("#31a354", "o"), "most_important": (ORANGE, "s")}


@drawn
def removal_curves(
    num_off: Sequence[Count], draws: object, orders: Mapping[str, object], whole: float
) -> Figure:
    """Mean reciprocal rank against the heads that are off: random ones, and those chosen by importance.

    Args:
        num_off: how many heads are off.
        draws: with as many random heads off, (num_points, num_draws); the line is the mean, the band reaches
            from the lowest to the highest draw.
        orders: "least_important" and "most_important", each (num_points,); one may be missing.
        whole: with all heads on, a dotted line.
    """
    random = numbers("draws", draws, len(num_off), None, lowest=0.0, highest=1.0)
    if not orders.keys() <= _ORDERS.keys():
        raise ValueError(f"orders must be some of {', '.join(_ORDERS)}, got {list(orders)}")
    figure = Figure(figsize=(4.5, 3.4))
    axes = figure.subplots()
    axes.fill_between(num_off, random.min(axis=1), random.max(axis=1), color=BLUE, alpha=0.25, linewidth=0)
    mean = np.round(random.mean(axis=1), 4)
    axes.plot(num_off, mean, color=BLUE, marker="^", markersize=5, label=text("curve.random_heads"))
    for name, curve in orders.items():
        heights = numbers(f"orders[{name!r}]", curve, len(num_off), lowest=0.0, highest=1.0)
        colour, marker = _ORDERS[name]
        axes.plot(num_off, heights, color=colour, marker=marker, markersize=5, label=text(f"curve.{name}"))
    axes.axhline(round(whole, 4), color=GREY, linestyle=":", linewidth=1.4)
    axes.annotate(
        text("line.all_heads"), (max(num_off), round(whole, 4)), ha="right", va="bottom",
        xytext=(0, 2), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    axes.set(xlim=(0, max(num_off) * 1.04), ylim=(0, 1), xticks=num_off)
    axes.set_xlabel(text("axis.heads_off"))
    axes.set_title(text("axis.reciprocal_rank"), loc="left")
    axes.legend(loc="lower left", fontsize=9)
    return figure


@drawn
def removal_draws(panels: Mapping[int, Mapping[float, object]], num_heads: Size) -> Figure:
    """How many dates translators get exactly with random heads off; a point is a draw, a line the mean.

    Args:
        panels: by the number of heads that are off, then by the dropout with which the models were trained,
            the share of exact dates, (num_seeds, num_draws). The first dropout is orange, the second blue.
        num_heads: of the whole model.
    """
    if not panels or any(len(groups) != 2 for groups in panels.values()):
        raise ValueError(
            f"panels must hold two dropouts each, got {[list(each) for each in panels.values()]}"
        )
    figure = Figure(figsize=(4.7, 3.1))
    several = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (number, groups) in zip(several, panels.items(), strict=True):
        seeds: list[str] = []
        for (dropout, values), colour in zip(groups.items(), (ORANGE, BLUE), strict=True):
            shares = numbers(f"panels[{number}][{dropout}]", values, None, None, lowest=0.0, highest=1.0)
            label = text("draws.dropout", probability=f"{dropout:g}")
            for seed, row in enumerate(shares):
                _column(axes, len(seeds), row, colour, "" if seed else label)
                seeds.append(str(seed))
        axes.set_xticks(range(len(seeds)), seeds)
        axes.set_xlabel(text("axis.seed"))
        axes.set_title(text("panel.heads_off", number=number, total=num_heads), fontsize=9.5)
    several[0].set(ylim=(-0.04, 1.04), ylabel=text("axis.exact_dates"))
    several[0].legend(loc="upper left", bbox_to_anchor=(-0.1, -0.2), ncols=2, fontsize=9, handletextpad=0.2)
    figure.subplots_adjust(wspace=0.08)
    return figure


def _column(axes: Axes, place: int, row: np.ndarray, colour: str, label: str) -> None:
    """The draws of one model as points beside one another, and their mean as a line."""
    sides = place + np.linspace(-0.28, 0.28, len(row)) if len(row) > 1 else np.array([place])
    axes.scatter(sides, row, s=14, color=colour, alpha=0.75, linewidths=0, label=label or None)
    mean = round(float(row.mean()), 4)
    axes.plot([place - 0.38, place + 0.38], [mean, mean], color=INK, linewidth=1.8)


@drawn
def head_maps(maps: Mapping[str, object]) -> Figure:
    """A number in hundredths for each head of a model, layers down and heads across, counted from 0.

    Args:
        maps: (num_layers, num_heads) with numbers from 0 to 1, by what they are: "importance", "previous",
            "piece" or "same_word".
    """
    if not maps:
        raise ValueError("maps must hold one map or more, got none")
    figure, cell, top = blank(), 0.37, 0.0
    for name, values in maps.items():
        array = numbers(f"maps[{name!r}]", values, None, None, lowest=0.0, highest=1.0)
        layers, heads = array.shape
        words = np.vectorize(lambda number: f"{100 * number:.0f}")(array)
        axes = paint(
            figure, shades(array, 1.0), cell=cell, top=top, words=words,
            rows=[text("row.layer", number=layer) for layer in range(layers)],
            columns=[str(head) for head in range(heads)],
        )  # fmt: skip
        axes.set_title(text(f"map.{name}"), loc="left", y=1, pad=20)
        top += layers * cell + 0.62
    return figure


@drawn
def attention_lines(weights: object, tokens: Sequence[str], names: Sequence[str]) -> Figure:
    """Where heads look: lines from the queries on the left to the keys on the right.

    The darker a line, the larger the weight; weights below 0.05 have none. The first and the last token
    stand for no word, and ask for nothing here.

    Args:
        weights: (num_heads, num_tokens, num_tokens).
        tokens: their labels.
        names: the titles of the heads.
    """
    array = numbers("weights", weights, None, len(tokens), len(tokens), lowest=0.0, highest=1.0)
    fitting("names", names, len(array))
    figure, height = blank(), 0.21 * len(tokens)
    for number, matrix in enumerate(array):
        axes = figure.add_axes((number * 2.4, 1 - height, 0.75, height))
        axes.set(xlim=(0, 1), ylim=(len(tokens) - 0.5, -0.5))
        axes.set_axis_off()
        for (query, key), weight in np.ndenumerate(matrix):
            if weight >= 0.05 and 0 < query < len(tokens) - 1:
                axes.plot([0, 1], [query, key], color=BLUE, alpha=float(weight), linewidth=2.2)
        for place, token in enumerate(tokens):
            axes.text(-0.05, place, token, ha="right", va="center", fontsize=9)
            axes.text(1.05, place, token, ha="left", va="center", fontsize=9)
        axes.set_title(names[number], y=1, pad=6)
    return figure
