"""Layers as boxes and arrows: how heads are joined, the residual path with its sublayers, the whole model."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from polyhead.checked import Size
from polyhead_course.figures.plots.boxes import Point, arrow, box, canvas
from polyhead_course.figures.plots.drawing import FIXED_INK, FIXED_PAPER, GREY, INK, ORANGE, plot
from polyhead_course.figures.plots.grid import add_cells
from polyhead_course.figures.plots.scripts import subscript, superscript
from polyhead_course.words.language import text

_COLUMN, _HALF, _TOP = 2.35, 1.95, 0.5  # inches: one layer's width, one sublayer's height, room for titles
_STREAM, _BRANCH = 0.42, 1.5  # where the straight path runs, and the boxes beside it
_FILLS = {"self_attention": "#c6dbef", "feed_forward": "#fdd0a2", "norm": "#d9d9d9"}


@plot
def layer_sublayers() -> Figure:
    """Draw an encoder layer, read downwards along its residual path, with post-norm and with pre-norm.

    >>> layer_sublayers()
    <polyhead_course.figures.plots.Drawing>
    """
    height = _TOP + 2 * _HALF + 0.35
    figure, axes = canvas(2 * _COLUMN, height)
    for number, name in enumerate(("post_norm", "pre_norm")):
        left = number * _COLUMN
        axes.text(left + 0.05, 0.12, text(f"title.{name}"), va="center")
        arrow(axes, [(left + _STREAM, 0.3), (left + _STREAM, height)], INK, 2.2)
        for half, sublayer in enumerate(("self_attention", "feed_forward")):
            _sublayer(axes, left, _TOP + half * _HALF, sublayer, norm_first=name == "pre_norm")
    return figure


def _sublayer(axes: Axes, left: float, top: float, name: str, norm_first: bool) -> None:
    stream, branch = left + _STREAM, left + _BRANCH
    plus = top + (1.55 if norm_first else 1.05)
    arrow(axes, [(stream, top), (branch, top), (branch, plus), (stream + 0.13, plus)], GREY, 1.5)
    if norm_first:
        _box(axes, branch, top + 0.4, 0.9, "norm")
        _box(axes, branch, top + 1.05, 1.4, name)
    else:
        _box(axes, branch, top + 0.52, 1.4, name)
        _box(axes, stream, top + 1.5, 0.8, "norm")
    axes.add_patch(Circle((stream, plus), 0.13, facecolor=FIXED_PAPER, edgecolor=FIXED_INK, zorder=4))
    axes.text(stream, plus, "+", ha="center", va="center", color=FIXED_INK, zorder=5)


def _box(axes: Axes, x: float, y: float, width: float, name: str) -> None:
    box(axes, (x, y), (width, 0.36), text(f"block.{name}"), _FILLS[name])


# The updates, two a layer: shades of the box that each comes from.
_STRANDS = ("#3182bd", "#e6730b", "#6baed6", "#fd8d3c")
_BUNDLE_TOP, _SUBLAYER_STEP, _GAP, _LEFT, _BOX = 0.42, 0.92, 0.11, 0.45, 2.35  # inches


@plot
def residual_stream() -> Figure:
    """Draw the stream of two layers, read downwards: u₁, u₂, … are what the sublayers add to x.

    >>> residual_stream()
    <polyhead_course.figures.plots.Drawing>
    """
    count = len(_STRANDS)
    bottom = _BUNDLE_TOP + count * _SUBLAYER_STEP + 0.3
    figure, axes = canvas(4.5, bottom + 0.3)
    _strand(axes, 0, 0.3, bottom, INK)
    axes.text(_LEFT, 0.12, "x", ha="center", va="center")
    for number in range(count):
        _reading_sublayer(axes, number, bottom)
    for layer in range(count // 2):
        top, end = (_BUNDLE_TOP + (2 * layer + part) * _SUBLAYER_STEP for part in (0.1, 1.85))
        axes.plot([3.3, 3.38, 3.38, 3.3], [top, top, end, end], color=GREY, linewidth=1.2)
        label = text("layer.number", number=layer + 1)
        axes.text(3.5, (top + end) / 2, label, va="center")
    total = " + ".join(["x", *(f"u{subscript(number + 1)}" for number in range(count))])
    axes.text(0.2, bottom + 0.17, total, va="center")
    return figure


def _reading_sublayer(axes: Axes, number: int, bottom: float) -> None:
    """Draw a box that reads all strands above it, and the strand that begins where it writes."""
    name, colour = ("self_attention", "feed_forward")[number % 2], _STRANDS[number]
    top = _BUNDLE_TOP + number * _SUBLAYER_STEP
    reads, middle, writes = top + 0.1, top + 0.4, top + 0.7
    x = _LEFT + (number + 1) * _GAP
    arrow(axes, [(_LEFT, reads), (_BOX, reads), (_BOX, middle - 0.17)], GREY, 1.5)
    strands = [_LEFT + place * _GAP for place in range(number + 1)]
    axes.plot(strands, [reads] * len(strands), "o", color=GREY, markersize=4.5, zorder=4)
    axes.plot([_BOX, _BOX, x], [middle, writes, writes], color=colour, linewidth=2.6, zorder=1)
    _strand(axes, number + 1, writes, bottom, colour)
    box(axes, (_BOX, middle), (1.5, 0.34), text(f"block.{name}"), _FILLS[name])
    label = f"u{subscript(number + 1)}"
    axes.text((x + _BOX) / 2, writes + 0.02, label, ha="center", va="top")


def _strand(axes: Axes, place: int, top: float, bottom: float, colour: str) -> None:
    x = _LEFT + place * _GAP
    arrow(axes, [(x, top), (x, bottom)], colour, 2.6)


_FACES = ("#9ecae1", "#fdae6b", "#a1d99b", "#c5b5e3")  # one for each of at most four heads
_PLAIN = "#d9d9d9"
_WIDE = 2.05  # inches: two matrices of this width and a sign between them fit on a phone


@plot
def concat_blocks(num_tokens: Size, num_heads: Size, head_dim: Size) -> Figure:
    """Draw X, the heads that read all of it, their outputs side by side, and W_O in one block of rows a head.

    There are colours for 4 heads.

    >>> concat_blocks(num_tokens=3, num_heads=2, head_dim=2)
    <polyhead_course.figures.plots.Drawing>
    """
    embed_dim = num_heads * head_dim
    side, faces = _WIDE / embed_dim, _FACES[:num_heads]
    height, part = num_tokens * side, head_dim * side
    right, input_y, heads_y, concat_y = _WIDE + 0.4, 0.36, 1.22, 1.72
    output_y = max(_WIDE + 0.36, concat_y + height) + 0.46
    figure, axes = canvas(2 * _WIDE + 0.4, output_y + height + 0.36)
    _add_matrix(axes, (0.0, input_y), (num_tokens, embed_dim), side, [_PLAIN])
    _add_note(axes, (0.0, 0.18), f"X  {num_tokens} × {embed_dim}", left=True)
    for number, face in zip(range(1, num_heads + 1), faces, strict=True):
        middle = (number - 0.5) * part
        arrow(axes, [(_WIDE / 2, input_y + height), (middle, heads_y - 0.16)], GREY, 1.2)
        arrow(axes, [(middle, heads_y + 0.16), (middle, concat_y)], GREY, 1.2)
        label = text("title.head", number=number)
        box(axes, (middle, heads_y), (part - 0.02, 0.32), label, face)
        _add_note(axes, (middle, concat_y + height + 0.16), f"O⁽{superscript(number)}⁾", size=11.5)
        block = right + 0.5 * _WIDE, input_y + middle
        axes.text(*block, f"W_O⁽{superscript(number)}⁾", ha="center", va="center", color=FIXED_INK,
                  fontsize=12.5, zorder=5)  # fmt: skip
    _add_matrix(axes, (0.0, concat_y), (num_tokens, embed_dim), side, faces)
    _add_note(axes, (0.0, concat_y + height + 0.38), text("title.concatenated"), left=True)
    _add_note(axes, (_WIDE + 0.2, concat_y + height / 2), "×", size=14.0)
    _add_matrix(axes, (right, input_y), (embed_dim, embed_dim), side, faces, stacked=True)
    _add_note(axes, (right, 0.18), f"W_O  {embed_dim} × {embed_dim}", left=True)
    _add_matrix(axes, (right, output_y), (num_tokens, embed_dim), side, [_PLAIN])
    _add_note(axes, (_WIDE + 0.2, output_y + height / 2), "=", size=14.0)
    label = f"{text('title.output')}  {num_tokens} × {embed_dim}"
    _add_note(axes, (right, output_y + height + 0.16), label, left=True)
    return figure


def _add_matrix(
    axes: Axes, at: Point, shape: tuple[int, int], side: float, faces: Sequence[str], *, stacked: bool = False
) -> None:
    """Add a matrix from its upper left corner: equal blocks of columns, or of rows if stacked, as cells."""
    rows, columns = shape
    blocks = np.repeat(faces, (rows if stacked else columns) // len(faces))
    cells = np.broadcast_to(blocks[:, None] if stacked else blocks, shape)
    add_cells(axes, cells, at, side, edgecolor=FIXED_PAPER, linewidth=0.5, zorder=2)


def _add_note(axes: Axes, at: Point, words: str, size: float = 9.5, *, left: bool = False) -> None:
    axes.text(*at, words, ha="left" if left else "center", va="center", color=INK, fontsize=size)


_COLOURS = {
    "embedding": "#e5f5e0", "self_attention": "#c6dbef", "masked_self_attention": "#c6dbef",
    "cross_attention": "#fdae6b", "feed_forward": "#dadaeb", "add_norm": "#d9d9d9", "tied_output": "#e5f5e0",
    "softmax": "#d9d9d9",
}  # fmt: skip
_ENCODER, _DECODER, _GUTTER = 1.12, 3.62, 2.37  # where the two columns run, and the way between them
_WIDTH, _HEIGHT = 1.78, 0.33  # of a box, in inches
_FIRST, _STEP = 1.45, 0.98  # the first sublayer's middle, and from one to the next
_NORM = 0.46  # from a sublayer's middle to its norm's


@plot
def whole_transformer(source: Sequence[str], given: Sequence[str], predicted: Sequence[str]) -> Figure:
    """Draw encoder and decoder with every sublayer, read downwards; cross-attention joins them.

    The encoder reads the tokens of `source`; the decoder reads those of `given` and predicts those of
    `predicted`, one for each.

    >>> whole_transformer(list("ba."), list(">ab"), list("ab."))
    <polyhead_course.figures.plots.Drawing>
    """
    end = _FIRST + 3 * _STEP
    figure, axes = canvas(4.8, end + 1.42)
    _add_column(axes, _ENCODER, "encoder", source, ("self_attention", "feed_forward"))
    sublayers = ("masked_self_attention", "cross_attention", "feed_forward")
    _add_column(axes, _DECODER, "decoder", given, sublayers)
    cross, memory = _FIRST + _STEP, _FIRST + 2 * _STEP
    start = _ENCODER, _FIRST + _STEP + _NORM + _HEIGHT / 2
    path = [start, (_ENCODER, memory), (_GUTTER, memory), (_GUTTER, cross), (_DECODER - _WIDTH / 2, cross)]
    arrow(axes, path, ORANGE, 2.4)
    label = f"{text('block.memory')} → K, V"
    axes.text(_ENCODER - 0.4, memory + 0.06, label, ha="left", va="top")
    axes.text(_DECODER - 0.07, cross - 0.225, "Q", ha="right", va="center")
    output, softmax = end + 0.2, end + 0.72
    arrow(axes, [(_DECODER, end - 0.36), (_DECODER, output - _HEIGHT / 2)], INK, 1.6)
    _add_block(axes, _DECODER, output, "tied_output")
    arrow(axes, [(_DECODER, output + _HEIGHT / 2), (_DECODER, softmax - _HEIGHT / 2)], INK, 1.6)
    _add_block(axes, _DECODER, softmax, "softmax")
    arrow(axes, [(_DECODER, softmax + _HEIGHT / 2), (_DECODER, softmax + 0.42)], INK, 1.6)
    axes.text(_DECODER, softmax + 0.46, "  ".join(predicted), ha="center", va="top", fontsize=11)
    return figure


def _add_column(axes: Axes, x: float, name: str, tokens: Sequence[str], sublayers: Sequence[str]) -> None:
    """Add the tokens, the embedding, and the sublayers of one layer in a frame, each with its residual."""
    axes.text(x, 0.02, "  ".join(tokens), ha="center", va="top", fontsize=11)
    arrow(axes, [(x, 0.22), (x, 0.42)], INK, 1.6)
    _add_block(axes, x, 0.42 + _HEIGHT / 2, "embedding")
    arrow(axes, [(x, 0.42 + _HEIGHT), (x, _FIRST - _HEIGHT / 2)], INK, 1.6)
    top, bottom = _FIRST - 0.45, _FIRST + (len(sublayers) - 1) * _STEP + _NORM + 0.26
    frame = FancyBboxPatch((x - 1.09, top), 2.18, bottom - top, boxstyle="round,pad=0,rounding_size=0.1",
                           facecolor="none", edgecolor=GREY, linewidth=1.2, linestyle="--")  # fmt: skip
    axes.add_patch(frame)
    axes.text(x - 1.02, top + 0.1, f"{text(name)} × L", ha="left", va="center")
    for number, sublayer in enumerate(sublayers):
        middle = _FIRST + number * _STEP
        norm, side = middle + _NORM, x + 1.0
        if number:
            arrow(axes, [(x, middle - _STEP + _NORM + _HEIGHT / 2), (x, middle - _HEIGHT / 2)], INK, 1.6)
        _add_block(axes, x, middle, sublayer)
        arrow(axes, [(x, middle + _HEIGHT / 2), (x, norm - _HEIGHT / 2)], INK, 1.6)
        _add_block(axes, x, norm, "add_norm")
        fork = middle - _HEIGHT / 2 - 0.11
        arrow(axes, [(x, fork), (side, fork), (side, norm), (x + _WIDTH / 2, norm)], GREY, 1.3)


def _add_block(axes: Axes, x: float, y: float, name: str) -> None:
    box(axes, (x, y), (_WIDTH, _HEIGHT), text(f"block.{name}"), _COLOURS[name])
