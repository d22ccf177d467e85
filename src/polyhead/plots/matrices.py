"""Matrices as coloured tables of numbers: heat maps, and the five steps of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead import _validate
from polyhead.language import text
from polyhead.plots.drawing import FIXED_INK, FIXED_PAPER, drawn, labels, numbers

_CELL = 0.46  # inches: a phone shrinks a figure of 4.8 inches to three quarters, and digits stay legible
_GAP = 0.45


@drawn
def heatmap(
    matrix: object,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    decimals: int = 2,
    highest: float | None = None,
) -> Figure:
    """A matrix with its numbers, one coloured cell an entry.

    Args:
        matrix: (num_rows, num_columns), a tensor or nested list.
        rows: one label a row.
        columns: one label a column; `rows` if not given.
        title: stands above it.
        decimals: digits after the point.
        highest: the number of the darkest colour; the largest entry's size if not given.

    Returns:
        The drawing.

    Raises:
        TypeError: the title or the labels are no strings, or `decimals` or `highest` no number.
        ValueError: the labels do not fit the matrix, or it holds something that is no finite number.
    """
    names = labels("rows", rows)
    if highest is not None:
        _validate.positive("highest", highest)
    across = labels("columns", columns) if columns else names
    return _grid([[_Panel(title, numbers("matrix", matrix, 2), names, across, decimals, highest)]])


@drawn
def five_steps(
    *,
    embeddings: object,
    queries: object,
    keys: object,
    values: object,
    dot_products: object,
    scores: object,
    weights: object,
    output: object,
    tokens: Sequence[str],
) -> Figure:
    """The whole of attention on one page: every matrix from the embeddings to the output.

    Args:
        embeddings: (num_tokens, embed_dim).
        queries: (num_tokens, head_dim).
        keys: (num_tokens, head_dim).
        values: (num_tokens, value_dim).
        dot_products: (num_tokens, num_tokens), before the scaling.
        scores: (num_tokens, num_tokens), after it.
        weights: (num_tokens, num_tokens), after the softmax.
        output: (num_tokens, value_dim).
        tokens: one label a token.

    Returns:
        The drawing.

    Raises:
        TypeError: the tokens are no strings.
        ValueError: a matrix does not have one row a token, or holds something that is no finite number.
    """
    names = labels("tokens", tokens)

    def panel(
        step: str, name: str, matrix: object, decimals: int = 0, highest: float | None = None
    ) -> _Panel:
        titles = [text(f"step.{step}")] if step else []
        titles += [text(f"title.{name}")] if name else []
        array = numbers(name or "dot_products", matrix, 2)
        return _Panel(" → ".join(titles), array, names, [], decimals, highest)

    return _grid(
        [
            [panel("", "embeddings", embeddings), panel("project", "queries", queries)],
            [panel("project", "keys", keys), panel("project", "values", values)],
            [panel("dot", "", dot_products), panel("scale", "scores", scores, 1)],
            [panel("softmax", "weights", weights, 2, 1.0), panel("weighted_sum", "output", output, 2)],
        ]
    )


@dataclass(frozen=True)
class _Panel:
    """One matrix of a figure.

    Attributes:
        title: stands above it.
        matrix: (num_rows, num_columns).
        rows: one label a row, shown beside the first panel of a line.
        columns: one label a column, or none.
        decimals: digits after the point.
        highest: the number of the darkest colour; the largest entry's size if None.
    """

    title: str
    matrix: np.ndarray
    rows: list[str]
    columns: list[str]
    decimals: int
    highest: float | None = None


def _grid(lines: Sequence[Sequence[_Panel]]) -> Figure:
    """Panels in lines, every cell of every matrix of the same size."""
    panels = [panel for line in lines for panel in line]
    for panel in panels:
        if not isinstance(panel.title, str):
            raise TypeError(f"title must be a string, got {type(panel.title).__name__} {panel.title!r}")
        _validate.at_least("decimals", panel.decimals, 0)
        _check_labels("rows", panel.rows, panel.matrix.shape[0])
        if panel.columns:
            _check_labels("columns", panel.columns, panel.matrix.shape[1])
    above = 0.62 if any(panel.columns for panel in panels) else 0.42
    heights = [max(panel.matrix.shape[0] for panel in line) * _CELL for line in lines]
    width = max(sum(_width(panel) for panel in line) + (len(line) - 1) * _GAP for line in lines)
    height = sum(heights) + above * len(lines)
    figure = Figure(figsize=(width, height))
    top = height
    for line, line_height in zip(lines, heights, strict=True):
        top -= above
        left = 0.0
        for number, panel in enumerate(line):
            size = panel.matrix.shape[1] * _CELL, panel.matrix.shape[0] * _CELL
            axes = figure.add_axes(
                (left / width, (top - size[1]) / height, size[0] / width, size[1] / height)
            )
            _draw(axes, panel, with_rows=number == 0)
            left += _width(panel) + _GAP
        top -= line_height
    return figure


def _width(panel: _Panel) -> float:
    # At least four cells, so that the next title does not run into this one's.
    return float(max(panel.matrix.shape[1], 4)) * _CELL


def _draw(axes: Axes, panel: _Panel, with_rows: bool) -> None:
    matrix = panel.matrix
    scale = panel.highest or float(np.abs(matrix).max(initial=0.0)) or 1.0
    signed = bool((matrix < 0).any())
    colours: Colormap = colormaps["PuOr_r" if signed else "Blues"]
    norm = Normalize(-1.6 * scale if signed else 0.0, 1.6 * scale if signed else 1.25 * scale)
    for (row, column), number in np.ndenumerate(matrix):
        face = colours(norm(number))
        dark = 0.299 * face[0] + 0.587 * face[1] + 0.114 * face[2] < 0.55
        cell = Rectangle((column, row), 1, 1, facecolor=to_hex(face), edgecolor=FIXED_PAPER, clip_on=False)
        axes.add_patch(cell)
        ink = FIXED_PAPER if dark else FIXED_INK
        label = f"{number:z.{panel.decimals}f}"
        axes.text(column + 0.5, row + 0.5, label, ha="center", va="center", color=ink, fontsize=9.5)
    axes.set(xlim=(0, matrix.shape[1]), ylim=(matrix.shape[0], 0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    if with_rows:
        axes.set_yticks(np.arange(len(panel.rows)) + 0.5, panel.rows)
    if panel.columns:
        axes.xaxis.tick_top()
        long = max(len(name.encode("utf-8")) for name in panel.columns) > 9
        axes.set_xticks(np.arange(len(panel.columns)) + 0.5, panel.columns)
        for tick in axes.get_xticklabels():
            tick.set(rotation=30 if long else 0, ha="left" if long else "center", rotation_mode="anchor")
    axes.tick_params(length=0, pad=4)
    axes.set_title(panel.title, loc="left", pad=24 if panel.columns else 5)


def _check_labels(name: str, labels: Sequence[str], expected: int) -> None:
    if len(labels) != expected:
        raise ValueError(f"{name} must be {expected} labels, one each, got {len(labels)}: {list(labels)}")
