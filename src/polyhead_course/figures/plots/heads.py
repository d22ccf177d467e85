"""Heads: where each number goes when they are split, how their outputs are joined, where they look."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size, divide_exactly
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, Array, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import HEAD_COLOURS, add_grid, matrix_colours
from polyhead_course.words.language import text

_CELL, _LINE = 0.4, 0.22  # inches


@plot
def transpose_path(X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: Size) -> Figure:
    """Draw the path of every element through `transpose_qkv`, and below it what a `view` alone would make.

    Each line shows one step: the tensor as matrices of its last two dimensions, every cell in the colour of
    the head that the element belongs to. Folding heads into the batch moves no cell: it is another name of
    the permuted tensor, and has no line of its own. There are colours for 8 heads. `X` and num_hiddens are
    the names of d2l, whose `transpose_qkv` this is.

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
        for number, (numbers, heads) in enumerate(stage.flatten(1, -3).transpose(0, 1).numpy()):
            left, faces = number * (numbers.shape[1] * _CELL + 0.3), np.array(HEAD_COLOURS)[heads.astype(int)]
            add_grid(figure, faces, cell=_CELL, left=left, top=top, cell_texts=numbers, number_format="g")
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
    for number, (name, numbers, heads) in enumerate(lines):
        top = number * (cell + 0.42)
        label = text(f"memory.{name}")
        label = f"{text('memory.head')} · {label}" if number else label
        figure.text(0, 1.06 - top, label, va="bottom")
        faces = np.array(HEAD_COLOURS)[heads.numpy()][None]
        add_grid(figure, faces, cell=cell, top=top, cell_texts=numbers.numpy()[None])
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
        axes.set_title(text(f"memory.{name}"), loc="left", pad=22)
    figure.text(num_tokens * cell + 0.1, 1.05, text("axis.token_number"), va="bottom")
    return figure


@plot
def head_writes(outputs: Sequence[Array], output_weight: Array) -> Figure:
    """Draw what each head adds to one token's result: above without W_O, below with it, and in both the sum.

    `outputs` are each head's output for the token, (head_dim,); W_O is (num_heads · head_dim, embed_dim).

    >>> head_writes([[1.0, 2.0], [3.0, 4.0]], np.eye(4))
    <polyhead_course.figures.plots.Drawing>
    """
    heads, weight = np.stack([to_array(output) for output in outputs]), to_array(output_weight)
    num_heads, head_dim = heads.shape
    blocks = (np.eye(num_heads)[:, :, None] * heads[:, None]).reshape(num_heads, -1)  # a block for each head
    rows = [text("title.head", number=number + 1) for number in range(num_heads)] + [text("row.all_heads")]
    figure = inch_figure()
    cell = 3.8 / max(weight.shape)
    for number, (name, parts) in enumerate((("without", blocks), ("with", blocks @ weight))):
        matrix = np.round(np.vstack([parts, parts.sum(axis=0)]), 4)
        faces = np.where(matrix == 0, "none", matrix_colours(matrix))  # what a head cannot reach stays empty
        columns = [str(place) if place % head_dim == 0 else "" for place in range(matrix.shape[1])]
        top = number * (len(rows) * cell + 0.6)
        axes = add_grid(figure, faces, cell=cell, top=top, rows=rows, columns=columns)
        axes.set_title(text(f"title.{name}_output_projection"), loc="left", y=1, pad=20)
        axes.axhline(num_heads, color=INK, linewidth=1.6)
    return figure


@plot
def attention_lines(weights: Array, tokens: Sequence[str], names: Sequence[str]) -> Figure:
    """Draw where heads look: lines from the queries on the left to the keys on the right.

    The darker a line, the larger the weight; weights below 0.05 have none. Lines to the first token, such as
    [CLS], are grey: heads look there that find nothing. The first and the last token have no lines as
    queries: around a sentence they are no words.

    Args:
        weights: (num_heads, num_tokens, num_tokens).
        tokens: their labels.
        names: the titles of the heads.

    >>> attention_lines(np.eye(4)[None], ["[CLS]", "a", "b", "[SEP]"], ["head 0.2"])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, height = inch_figure(), 0.21 * len(tokens)
    for number, (matrix, name) in enumerate(zip(to_array(weights), names, strict=True)):
        axes = figure.add_axes((number * 2.4, 1 - height, 0.7, height))
        axes.set(xlim=(0, 1), ylim=(len(tokens) - 0.5, -0.5))
        axes.set_axis_off()
        for (query, key), weight in np.ndenumerate(matrix):
            if weight >= 0.05 and 0 < query < len(tokens) - 1:
                colour = BLUE if key else GREY
                axes.plot([0, 1], [query, key], color=colour, alpha=float(weight), linewidth=2.2)
        for row, token in enumerate(tokens):
            axes.text(-0.05, row, token, ha="right", va="center")
            axes.text(1.05, row, token, va="center")
        axes.set_title(name, y=1, pad=6)
    return figure
