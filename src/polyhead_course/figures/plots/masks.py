"""Masks as small coloured squares: which query sees which key, in which use, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, ORANGE, inch_figure, plot
from polyhead_course.figures.plots.grid import add_colour_key, add_grid
from polyhead_course.words.language import text


@plot
def masks(panels: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Draw up to three masks side by side; a coloured cell is True, an empty one False.

    They are boolean, (num_tokens, num_tokens), by the names "padding", "causal" and "both". Queries are the
    rows, keys the columns. A row that sees no key has an orange frame.

    >>> masks({"causal": torch.ones(3, 3).bool().tril()}, ["a", "b", "c"])
    <polyhead_course.figures.plots.Drawing>
    """
    size, cell = len(tokens), 0.235
    figure = inch_figure()
    for number, (name, mask) in enumerate(panels.items()):
        faces = np.where(mask.cpu(), BLUE, "none")
        left, rows = number * (size * cell + 0.14), () if number else tokens
        axes = add_grid(figure, faces, cell=cell, left=left, rows=rows, columns=tokens, turn=60)
        for row in (faces == "none").all(axis=1).nonzero()[0]:
            across, down = (0, size, size, 0, 0), (row, row, row + 1, row + 1, row)
            axes.plot(across, down, color=ORANGE, linewidth=1.6, clip_on=False)
        axes.set_title(text(f"mask.{name}"), y=1, pad=62)
    return figure


@plot
def three_uses(
    encoder: Bool[Tensor, "source_length source_length"],
    decoder: Bool[Tensor, "target_length target_length"],
    cross: Bool[Tensor, "target_length source_length"],
    source: Sequence[str],
    target: Sequence[str],
) -> Figure:
    """Draw the masks of the three uses of attention in a Transformer; a coloured cell is True.

    Queries are the rows, keys the columns. The encoder's mask and the cross-attention's hide padding:
    every row is the same; the decoder's hides at least what comes later. `source` and `target` are one short
    label, best a single letter, for each token that the encoder and the decoder read.

    >>> seen, causal = torch.ones(2, 2).bool(), torch.ones(2, 2).bool().tril()
    >>> three_uses(seen, causal, seen, source=["p", "q"], target=[">", "q"])
    <polyhead_course.figures.plots.Drawing>
    """
    causal = torch.ones_like(decoder).tril()
    kind = "causal" if torch.equal(decoder, causal) else "both"
    labels = {"source": source, "target": target}
    cell = 0.22
    bottom = max(len(source), len(target)) * cell
    figure = inch_figure()
    left = 0.0
    for use, mask, queries, keys, hides in (
        ("encoder", encoder, "source", "source", "padding"),
        ("decoder", decoder, "target", "target", kind),
        ("cross", cross, "target", "source", "padding"),
    ):
        faces, columns = np.where(mask.cpu(), BLUE, "none"), labels[keys]
        axes = add_grid(figure, faces, cell=cell, left=left, rows=labels[queries], columns=columns)
        axes.set_ylabel(text(f"use.{queries}_asks"), fontsize=8.5, labelpad=2)
        # A figure's text keeps its place whatever the size of its axes: the lines of all panels are level.
        middle = left + len(columns) * cell / 2
        figure.text(middle, 1.85, text(f"use.{use}"), ha="center", va="top")
        figure.text(middle, 1.25, text(f"use.{keys}_answers"), ha="center", fontsize=8.5)
        hidden = text("use.mask", name=text(f"mask.{hides}"))
        figure.text(middle, 0.75 - bottom, hidden, ha="center", fontsize=8.5)
        left += len(columns) * cell + 0.62  # the gap holds the labels of the rows
    return figure


@plot
def cache_triangle(tokens: Sequence[str], num_prompt: Size = 1) -> Figure:
    """Draw the causal triangle by the age of its keys: computed in the same step, or taken from the cache.

    Queries are the rows, keys the columns. The first `num_prompt` of the tokens, at most 12, are one
    step, and each that is generated is one.

    >>> cache_triangle(["a", "b", "c"], num_prompt=2)
    <polyhead_course.figures.plots.Drawing>
    """
    size = len(tokens)
    row, column = np.indices((size, size))
    faces = np.select([column > row, (column == row) | (row < num_prompt)], ["none", ORANGE], BLUE)
    figure = inch_figure()
    axes = add_grid(figure, faces, cell=0.34, rows=tokens, columns=tokens, turn=50)
    keys = {text("key.computed"): ORANGE, text("key.cached"): BLUE}
    add_colour_key(axes, keys, below=0.07)
    return figure
