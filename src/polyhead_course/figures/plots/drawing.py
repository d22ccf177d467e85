"""The style, the fonts and the reproducible SVG output that all figures share."""

import functools
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias

import numpy as np
from matplotlib import font_manager, style
from matplotlib.figure import Figure
from torch import Tensor

from polyhead.checked import checked
from polyhead_course.fonts import FONTS, path_of
from polyhead_course.words.language import get_language

P = ParamSpec("P")
# A tensor, an array or a nested list of numbers; `to_array` reads any of them.
Array: TypeAlias = object
_LOCK = threading.RLock()
# The site replaces INK by the theme's text colour; FIXED_INK and FIXED_PAPER are for text on coloured cells,
# which in the dark are inverted with them.
INK, FIXED_INK, FIXED_PAPER = "#000000", "#141414", "#fdfdfd"
BLUE, ORANGE, GREY = "#3182bd", "#e6730b", "#7f7f7f"
# In points. On a phone a figure is shrunk to 376 pixels: up to 4.9 inches wide it keeps texts of 10 pixels.
TEXT_SIZE = 9.5
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "polyhead",
    "svg.fonttype": "none",
    "text.parse_math": False,  # labels are plain text: $ does not start a formula
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": TEXT_SIZE,
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
        no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.05, metadata=no_metadata)
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
    """Decorate a function that returns a figure.

    The decorated function checks its arguments, draws with the book's style and fonts, and returns a
    `Drawing`, which is SVG, where the function itself returns a `Figure`. Figures are drawn one at a time,
    since matplotlib's style is global.
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
    """Create a 1 × 1 inch figure, so that its coordinates are inches.

    The SVG also includes what lies outside it.
    """
    return Figure(figsize=(1, 1))


def to_array(values: Array, decimals: int = 4) -> np.ndarray:
    """Convert a tensor, array or nested list to floats, rounded so that every machine draws the same."""
    return np.round(_floats(values), decimals) + 0.0  # no minus before a 0


def to_log10(values: Array, decimals: int = 2) -> np.ndarray:
    """Convert positive numbers to exponents of 10, rounded to what the eye sees."""
    return to_array(np.log10(_floats(values)), decimals)


def _floats(values: Array) -> np.ndarray:
    if isinstance(values, Tensor):  # NumPy cannot read bfloat16, tensors with gradients, or tensors on a GPU
        values = values.detach().cpu().double()
    return np.asarray(values, dtype=float)
