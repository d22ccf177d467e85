"""The three uses of attention in a Transformer, as masks side by side: who may ask whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from polyhead import _validate
from polyhead.language import text
from polyhead.masks import causal_mask
from polyhead.plots.drawing import BLUE, GREY, drawn, labels

_CELL, _GAP = 0.22, 0.62  # inches; the gap holds the labels of the rows
_ABOVE, _BELOW, _LEFT = 0.85, 0.3, 0.5


class _Use(NamedTuple):
    name: str
    mask: Tensor
    rows: list[str]
    columns: list[str]
    asks: str
    answers: str
    mask_name: str


@drawn
def three_uses(
    encoder: object, decoder: object, cross: object, source: Sequence[str], target: Sequence[str]
) -> Figure:
    """Encoder self-attention, masked decoder self-attention and cross-attention; a coloured cell is True.

    Args:
        encoder: the encoder's mask, (source_length, source_length), boolean, True = may attend; it hides
            padding: every row is the same.
        decoder: the decoder's, (target_length, target_length); it hides at least what comes later.
        cross: the cross-attention's, (target_length, source_length); it hides padding.
        source: one short label, best a single letter, for each token that the encoder reads.
        target: the same for each token that the decoder is given.

    Returns:
        The drawing.

    Raises:
        TypeError: the labels are no strings, or a mask no boolean tensor.
        ValueError: a mask does not fit the labels, or is not of the kind that this use has.
    """
    sources, targets = labels("source", source), labels("target", target)
    masks = {
        "encoder": _checked("encoder", encoder, (len(sources), len(sources))),
        "decoder": _checked("decoder", decoder, (len(targets), len(targets))),
        "cross": _checked("cross", cross, (len(targets), len(sources))),
    }
    for name in ("encoder", "cross"):
        if not (masks[name] == masks[name][:1]).all():
            raise ValueError(f"{name} must hide the same keys in every row, got rows that differ")
    causal = causal_mask(len(targets))
    if (masks["decoder"] & ~causal).any():
        raise ValueError("decoder must hide every later key, got one that may be seen")
    kind = "causal" if torch.equal(masks["decoder"], causal) else "both"
    return _figure(
        [
            _Use("encoder", masks["encoder"], sources, sources, "source", "source", "padding"),
            _Use("decoder", masks["decoder"], targets, targets, "target", "target", kind),
            _Use("cross", masks["cross"], targets, sources, "target", "source", "padding"),
        ]
    )


def _checked(name: str, mask: object, expected: tuple[int, int]) -> Tensor:
    checked = _validate.boolean(name, mask)
    if checked.shape != expected or 0 in expected:
        raise ValueError(
            f"{name} must have shape {expected}, one row and column a label, got {_validate.shape(checked)}"
        )
    return checked.cpu()


def _figure(uses: list[_Use]) -> Figure:
    width = _LEFT + sum(len(use.columns) * _CELL for use in uses) + (len(uses) - 1) * _GAP
    tallest = max(len(use.rows) for use in uses) * _CELL
    height = _ABOVE + tallest + _BELOW
    figure = Figure(figsize=(width, height))
    left = _LEFT
    for use in uses:
        across, down = len(use.columns) * _CELL, len(use.rows) * _CELL
        bottom = _BELOW + tallest - down
        axes = figure.add_axes((left / width, bottom / height, across / width, down / height))
        _draw(axes, use)
        middle = (left + across / 2) / width
        # A figure's text keeps its place whatever the size of its axes: the lines of all panels are level.
        figure.text(middle, 1.0, text(f"use.{use.name}"), ha="center", va="top")
        answers = text(f"use.{use.answers}_answers")
        figure.text(middle, (height - _ABOVE + 0.25) / height, answers, ha="center", fontsize=8.5)
        mask = text("use.mask", name=text(f"mask.{use.mask_name}"))
        figure.text(middle, 0.05 / height, mask, ha="center", fontsize=8.5)
        left += across + _GAP
    return figure


def _draw(axes: Axes, use: _Use) -> None:
    for (row, column), allowed in np.ndenumerate(use.mask.numpy()):
        face = BLUE if allowed else "none"
        axes.add_patch(
            Rectangle((column, row), 1, 1, facecolor=face, edgecolor=GREY, linewidth=0.8, clip_on=False)
        )
    axes.set(xlim=(0, len(use.columns)), ylim=(len(use.rows), 0))
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(use.columns)) + 0.5, use.columns, fontsize=9)
    axes.set_yticks(np.arange(len(use.rows)) + 0.5, use.rows, fontsize=9)
    axes.tick_params(length=0, pad=3)
    axes.set_ylabel(text(f"use.{use.asks}_asks"), fontsize=8.5, labelpad=2)
