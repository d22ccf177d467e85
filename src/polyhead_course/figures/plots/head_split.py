"""Where each number goes when heads are split: every element of a real tensor, coloured by its head."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size, divide_exactly
from polyhead_course.figures.plots.drawing import FIXED_PAPER, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import HEAD_COLOURS, add_grid
from polyhead_course.words.language import text

_CELL, _LINE = 0.4, 0.22  # inches


@plot
def joined_projections(num_tokens: Size, embed_dim: Size, num_heads: Size) -> Figure:
    """Draw X [W_Q W_K W_V] = [Q K V] as a product of grids, each column in the colour of its head.

    X is to the left of the result and the three matrices are above it, so that a column of a matrix is
    over the column that it makes.

    >>> joined_projections(num_tokens=3, embed_dim=4, num_heads=2)
    <polyhead_course.figures.plots.Drawing>
    """
    head_dim = divide_exactly("embed_dim", embed_dim, "num_heads", num_heads)
    colours = np.array(HEAD_COLOURS)[:num_heads]
    columns = colours.repeat(head_dim)
    cell, gap = 3.5 / (4 * embed_dim), 0.3
    figure, height = inch_figure(), embed_dim * cell
    X = np.full((num_tokens, embed_dim), FIXED_PAPER)
    add_grid(figure, X, cell=cell, top=height + gap).set_xlabel("X")
    names = [text("title.head", number=head + 1) for head in range(num_heads)]
    keys = add_grid(figure, colours[:, None], cell=max(cell, 0.2))
    keys.yaxis.tick_right()
    keys.set_yticks(np.arange(num_heads) + 0.5, names, fontsize=9)
    keys.tick_params(length=0)
    for number, name in enumerate("QKV"):
        left = (number + 1) * (height + gap)
        axes = add_grid(figure, np.tile(columns, (embed_dim, 1)), cell=cell, left=left)
        axes.set_title(f"W_{name}")
        axes = add_grid(figure, np.tile(columns, (num_tokens, 1)), cell=cell, left=left, top=height + gap)
        axes.set_xlabel(name)
    return figure


@plot
def transpose_path(X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: Size) -> Figure:
    """Draw the path of every element through `transpose_qkv`, and below it what a `view` alone would make.

    Each line shows one step: the tensor as matrices of its last two dimensions, every cell in the colour of
    the head that the element belongs to. Folding heads into the batch moves no cell: it is another name of
    the permuted tensor, and has no line of its own. There are colours for 8 heads.

    >>> transpose_path(torch.arange(12.0).reshape(1, 3, 4), num_heads=2)
    <polyhead_course.figures.plots.Drawing>
    """
    head_dim = divide_exactly("num_hiddens", X.shape[2], "num_heads", num_heads)
    elements = torch.as_tensor(to_array(X).round(2))
    owners = torch.arange(num_heads).repeat_interleave(head_dim).expand(X.shape)
    figure, top = inch_figure(), 0.0
    for names, stage in _stages(torch.stack([elements, owners]), num_heads):
        for name, shape in names:
            figure.text(0, 1.1 - top, f"{text(f'stage.{name}')}  {shape}", va="bottom")
            top += _LINE
        top -= _LINE
        for number, (words, heads) in enumerate(stage.flatten(1, -3).transpose(0, 1).numpy()):
            left, faces = number * (words.shape[1] * _CELL + 0.3), np.array(HEAD_COLOURS)[heads.astype(int)]
            add_grid(figure, faces, cell=_CELL, left=left, top=top, words=words, number_format="g")
        top += stage.shape[-2] * _CELL + 0.46
    return figure


def _stages(x: Tensor, num_heads: int) -> Iterator[tuple[list[tuple[str, tuple[int, ...]]], Tensor]]:
    """Yield the elements and their heads after each step, (2, batch, …), with the names of the step."""
    split = x.reshape(*x.shape[:3], num_heads, -1)
    permuted, wrong = split.transpose(2, 3), x.reshape(*x.shape[:2], num_heads, x.shape[2], -1)
    folded = permuted.flatten(1, 2)
    yield [("input", tuple(x.shape[1:]))], x
    yield [("split", tuple(split.shape[1:]))], split
    yield [("permute", tuple(permuted.shape[1:])), ("flatten", tuple(folded.shape[1:]))], permuted
    yield [("wrong_view", tuple(wrong.shape[1:]))], wrong
