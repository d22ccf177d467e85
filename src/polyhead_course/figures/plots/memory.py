"""What a wrong `view` does: the order of memory, the tokens that each head gets, and what training shows."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, ORANGE, blank, drawn, numbers
from polyhead_course.figures.plots.grid import paint
from polyhead_course.figures.plots.head_split import COLOURS, coloured
from polyhead_course.words.language import text

_MOST = 12  # cells in a line: more would be too small for their numbers on a phone
_STYLES = {"transposed": (BLUE, "o"), "viewed": (ORANGE, "s")}


@drawn
def memory_order(num_tokens: Size, num_heads: Size, head_dim: Size) -> Figure:
    """The numbers of a projected tensor as they lie in memory, and the head that reads each.

    312 is token 3, head 1, feature 2, in the colour of its head. Below it is the head that gets the number:
    after a split and a transposition, then after a view of shape (num_heads, num_tokens, head_dim).
    """
    coloured(num_heads)
    if num_tokens * num_heads * head_dim > _MOST:
        raise ValueError(
            f"num_tokens, num_heads and head_dim must give at most {_MOST} numbers, got "
            f"{num_tokens} · {num_heads} · {head_dim}"
        )
    order = torch.arange(num_tokens * num_heads * head_dim)
    places = torch.unravel_index(order, (num_tokens, num_heads, head_dim))
    names = sum(100 // 10**digit * (place + 1) for digit, place in enumerate(places))
    viewed = order // (num_tokens * head_dim)
    figure, cell = blank(), 4.5 / len(order)
    lines = (
        ("memory", names, places[1]),
        ("transposed", places[1] + 1, places[1]),
        ("viewed", viewed + 1, viewed),
    )
    for number, (name, words, heads) in enumerate(lines):
        top = number * (cell + 0.42)
        label = text(f"memory.{name}")
        label = f"{text('memory.head')} · {label}" if number else label
        figure.text(0, 1.06 - top, label, va="bottom", fontsize=10)
        faces = np.array(COLOURS)[heads.numpy()][None]
        paint(figure, faces, cell=cell, top=top, words=words.numpy()[None])
    return figure


@drawn
def tokens_seen(
    transposed: Bool[Tensor, "num_heads num_tokens"], viewed: Bool[Tensor, "num_heads num_tokens"]
) -> Figure:
    """Which tokens each head gets, once by split and transposition, once by a view alone.

    True in row i, column t: among the numbers of head i there is one of token t.
    """
    num_heads, num_tokens = transposed.shape
    coloured(num_heads)
    if not transposed.numel():
        raise ValueError(f"transposed must have a head and a token, got {tuple(transposed.shape)}")
    figure, cell = blank(), min(0.3, 3.6 / num_tokens)
    rows = [text("title.head", number=head + 1) for head in range(num_heads)]
    columns = [str(token + 1) for token in range(num_tokens)]
    own = np.array(COLOURS)[:num_heads, None]
    for number, (name, seen) in enumerate((("transposed", transposed), ("viewed", viewed))):
        faces = np.where(seen.cpu().numpy(), own, "none")
        top = number * (num_heads * cell + 0.75)
        axes = paint(figure, faces, cell=cell, top=top, rows=rows, columns=columns)
        axes.set_title(text(f"memory.{name}"), loc="left", fontsize=10, pad=22)
    figure.text(num_tokens * cell + 0.1, 1.05, text("axis.token_number"), va="bottom", fontsize=9)
    return figure


@drawn
def view_losses(transposed: object, viewed: object, every: Size = 1) -> Figure:
    """The loss of two models in training, each number `every` steps after the last.

    Both are sequences of numbers of at least 0, equally long.
    """
    first = numbers("transposed", transposed, None, lowest=0.0)
    curves = {"transposed": first, "viewed": numbers("viewed", viewed, len(first), lowest=0.0)}
    figure = Figure(figsize=(4.6, 3.0))
    axes = figure.subplots()
    for name, curve in curves.items():
        colour, marker = _STYLES[name]
        steps = every * np.arange(1, len(curve) + 1)
        label = text(f"memory.{name}")
        axes.plot(steps, np.round(curve, 2), color=colour, marker=marker, markersize=4, label=label)
    axes.set(xlim=(0, None), ylim=(0, None), xlabel=text("axis.step"))
    axes.set_title(text("axis.loss"), loc="left")
    axes.legend(loc="best", fontsize=9)
    return figure
