"""The activation functions of feed-forward networks, and how far apart the two forms of GELU are."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure

from polyhead.feed_forward import ACTIVATIONS
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, plot, to_array
from polyhead_course.words.language import text


@plot
def activation_curves() -> Figure:
    """Draw ReLU and GELU from -4 to 4; below, 1000 × (GELU approximated with tanh - GELU).

    >>> activation_curves()
    <polyhead_course.figures.plots.Drawing>
    """
    z = torch.linspace(-4, 4, 161, dtype=torch.float64)
    relu, gelu, gelu_tanh = (ACTIVATIONS[name](z) for name in ("relu", "gelu", "gelu_tanh"))
    figure = Figure(figsize=(4.5, 4.4))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    upper.plot(z, to_array(relu), color=GREY, label="ReLU")
    upper.plot(z, to_array(gelu), color=BLUE, label="GELU")
    upper.plot(z, to_array(gelu_tanh), color=ORANGE, linestyle=(0, (2, 2)), label="GELU (tanh)")
    upper.set_title(text("activation_function"), loc="left")
    upper.legend(loc="upper left", fontsize=9)
    lower.plot(z, to_array(1000 * (gelu_tanh - gelu), decimals=3), color=ORANGE)
    lower.axhline(0, color=GREY, linewidth=1, linestyle=":")
    lower.set_title("1000 × (GELU (tanh) − GELU)", loc="left")
    lower.set_xlabel("z")
    figure.subplots_adjust(hspace=0.3)
    return figure
