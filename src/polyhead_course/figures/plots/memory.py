"""What a wrong `view` does: the order of memory, the tokens that each head gets, and what training shows."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size
from polyhead_course.figures.plots.charts import chart
from polyhead_course.figures.plots.drawing import BLUE, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import HEAD_COLOURS, add_grid
from polyhead_course.words.language import text


@plot
def memory_order(num_tokens: Size, num_heads: Size, head_dim: Size) -> Figure:
    """Draw the numbers of a projected tensor as they are in memory, at most 12, and the head that reads each.

    312 is token 3, head 1, feature 2, in the colour of its head. Below it is the head that gets the number:
    after a split and a transposition, then after a view of shape (num_heads, num_tokens, head_dim).

    >>> memory_order(num_tokens=3, num_heads=2, head_dim=2)
    <polyhead_course.figures.plots.Drawing>
    """
    order = torch.arange(num_tokens * num_heads * head_dim)
    token, head, feature = torch.unravel_index(order, (num_tokens, num_heads, head_dim))
    names = 100 * (token + 1) + 10 * (head + 1) + feature + 1
    viewed = order // (num_tokens * head_dim)
    figure, cell = inch_figure(), 4.5 / len(order)
    lines = (("memory", names, head), ("transposed", head + 1, head), ("viewed", viewed + 1, viewed))
    for number, (name, words, heads) in enumerate(lines):
        top = number * (cell + 0.42)
        label = text(f"memory.{name}")
        label = f"{text('memory.head')} · {label}" if number else label
        figure.text(0, 1.06 - top, label, va="bottom", fontsize=10)
        faces = np.array(HEAD_COLOURS)[heads.numpy()][None]
        add_grid(figure, faces, cell=cell, top=top, words=words.numpy()[None])
    return figure


@plot
def tokens_seen(
    transposed: Bool[Tensor, "num_heads num_tokens"], viewed: Bool[Tensor, "num_heads num_tokens"]
) -> Figure:
    """Draw which tokens each head gets, once by split and transposition, once by a view alone.

    True in row i, column t: among the numbers of head i there is one of token t.

    >>> tokens_seen(torch.ones(2, 3).bool(), torch.tensor([[True, True, False], [False, True, True]]))
    <polyhead_course.figures.plots.Drawing>
    """
    num_heads, num_tokens = transposed.shape
    figure, cell = inch_figure(), min(0.3, 3.6 / num_tokens)
    rows = [text("title.head", number=head + 1) for head in range(num_heads)]
    columns = [str(token + 1) for token in range(num_tokens)]
    colours = np.array(HEAD_COLOURS)[:num_heads, None]
    for number, (name, seen) in enumerate((("transposed", transposed), ("viewed", viewed))):
        faces = np.where(seen.cpu().numpy(), colours, "none")
        top = number * (num_heads * cell + 0.75)
        axes = add_grid(figure, faces, cell=cell, top=top, rows=rows, columns=columns)
        axes.set_title(text(f"memory.{name}"), loc="left", fontsize=10, pad=22)
    figure.text(num_tokens * cell + 0.1, 1.05, text("axis.token_number"), va="bottom", fontsize=9)
    return figure


@plot
def view_losses(transposed: object, viewed: object, every: Size = 1) -> Figure:
    """Draw the losses of two models in training, each number `every` steps after the last.

    >>> view_losses([2.5, 0.5, 0.0], [2.5, 1.5, 1.0], every=10)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.6, 3.0, "axis.step", "axis.loss")
    for name, losses, style in (("transposed", transposed, (BLUE, "o")), ("viewed", viewed, (ORANGE, "s"))):
        curve, (colour, marker) = to_array(losses).round(2), style
        steps = every * np.arange(1, len(curve) + 1)
        axes.plot(steps, curve, color=colour, marker=marker, markersize=4, label=text(f"memory.{name}"))
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(loc="best", fontsize=9)
    return figure
