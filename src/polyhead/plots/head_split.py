"""Where each number goes when heads are split: every element of a real tensor, coloured by its head."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size, divided
from polyhead.language import text
from polyhead.plots.drawing import blank, drawn, numbers
from polyhead.plots.grid import paint

_CELL = 0.4  # inches
_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fbb4c4", "#d9d9a0", "#c7b299", "#cccccc")


@drawn
def transpose_path(X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: Size) -> Figure:
    """The path of every element through `transpose_qkv`, and below it what a `view` alone would make.

    Each line shows one step: the tensor as matrices of its last two dimensions, every cell in the colour of
    the head that the element belongs to. There are colours for 8 heads.
    """
    head_dim = divided("num_hiddens", X.shape[2], "num_heads", num_heads)
    if num_heads > len(_COLOURS):
        raise ValueError(f"num_heads must be at most {len(_COLOURS)}, one for each colour, got {num_heads}")
    elements = torch.as_tensor(numbers("X", X, None, None, None))
    owners = torch.arange(num_heads).repeat_interleave(head_dim).expand(X.shape)
    figure = blank()
    top = 0.0
    for name, stage in _stages(torch.stack([elements, owners]), num_heads).items():
        figure.text(0, 1.1 - top, f"{text(f'stage.{name}')}  {tuple(stage.shape[1:])}", va="bottom")
        for number, (block, heads) in enumerate(stage.flatten(1, -3).transpose(0, 1).numpy()):
            left = number * (block.shape[1] * _CELL + 0.3)
            words = np.vectorize(lambda element: f"{round(element, 2):g}")(block)
            paint(figure, np.array(_COLOURS)[heads.astype(int)], cell=_CELL, left=left, top=top, words=words)
        top += stage.shape[-2] * _CELL + 0.46
    return figure


def _stages(x: Tensor, num_heads: int) -> dict[str, Tensor]:
    """(2, batch, num_tokens, num_hiddens), the elements and whose they are, after each step."""
    split = x.reshape(*x.shape[:3], num_heads, -1)
    return {
        "input": x,
        "split": split,
        "permute": split.transpose(2, 3),
        "flatten": split.transpose(2, 3).flatten(1, 2),
        "wrong_view": x.reshape(*x.shape[:2], num_heads, x.shape[2], -1),
    }
