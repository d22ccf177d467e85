"""What heads do: how a model works without some of them, what each one does, and where a head looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Size
from polyhead_course.figures.plots.charts import chart, level_line
from polyhead_course.figures.plots.drawing import BLUE, INK, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_grid, matrix_colours
from polyhead_course.words.language import text

_ORDERS = {"least_important": ("#31a354", "o"), "most_important": (ORANGE, "s")}


@plot
def removal_curves(
    num_off: Sequence[Count], draws: object, orders: Mapping[str, object], whole: float
) -> Figure:
    """Draw the mean reciprocal rank against the heads that are off: random ones, and by importance.

    Args:
        num_off: how many heads are off.
        draws: with as many random heads off, (num_points, num_draws); the line is the mean, the band reaches
            from the lowest to the highest draw.
        orders: "least_important" and "most_important", each (num_points,); one may be missing.
        whole: with all heads on, a dotted line.

    >>> removal_curves([3, 7], [[0.6, 0.7], [0.4, 0.6]], {"most_important": [0.5, 0.3]}, whole=0.75)
    <polyhead_course.figures.plots.Drawing>
    """
    random = to_array(draws)
    figure, axes = chart(4.5, 3.4, "axis.heads_off", "axis.reciprocal_rank")
    axes.fill_between(num_off, random.min(axis=1), random.max(axis=1), color=BLUE, alpha=0.25, linewidth=0)
    mean = to_array(random.mean(axis=1))
    axes.plot(num_off, mean, color=BLUE, marker="^", markersize=5, label=text("curve.random_heads"))
    for name, curve in orders.items():
        heights, (colour, marker) = to_array(curve), _ORDERS[name]
        axes.plot(num_off, heights, color=colour, marker=marker, markersize=5, label=text(f"curve.{name}"))
    level_line(axes, round(whole, 4), "all_heads", max(num_off))
    axes.set(xlim=(0, max(num_off) * 1.04), ylim=(0, 1), xticks=num_off)
    axes.legend(loc="lower left", fontsize=9)
    return figure


@plot
def removal_draws(panels: Mapping[int, Mapping[float, object]], num_heads: Size) -> Figure:
    """Draw how many dates translators get exactly with random heads off; a point is a draw, a line the mean.

    Args:
        panels: by the number of heads that are off, then by the dropout with which the models were trained,
            the share of exact dates, (num_seeds, num_draws). The first dropout is orange, the second blue.
        num_heads: of the whole model.

    >>> removal_draws({5: {0.0: [[0.1, 0.6]], 0.1: [[0.9, 1.0]]}}, num_heads=24)
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(4.7, 3.1))
    columns = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (number, groups) in zip(columns, panels.items(), strict=True):
        seeds: list[str] = []
        for (dropout, shares), colour in zip(groups.items(), (ORANGE, BLUE), strict=True):
            label = text("draws.dropout", probability=f"{dropout:g}")
            for seed, row in enumerate(to_array(shares)):
                _add_column(axes, len(seeds), row, colour, "" if seed else label)
                seeds.append(str(seed))
        axes.set_xticks(range(len(seeds)), seeds)
        axes.set_xlabel(text("axis.seed"))
        axes.set_title(text("panel.heads_off", number=number, total=num_heads), fontsize=9.5)
    columns[0].set(ylim=(-0.04, 1.04), ylabel=text("axis.exact_dates"))
    columns[0].legend(loc="upper left", bbox_to_anchor=(-0.1, -0.2), ncols=2, fontsize=9, handletextpad=0.2)
    figure.subplots_adjust(wspace=0.08)
    return figure


def _add_column(axes: Axes, x: int, row: np.ndarray, colour: str, label: str) -> None:
    """Add the draws of one model as points beside one another, and their mean as a line."""
    xs = x + np.linspace(-0.28, 0.28, len(row)) if len(row) > 1 else np.array([x])
    axes.scatter(xs, row, s=14, color=colour, alpha=0.75, linewidths=0, label=label or None)
    mean = round(float(row.mean()), 4)
    axes.plot([x - 0.38, x + 0.38], [mean, mean], color=INK, linewidth=1.8)


@plot
def head_maps(maps: Mapping[str, object]) -> Figure:
    """Draw a number in hundredths for each head of a model, layers down and heads across, counted from 0.

    Args:
        maps: (num_layers, num_heads) with numbers from 0 to 1, by what they are: "importance", "previous",
            "piece" or "same_word".

    >>> head_maps({"previous": [[0.25, 0.75], [0.0, 1.0]]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, cell, top = inch_figure(), 0.37, 0.0
    for name, values in maps.items():
        array = to_array(values)
        layers, heads = array.shape
        axes = add_grid(
            figure, matrix_colours(array, 1.0), cell=cell, top=top, words=100 * array, number_format=".0f",
            rows=[text("row.layer", number=layer) for layer in range(layers)],
            columns=[str(head) for head in range(heads)],
        )  # fmt: skip
        axes.set_title(text(f"map.{name}"), loc="left", y=1, pad=20)
        top += layers * cell + 0.62
    return figure


@plot
def attention_lines(weights: object, tokens: Sequence[str], names: Sequence[str]) -> Figure:
    """Draw where heads look: lines from the queries on the left to the keys on the right.

    The darker a line, the larger the weight; weights below 0.05 have none. The first and the last token
    are no words, and have no lines as queries.

    Args:
        weights: (num_heads, num_tokens, num_tokens).
        tokens: their labels.
        names: the titles of the heads.

    >>> attention_lines(np.eye(4)[None], ["[CLS]", "a", "b", "[SEP]"], ["head 0.2"])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, height = inch_figure(), 0.21 * len(tokens)
    for number, (matrix, name) in enumerate(zip(to_array(weights), names, strict=True)):
        axes = figure.add_axes((number * 2.4, 1 - height, 0.75, height))
        axes.set(xlim=(0, 1), ylim=(len(tokens) - 0.5, -0.5))
        axes.set_axis_off()
        for (query, key), weight in np.ndenumerate(matrix):
            if weight >= 0.05 and 0 < query < len(tokens) - 1:
                axes.plot([0, 1], [query, key], color=BLUE, alpha=float(weight), linewidth=2.2)
        for row, token in enumerate(tokens):
            axes.text(-0.05, row, token, ha="right", va="center", fontsize=9)
            axes.text(1.05, row, token, ha="left", va="center", fontsize=9)
        axes.set_title(name, y=1, pad=6)
    return figure
