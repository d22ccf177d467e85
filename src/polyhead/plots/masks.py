"""Masks as small coloured squares, side by side: which token may look at which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead import _validate
from polyhead.language import text
from polyhead.plots.drawing import BLUE, GREY, drawn, labels

_CELL, _GAP, _ABOVE = 0.235, 0.14, 1.0  # inches
_NAMES = ("padding", "causal", "both")


@drawn
def masks(panels: Mapping[str, object], tokens: Sequence[str]) -> Figure:
    """Up to three masks side by side; a coloured cell is True, an empty one False.

    Args:
        panels: the masks, (num_tokens, num_tokens) and boolean, by the names "padding", "causal" and "both".
        tokens: one label a token, for the queries in the rows and the keys in the columns.

    Returns:
        The drawing.

    Raises:
        TypeError: the tokens are no strings, `panels` is no dict, or a mask no boolean tensor.
        ValueError: there is no mask, one has another name, or its shape does not fit the tokens.
    """
    names = labels("tokens", tokens)
    if not isinstance(panels, Mapping):
        raise TypeError(f"panels must be a dict of masks, got {type(panels).__name__} {panels!r}")
    if not panels or set(panels) - set(_NAMES):
        raise ValueError(f"panels must name masks out of {', '.join(_NAMES)}, got {list(panels)}")
    size = len(names)
    arrays = {}
    for name, mask in panels.items():
        checked = _validate.boolean(f"panels[{name!r}]", mask)
        if checked.shape != (size, size):
            raise ValueError(
                f"panels[{name!r}] must have shape {(size, size)}, one row and column a token, "
                f"got {_validate.shape(checked)}"
            )
        arrays[name] = checked.cpu().numpy()
    side = size * _CELL
    width, height = len(arrays) * (side + _GAP) - _GAP, side + _ABOVE
    figure = Figure(figsize=(width, height))
    for number, (name, array) in enumerate(arrays.items()):
        left = number * (side + _GAP)
        axes = figure.add_axes((left / width, 0, side / width, side / height))
        _draw(axes, array, names, with_rows=number == 0)
        axes.set_title(text(f"mask.{name}"), pad=_ABOVE * 72 - 14)
    return figure


def _draw(axes: Axes, mask: np.ndarray, names: list[str], with_rows: bool) -> None:
    for (row, column), allowed in np.ndenumerate(mask):
        face = BLUE if allowed else "none"
        axes.add_patch(
            Rectangle((column, row), 1, 1, facecolor=face, edgecolor=GREY, linewidth=0.8, clip_on=False)
        )
    axes.set(xlim=(0, len(names)), ylim=(len(names), 0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)
    places = np.arange(len(names)) + 0.5
    if with_rows:
        axes.set_yticks(places, names, fontsize=9)
    axes.xaxis.tick_top()
    axes.set_xticks(places, names, fontsize=8.5)
    for tick in axes.get_xticklabels():
        tick.set(rotation=60, ha="left", va="center", rotation_mode="anchor")
    axes.tick_params(length=0, pad=4)
