"""The activation functions of feed-forward networks, and how far apart the two forms of GELU are."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.figure import Figure

from polyhead.feed_forward import ACTIVATIONS
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, drawn
from polyhead_course.words.language import text


@drawn
def activation_curves() -> Figure:
    """ReLU and GELU from -4 to 4; below, the approximation of GELU with tanh minus GELU, in thousandths."""
    places = torch.linspace(-4, 4, 161, dtype=torch.float64)
    heights = {name: ACTIVATIONS[name](places).numpy() for name in ("relu", "gelu", "gelu_tanh")}
    figure = Figure(figsize=(4.5, 4.4))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    for name, colour, line in (("relu", GREY, "-"), ("gelu", BLUE, "-"), ("gelu_tanh", ORANGE, (0, (2, 2)))):
        upper.plot(places, np.round(heights[name], 4), color=colour, linestyle=line, label=_NAMES[name])
    upper.set_title(text("activation_function"), loc="left")
    upper.legend(loc="upper left", fontsize=9)
    difference = 1000 * (heights["gelu_tanh"] - heights["gelu"])
    lower.plot(places, np.round(difference, 3) + 0.0, color=ORANGE)
    lower.axhline(0, color=GREY, linewidth=1, linestyle=":")
    lower.set_title("1000 × (GELU (tanh) − GELU)", loc="left")
    lower.set_xlabel("z")
    figure.subplots_adjust(hspace=0.3)
    return figure


_NAMES = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)"}
