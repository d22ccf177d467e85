"""What modern decoders changed: scores in training, how far windows reach, the memory of caches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from polyhead_course.figures.plots.drawing import BLUE, ORANGE, blank, drawn, numbers
from polyhead_course.figures.plots.grid import paint
from polyhead_course.words.language import text

_SCORES = {"no_qk_norm": ORANGE, "qk_norm": BLUE}
_WIDEST = 34  # cells beside each other: more would be too small on a phone


@drawn
def largest_scores(curves: Mapping[str, Sequence[float]], bound: float) -> Figure:
    """The largest score of each step of a training, on a logarithmic axis.

    The curves are "no_qk_norm" and "qk_norm"; the dotted line is the `bound` of the second.
    """
    if not curves or set(curves) - set(_SCORES):
        raise ValueError(f"curves must name some of {', '.join(_SCORES)}, got {list(curves)}")
    figure = Figure(figsize=(4.5, 3.0))
    axes = figure.subplots()
    for name, curve in curves.items():
        heights = numbers(f"curves[{name!r}]", curve, None, lowest=1e-3)
        # Two digits of the exponent: what the eye sees, and the same on every machine.
        places = np.round(np.log10(heights), 2) + 0.0
        axes.plot(range(len(heights)), places, color=_SCORES[name], label=text(f"curve.{name}"))
    axes.axhline(round(math.log10(bound), 2), color=_SCORES["qk_norm"], linestyle=":", linewidth=1.4)
    low, high = (int(edge(limit)) for edge, limit in zip((np.floor, np.ceil), axes.get_ylim(), strict=True))
    axes.set_yticks(range(low, high + 1), [f"{10.0**power:g}" for power in range(low, high + 1)])
    axes.set(xlim=(0, None), ylim=(low, high))
    axes.set_xlabel(text("axis.step"))
    axes.set_title(text("axis.largest_score"), loc="left")
    axes.legend(loc="center right", fontsize=9)
    return figure


@drawn
def window_reach(reaches: Sequence[Bool[Tensor, "length length"]]) -> Figure:
    """Who depends on whom after one layer with a window, after two, and so on, in panels side by side.

    Outputs stand in the rows, input tokens in the columns. Blue is what the layers before reached already,
    orange what the last one adds.
    """
    length = len(reaches[0]) if reaches else 0
    if not 0 < len(reaches) * length <= _WIDEST:
        raise ValueError(f"reaches must have 1 to {_WIDEST} columns in all, got {len(reaches) * length}")
    cell = 4.4 / _WIDEST
    figure, before = blank(), torch.zeros(length, length, dtype=torch.bool)
    for number, reach in enumerate(reaches, start=1):
        if reach.shape != before.shape or (before & ~reach).any():
            raise ValueError(f"reaches[{number - 1}] must hold all that is reached before, and be as large")
        faces = np.select([before.numpy(), reach.numpy()], [BLUE, ORANGE], "none")
        axes = paint(figure, faces, cell=cell, left=(number - 1) * (length + 1.5) * cell)
        axes.set_title(text("panel.layers", number=number), fontsize=9.5)
        before = reach
    return figure


@drawn
def cache_bars(kibibytes: Mapping[str, float]) -> Figure:
    """A bar for the cache of one token in each model, in KiB; the names are code, or of models."""
    sizes = numbers("kibibytes", list(kibibytes.values()), None, lowest=0.0)
    figure = Figure(figsize=(4.4, 0.5 + 0.4 * len(sizes)))
    axes = figure.subplots()
    for place, size in enumerate(sizes):
        axes.barh(place, size, height=0.62, color=BLUE)
        axes.text(size + 0.02 * sizes.max(), place, f"{size:g}", va="center", fontsize=9.5)
    axes.set_yticks(range(len(sizes)), list(kibibytes))
    axes.set(ylim=(len(sizes) - 0.5, -0.5), xlim=(0, 1.15 * sizes.max()), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(left=False)
    axes.set_title(text("axis.cache_per_token"), loc="left")
    return figure
