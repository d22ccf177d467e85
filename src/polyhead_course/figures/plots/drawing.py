"""What every figure shares: its style, its fonts, and an SVG that is the same on every machine."""

from __future__ import annotations

import functools
import io
import math
import reprlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
import torch
from matplotlib import font_manager, style
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import checked
from polyhead_course.fonts import FONTS, path_of
from polyhead_course.words.language import get_language

P = ParamSpec("P")

# The site turns matplotlib's black and white into the theme's colours; the fixed ones are for coloured cells.
INK, FIXED_INK, FIXED_PAPER = "#000000", "#141414", "#fdfdfd"
BLUE, ORANGE, GREY = "#3182bd", "#e6730b", "#7f7f7f"

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "polyhead",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a label is a text, and a dollar in it a dollar
    "font.sans-serif": ["DejaVu Sans"],
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "legend.frameon": False,
    "lines.linewidth": 2.0,
}


class Drawing:
    """A figure as SVG; notebooks show it, `save` writes it to a file."""

    @checked
    def __init__(self, figure: Figure) -> None:
        """Render the figure, without dates or version numbers."""
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.05, metadata=nothing)
        text = buffer.getvalue()
        self.svg = text[text.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        """The same on every machine, since notebooks store it."""
        return "<polyhead_course.figures.plots.Drawing>"

    def save(self, path: str | Path) -> None:
        """Write the SVG file; the path should end in .svg."""
        Path(path).write_text(self.svg, encoding="utf-8")


def drawn(function: Callable[P, Figure]) -> Callable[P, Drawing]:
    """Make a function that builds a figure `checked`, and draw it in the book's style and language."""
    build = checked(function)

    @functools.wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        with style.context(["default", {**_STYLE, "font.family": _families(get_language())}]):
            return Drawing(build(*args, **kwargs))

    return draw


@functools.cache
def _families(language: str) -> list[str]:
    """DejaVu, which matplotlib brings, then the package's own CJK fonts, the reader's language first."""
    order = sorted(FONTS, key=lambda code: code != language)
    for code in order:
        font_manager.fontManager.addfont(path_of(code))
    return ["DejaVu Sans", *(FONTS[code][1] for code in order), "sans-serif"]


def blank() -> Figure:
    """A figure of one inch, so that its units are inches; what is drawn beyond its edges is not lost."""
    return Figure(figsize=(1, 1))


def numbers(
    name: str, values: object, *sizes: int | None, lowest: float = -math.inf, highest: float = math.inf
) -> np.ndarray:
    """`finite` numbers, rounded so that no low digit of one machine reaches the picture."""
    array = np.round(finite(name, values, *sizes), 4) + 0.0  # no minus before a 0
    outside = array[(array < lowest) | (array > highest)]
    if outside.size:
        raise ValueError(f"{name} must lie between {lowest} and {highest}, got {outside[0]}")
    return array


def finite(name: str, values: object, *sizes: int | None) -> np.ndarray:
    """A tensor, array or nested list as an array of floats; a size of None may be any but 0."""
    try:
        plain = values
        if isinstance(values, Tensor):  # NumPy knows no bfloat16, and nothing of gradients or other devices
            plain = values.detach().cpu().to(torch.promote_types(values.dtype, torch.float64))
        array = np.asarray(plain)
    except (TypeError, ValueError, RuntimeError):  # ragged, sparse, or without data
        raise ValueError(f"{name} must hold numbers, got {reprlib.repr(values)}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got {reprlib.repr(values)}")
    fits = all(size in (None, actual) for size, actual in zip(sizes, array.shape, strict=False))
    if not fits or array.ndim != len(sizes) or not array.size:
        shape = ", ".join("any" if size is None else str(size) for size in sizes)
        raise ValueError(f"{name} must have shape ({shape}) and hold a number, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, got {array[~np.isfinite(array)][0]}")
    return array.astype(float)


def fitting(name: str, labels: Sequence[str], size: int) -> None:
    """Refuse labels that are not one each; a figure without any cell is none."""
    if not labels or len(labels) != size:
        raise ValueError(
            f"{name} must be {size or 'some'} labels, one each, got {len(labels)}: {list(labels)}"
        )
