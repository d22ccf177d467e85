"""What every figure shares: its style, its fonts, and an SVG that is the same on every machine."""

from __future__ import annotations

import functools
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
from matplotlib import font_manager, style
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import checked
from polyhead_course.fonts import FONTS, path_of
from polyhead_course.words.language import get_language

P = ParamSpec("P")
_LOCK = threading.RLock()

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
    """A figure as SVG; notebooks show it, `save` writes it to a file.

    >>> drawing = Drawing(Figure())
    >>> drawing
    <polyhead_course.figures.plots.Drawing>
    >>> drawing.svg[:4]
    '<svg'
    """

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
        """Write the SVG file; the path should end in .svg.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Drawing(Figure()).save(Path(folder) / "empty.svg")
        """
        Path(path).write_text(self.svg, encoding="utf-8")


def plot(function: Callable[P, Figure]) -> Callable[P, Drawing]:
    """Make a function that builds a figure `checked`, and give its `Drawing`, in the book's style and fonts.

    Figures are drawn one at a time, since their style is matplotlib's global state meanwhile.
    """
    build = checked(function)

    @functools.wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Drawing:
        with _LOCK, style.context(["default", {**_STYLE, "font.family": _families(get_language())}]):
            return Drawing(build(*args, **kwargs))

    return draw


@functools.cache
def _families(language: str) -> list[str]:
    """DejaVu, which matplotlib brings, then the package's own CJK fonts, the reader's language first."""
    order = sorted(FONTS, key=lambda code: code != language)
    for code in order:
        font_manager.fontManager.addfont(path_of(code))
    return ["DejaVu Sans", *(FONTS[code][1] for code in order), "sans-serif"]


def inch_figure() -> Figure:
    """Create a figure of one inch, whose units are inches; the SVG also has what is beyond its edges."""
    return Figure(figsize=(1, 1))


def to_array(values: object, decimals: int = 4) -> np.ndarray:
    """Convert a tensor, array or nested list to floats, rounded so that every machine draws the same."""
    return np.round(_floats(values), decimals) + 0.0  # no minus before a 0


def to_log10(values: object, decimals: int = 2) -> np.ndarray:
    """Convert positive numbers to exponents of 10, rounded to what the eye sees."""
    return to_array(np.log10(_floats(values)), decimals)


def _floats(values: object) -> np.ndarray:
    if isinstance(values, Tensor):  # NumPy has no bfloat16, and reads no gradients or other devices
        values = values.detach().cpu().double()
    return np.asarray(values, dtype=float)
