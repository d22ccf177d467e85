"""Where each number goes when heads are split: every element of a real tensor, coloured by its head."""

from __future__ import annotations

from collections.abc import Callable

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from polyhead import _validate
from polyhead.language import text
from polyhead.plots.drawing import FIXED_INK, FIXED_PAPER, drawn, numbers

_CELL, _GAP, _ABOVE = 0.4, 0.3, 0.46  # inches
_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fbb4c4", "#d9d9a0", "#c7b299", "#cccccc")


@drawn
def transpose_path(X: object, num_heads: int) -> Figure:
    """The path of every element through `transpose_qkv`, and below it what a `view` alone would make.

    Each line shows one step: the tensor as matrices of its last two dimensions, every cell in the colour of
    the head that the element belongs to.

    Args:
        X: (batch, num_tokens, num_hiddens), a floating tensor.
        num_heads: how many heads, at most 8; must divide num_hiddens.

    Returns:
        The drawing.

    Raises:
        TypeError: X is not a floating tensor, or `num_heads` no int.
        ValueError: X has not three dimensions, the heads do not divide the last, or there are more than 8.
    """
    tensor = _validate.floating("X", X)
    _validate.rank("X", tensor, 3)
    numbers("X", tensor, 3)
    batch, num_tokens, num_hiddens = tensor.shape
    head_dim = _validate.head_dim(num_hiddens, num_heads, "num_hiddens")
    if num_heads > len(_COLOURS):
        raise ValueError(f"num_heads must be at most {len(_COLOURS)}, one for each colour, got {num_heads}")
    owners = torch.arange(num_heads).repeat_interleave(head_dim).expand(tensor.shape)
    steps: list[tuple[str, Callable[[Tensor], Tensor]]] = [
        ("input", lambda x: x),
        ("split", lambda x: x.reshape(batch, num_tokens, num_heads, head_dim)),
        ("permute", lambda x: x.reshape(batch, num_tokens, num_heads, head_dim).permute(0, 2, 1, 3)),
        (
            "flatten",
            lambda x: x.reshape(batch, num_tokens, num_heads, head_dim).permute(0, 2, 1, 3).flatten(0, 1),
        ),
        ("wrong_view", lambda x: x.reshape(batch, num_heads, num_tokens, head_dim)),
    ]
    return _lines([(text(f"stage.{name}"), step(tensor), step(owners)) for name, step in steps])


def _lines(stages: list[tuple[str, Tensor, Tensor]]) -> Figure:
    blocks = [
        (title, tuple(values.shape), values.flatten(0, -3), owners.flatten(0, -3))
        for title, values, owners in stages
    ]
    width = max(len(v) * v.shape[2] * _CELL + (len(v) - 1) * _GAP for _, _, v, _ in blocks)
    width = max(width, 3.4)  # room for the titles
    height = sum(v.shape[1] * _CELL + _ABOVE for _, _, v, _ in blocks)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    top = 0.0
    for title, shape, values, owners in blocks:
        axes.text(0, top + _ABOVE - 0.1, f"{title}  {shape}", va="bottom")
        top += _ABOVE
        for number in range(len(values)):
            left = number * (values.shape[2] * _CELL + _GAP)
            _block(axes, left, top, values[number], owners[number])
        top += values.shape[1] * _CELL
    return figure


def _block(axes: Axes, left: float, top: float, values: Tensor, owners: Tensor) -> None:
    for row, (line, line_owners) in enumerate(zip(values.tolist(), owners.tolist(), strict=True)):
        for column, (number, owner) in enumerate(zip(line, line_owners, strict=True)):
            x, y = left + column * _CELL, top + row * _CELL
            axes.add_patch(
                Rectangle(
                    (x, y), _CELL, _CELL, facecolor=_COLOURS[owner], edgecolor=FIXED_PAPER, clip_on=False
                )
            )
            axes.text(
                x + _CELL / 2, y + _CELL / 2, f"{round(number, 2):g}",
                ha="center", va="center", color=FIXED_INK, fontsize=9.5,
            )  # fmt: skip
