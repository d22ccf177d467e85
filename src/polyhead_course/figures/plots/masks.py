"""Masks as small coloured squares: which token may look at which, in which use, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, blank, drawn, fitting, numbers
from polyhead_course.figures.plots.grid import paint
from polyhead_course.words.language import text


@drawn
def masks(panels: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Up to three masks side by side; a coloured cell is True, an empty one False.

    They are boolean, (num_tokens, num_tokens), by the names "padding", "causal" and "both". Queries stand in
    the rows, keys in the columns. A row that sees no key has an orange frame.
    """
    if not panels or set(panels) - {"padding", "causal", "both"}:
        raise ValueError(f"panels must name masks out of padding, causal and both, got {list(panels)}")
    size = len(tokens)
    fitting("tokens", tokens, size)
    cell = 0.235
    figure = blank()
    for number, (name, mask) in enumerate(panels.items()):
        kind = getattr(mask, "dtype", type(mask))
        if kind != torch.bool:
            raise TypeError(f"panels[{name!r}] must be a boolean tensor, got {kind}")
        faces = np.where(numbers(f"panels[{name!r}]", mask, size, size), BLUE, "none")
        left, rows = number * (size * cell + 0.14), () if number else tokens
        axes = paint(figure, faces, cell=cell, left=left, rows=rows, columns=tokens, turn=60)
        for row in (faces == "none").all(axis=1).nonzero()[0]:
            across, down = (0, size, size, 0, 0), (row, row, row + 1, row + 1, row)
            axes.plot(across, down, color=ORANGE, linewidth=1.6, clip_on=False)
        axes.set_title(text(f"mask.{name}"), y=1, pad=62)
    return figure


@drawn
def three_uses(
    encoder: Bool[Tensor, "source_length source_length"],
    decoder: Bool[Tensor, "target_length target_length"],
    cross: Bool[Tensor, "target_length source_length"],
    source: Sequence[str],
    target: Sequence[str],
) -> Figure:
    """Encoder self-attention, masked decoder self-attention and cross-attention; a coloured cell is True.

    Queries stand in the rows, keys in the columns. The encoder's mask and the cross-attention's hide padding:
    every row is the same; the decoder's hides at least what comes later. `source` and `target` are one short
    label, best a single letter, for each token that the encoder reads and the decoder is given.
    """
    fitting("source", source, cross.shape[1])
    fitting("target", target, cross.shape[0])
    for name, mask in (("encoder", encoder), ("cross", cross)):
        if (mask != mask[:1]).any():
            raise ValueError(f"{name} must hide the same keys in every row, got rows that differ")
    causal = torch.ones_like(decoder).tril()
    if (decoder & ~causal).any():
        raise ValueError("decoder must hide every later key, got one that may be seen")
    kind = "causal" if torch.equal(decoder, causal) else "both"
    labels = {"source": source, "target": target}
    cell = 0.22
    bottom = max(len(source), len(target)) * cell
    figure = blank()
    left = 0.0
    for use, mask, asks, answers, hides in (
        ("encoder", encoder, "source", "source", "padding"),
        ("decoder", decoder, "target", "target", kind),
        ("cross", cross, "target", "source", "padding"),
    ):
        faces, columns = np.where(mask.cpu(), BLUE, "none"), labels[answers]
        axes = paint(figure, faces, cell=cell, left=left, rows=labels[asks], columns=columns)
        axes.set_ylabel(text(f"use.{asks}_asks"), fontsize=8.5, labelpad=2)
        # A figure's text keeps its place whatever the size of its axes: the lines of all panels are level.
        middle = left + len(columns) * cell / 2
        figure.text(middle, 1.85, text(f"use.{use}"), ha="center", va="top")
        figure.text(middle, 1.25, text(f"use.{answers}_answers"), ha="center", fontsize=8.5)
        hidden = text("use.mask", name=text(f"mask.{hides}"))
        figure.text(middle, 0.75 - bottom, hidden, ha="center", fontsize=8.5)
        left += len(columns) * cell + 0.62  # the gap holds the labels of the rows
    return figure


@drawn
def cache_triangle(tokens: Sequence[str], num_prompt: Size = 1) -> Figure:
    """The causal triangle by the age of its keys: computed in the same step, or taken from the cache.

    Queries stand in the rows, keys in the columns. The first `num_prompt` of the tokens, at most 12, are one
    step, and each that is generated is one.
    """
    size = len(tokens)
    if not num_prompt <= size <= 12:
        raise ValueError(f"tokens must be num_prompt = {num_prompt} to 12 labels, got {size}")
    row, column = np.indices((size, size))
    faces = np.select([column > row, (column == row) | (row < num_prompt)], ["none", ORANGE], BLUE)
    figure = blank()
    axes = paint(figure, faces, cell=0.34, rows=tokens, columns=tokens, turn=50)
    keys = {text("key.computed"): ORANGE, text("key.cached"): BLUE}
    handles = [Patch(facecolor=face, edgecolor=GREY, linewidth=0.8, label=key) for key, face in keys.items()]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -0.07), borderpad=0, borderaxespad=0,
                handlelength=1.2, handleheight=1.2, fontsize=9.5)  # fmt: skip
    return figure
