"""What modern decoders changed: scores in training, how far windows reach, the memory of caches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from polyhead_course.figures.plots.charts import chart, decimal_ticks, horizontal_bars
from polyhead_course.figures.plots.drawing import BLUE, ORANGE, inch_figure, plot, to_array, to_log10
from polyhead_course.figures.plots.grid import add_grid
from polyhead_course.words.language import text

_COLOURS = {"no_qk_norm": ORANGE, "qk_norm": BLUE}


@plot
def largest_scores(curves: Mapping[str, Sequence[float]], bound: float) -> Figure:
    """Draw the largest score of each training step on a logarithmic axis.

    The curves are "no_qk_norm" and "qk_norm"; the dotted line is the `bound` of the second.

    >>> largest_scores({"no_qk_norm": [1.5, 60.0], "qk_norm": [3.0, 3.25]}, bound=3.5)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.0, "axis.step", "axis.largest_score")
    for name, curve in curves.items():
        exponents = to_log10(to_array(curve))
        axes.plot(range(len(exponents)), exponents, color=_COLOURS[name], label=text(f"curve.{name}"))
    axes.axhline(round(math.log10(bound), 2), color=_COLOURS["qk_norm"], linestyle=":", linewidth=1.4)
    axes.set(ylim=decimal_ticks(axes), xlim=(0, None))
    axes.legend(loc="center right", fontsize=9)
    return figure


@plot
def window_reach(reaches: Sequence[Bool[Tensor, "length length"]]) -> Figure:
    """Draw which outputs depend on which inputs after one layer with a window, after two, and so on.

    Outputs are the rows, input tokens the columns. Blue is what the layers before reached already,
    orange what the last one adds.

    >>> one_layer = torch.ones(5, 5).bool().tril().triu(-1)
    >>> window_reach([one_layer, torch.ones(5, 5).bool().tril().triu(-2)])
    <polyhead_course.figures.plots.Drawing>
    """
    length, cell = len(reaches[0]), 4.4 / 34  # more than 34 columns would be too small on a phone
    figure, before = inch_figure(), torch.zeros(length, length, dtype=torch.bool)
    for number, reach in enumerate(reaches, start=1):
        faces = np.select([before.numpy(), reach.numpy()], [BLUE, ORANGE], "none")
        axes = add_grid(figure, faces, cell=cell, left=(number - 1) * (length + 1.5) * cell)
        axes.set_title(text("panel.layers", number=number), fontsize=9.5)
        before = reach
    return figure


@plot
def cache_bars(kibibytes: Mapping[str, float]) -> Figure:
    """Draw a bar for the cache of one token in each model, in KiB; the names are code, or of models.

    >>> cache_bars({"Llama 2 7B": 512.0, "Llama 3 8B": 128.0})
    <polyhead_course.figures.plots.Drawing>
    """
    sizes = to_array(list(kibibytes.values()))
    figure = Figure(figsize=(4.4, 0.5 + 0.4 * len(sizes)))
    axes = figure.subplots()
    horizontal_bars(axes, list(sizes), [f"{size:g}" for size in sizes], list(kibibytes), room=1.15)
    axes.set_title(text("axis.cache_per_token"), loc="left")
    return figure
