"""The whole Transformer: encoder and decoder with every sublayer."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from polyhead_course.figures.plots.boxes import arrow, box, canvas
from polyhead_course.figures.plots.drawing import GREY, INK, ORANGE, plot
from polyhead_course.words.language import text

_FILLS = {
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
    box(axes, (x, y), (_WIDTH, _HEIGHT), text(f"block.{name}"), _FILLS[name])
