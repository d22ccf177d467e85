"""Modern decoders: two blocks side by side, what a cache holds, and attention read in tiles."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyhead_course.figures.plots.boxes import Point, arrow, box, canvas
from polyhead_course.figures.plots.drawing import BLUE, FIXED_INK, GREY, INK, ORANGE, plot
from polyhead_course.words.language import text

_SAME, _NEW = "#c6dbef", "#fdae6b"
_ROWS = (0.72, 1.4, 1.88, 2.36, 2.84, 3.32, 4.2, 4.68)  # the middles of the boxes


@plot
def two_blocks() -> Figure:
    """Draw GPT-2's layer beside Qwen3's, read downwards; what differs in Qwen3 is orange.

    >>> two_blocks()
    <polyhead_course.figures.plots.Drawing>
    """
    attention = "softmax(QKᵀ / √dₖ) V · W_O"
    gpt2 = [text("block.embedding"), "LayerNorm", "12 Q, 12 K, 12 V", None, None, attention,
            "LayerNorm", "W₂ GELU(W₁ x)"]  # fmt: skip
    qwen3 = [text("embedding"), "RMSNorm", "16 Q, 8 K, 8 V", "RMSNorm: Q, K", text("block.rotate"),
             attention, "RMSNorm", "SwiGLU"]  # fmt: skip
    figure, axes = canvas(4.8, 5.5)
    for left, name, labels in ((0.0, "GPT-2", gpt2), (2.45, "Qwen3", qwen3)):
        x, stream = left + 1.3, left + 0.13
        axes.text(x, 0.22, name, ha="center", va="center", fontsize=12)
        arrow(axes, [(x, 0.89), (x, 1.08), (stream, 1.08), (stream, 5.45)], INK, 2.0)
        for first, plus in ((1, 3.72), (6, 5.08)):
            top = _ROWS[first] - 0.32
            axes.plot([stream, x, x], [top, top, _ROWS[first]], color=GREY, linewidth=1.5, zorder=0)
            arrow(axes, [(x, _ROWS[first]), (x, plus), (stream + 0.02, plus)], GREY, 1.5)
            axes.text(left + 0.3, plus - 0.1, "+", ha="center", va="center")
        for number, (y, label) in enumerate(zip(_ROWS, labels, strict=True)):
            if label:
                new = name == "Qwen3" and number != 5
                box(axes, (x, y), (2.0, 0.34), label, _NEW if new else _SAME)
    return figure


@plot
def cache_kinds() -> Figure:
    """Draw four query heads over the heads of keys and values that a cache holds, for four kinds.

    >>> cache_kinds()
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = canvas(4.8, 2.55)
    for number, (name, heads) in enumerate({"MHA": 4, "GQA": 2, "MQA": 1, "MLA": 4}.items()):
        left = 0.06 + 1.2 * number
        middles = [left + 0.54 + (np.arange(count) - (count - 1) / 2) * 0.28 for count in (4, heads)]
        axes.text(left + 0.54, 0.12, name, ha="center", va="center", fontsize=11)
        for query, x in enumerate(middles[0]):
            key = middles[1][query * heads // 4]
            axes.plot([x, key], [0.6, 1.2], color=GREY, linewidth=1.3, zorder=0)
            _cell(axes, (x, 0.5), "q", _SAME)
        for x in middles[1]:
            _cell(axes, (x, 1.22), "k", "none" if name == "MLA" else _NEW)
            _cell(axes, (x, 1.46), "v", "none" if name == "MLA" else _NEW)
            if name == "MLA":
                axes.plot([x, left + 0.54], [1.58, 1.85], color=GREY, linewidth=1.3, linestyle=":")
        if name == "MLA":
            box(axes, (left + 0.54, 1.95), (0.7, 0.24), "c, kᵣ", _NEW)
    for x, face, key in ((0.1, _NEW, "key.cached"), (2.1, "none", "key.rebuilt")):
        _cell(axes, (x + 0.12, 2.38), "", face)
        axes.text(x + 0.3, 2.38, text(key), va="center")
    return figure


def _cell(axes: Axes, at: Point, label: str, face: str) -> None:
    style = ":" if face == "none" else "-"
    edge = GREY if face == "none" else FIXED_INK
    corner = at[0] - 0.12, at[1] - 0.12
    axes.add_patch(Rectangle(corner, 0.24, 0.24, facecolor=face, edgecolor=edge, linestyle=style, zorder=3))
    colour = INK if face == "none" else FIXED_INK
    axes.text(*at, label, ha="center", va="center", color=colour, zorder=5)


@plot
def flash_tiles() -> Figure:
    """Draw the tiles of a score matrix, and what one query keeps from tile to tile in the chapter's example.

    >>> flash_tiles()
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = canvas(4.8, 3.3)
    for row, column in np.ndindex(3, 4):
        place = 4 * row + column
        face = ORANGE if place == 5 else BLUE if place < 5 else "none"
        corner = 0.55 + 0.42 * column, 0.45 + 0.42 * row
        axes.add_patch(Rectangle(corner, 0.38, 0.38, facecolor=face, edgecolor=GREY))
    axes.text(1.37, 0.25, text("title.keys"), ha="center", va="center")
    axes.text(0.4, 1.06, text("title.queries"), ha="center", va="center", rotation=90)
    for row, (key, face) in enumerate((("done", BLUE), ("now", ORANGE), ("next", "none"))):
        axes.add_patch(Rectangle((2.45, 0.55 + 0.4 * row), 0.22, 0.22, facecolor=face, edgecolor=GREY))
        axes.text(2.77, 0.66 + 0.4 * row, text(f"key.tile_{key}"), va="center")
    first = 0.85, "S: ln 2, ln 4\nv: 7, 0", "m = ln 4\nℓ = 1.5\no = 3.5"
    for x, tile, state in (first, (3.1, "S: ln 8\nv: 7", "m = ln 8\nℓ = 1.75\no = 8.75")):
        box(axes, (x, 2.15), (1.35, 0.5), tile, _SAME)
        arrow(axes, [(x, 2.4), (x, 2.58)], GREY, 1.5)
        box(axes, (x, 2.9), (1.35, 0.64), state, _NEW)
    arrow(axes, [(1.53, 2.9), (2.42, 2.9)], INK, 1.6)
    axes.text(1.97, 2.76, "ℓ, o × ½", ha="center", va="center")
    axes.text(3.85, 2.9, "o / ℓ = 5", va="center")
    return figure
