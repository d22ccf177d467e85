"""What every figure shares: its style, its fonts, and an SVG that is the same on every machine."""

from __future__ import annotations

import functools
import io
import reprlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.fonts import subset
from polyhead.language import get_language

P = ParamSpec("P")

# The site turns INK and PAPER into the theme's colours; FIXED_INK stands on coloured cells and stays.
INK, PAPER, FIXED_INK, FIXED_PAPER = "#000000", "#ffffff", "#141414", "#fdfdfd"
BLUE, ORANGE, GREY = "#3182bd", "#e6730b", "#7f7f7f"

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "polyhead",
    "svg.fonttype": "none",
    "font.size": 10.0,
    "font.sans-serif": ["DejaVu Sans"],
    "axes.titlesize": 10.0,
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
}


class Drawing:
    """A figure as SVG; notebooks show it, `save` writes it to a file."""

    def __init__(self, figure: Figure) -> None:
        """Render the figure, without dates or version numbers.

        Raises:
            TypeError: it is no matplotlib figure.
        """
        if not isinstance(figure, Figure):
            raise TypeError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.05, metadata=nothing)
        text = buffer.getvalue()
        self.svg = text[text.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        """The same on every machine, since notebooks store it."""
        return "<polyhead.plots.Drawing>"

    def save(self, path: str | Path) -> None:
        """Write the SVG file.

        Args:
            path: where to; the file ending should be .svg.
        """
        Path(path).write_text(self.svg, encoding="utf-8")


def drawn(function: Callable[P, Figure]) -> Callable[P, Drawing]:
    """Make a function that builds a figure return it drawn in the book's style and the reader's language."""

    @functools.wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        style: dict[Any, Any] = {**_STYLE, "font.family": _families(get_language())}
        with matplotlib.rc_context(style):
            return Drawing(function(*args, **kwargs))

    return draw


@functools.cache
def _families(language: str) -> list[str]:
    """DejaVu, which matplotlib brings, then the package's own CJK fonts, the reader's language first."""
    order = sorted(subset.FONTS, key=lambda code: code != language)
    for code in order:
        font_manager.fontManager.addfont(subset.path_of(code))
    return ["DejaVu Sans", *(subset.FONTS[code][1] for code in order), "sans-serif"]


def numbers(name: str, values: object, rank: int) -> np.ndarray:
    """Return `values` as an array of floats, rounded so that no low digit of one machine reaches the picture.

    Args:
        name: what to call it in an error.
        values: a tensor, array or nested list.
        rank: how many dimensions it must have.

    Raises:
        ValueError: it has another rank, or holds something that is no finite number.
    """
    try:
        array = np.asarray(_plain(values) if isinstance(values, Tensor) else values)
    except (TypeError, ValueError, RuntimeError):  # ragged, sparse, or without data
        raise ValueError(f"{name} must hold numbers, got {reprlib.repr(values)}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got {reprlib.repr(values)}")
    if array.ndim != rank:
        raise ValueError(f"{name} must have {rank} dimensions, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one number, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, got {array[~np.isfinite(array)][0]}")
    return np.round(array.astype(float), 4) + 0.0


def _plain(tensor: Tensor) -> Tensor:
    """NumPy knows no bfloat16, and nothing of gradients or other devices."""
    local = tensor.detach().cpu()
    return local.double() if local.is_floating_point() else local


def labels(name: str, values: object) -> list[str]:
    """Return `values` as a list of strings.

    Raises:
        TypeError: it is none, a single string included.
    """
    if isinstance(values, str) or not isinstance(values, Collection):
        raise TypeError(
            f"{name} must be a sequence of strings, got {type(values).__name__} {reprlib.repr(values)}"
        )
    wrong = [value for value in values if not isinstance(value, str)]
    if wrong:
        raise TypeError(f"{name} must be a sequence of strings, got {reprlib.repr(wrong[0])} in it")
    return list(values)
