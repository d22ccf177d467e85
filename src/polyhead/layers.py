"""What the layers of encoder and decoder share: their options and parts, the last norm, gates of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Positive, Probability, Size
from polyhead.feed_forward import Activation, FeedForward, GatedFeedForward
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.norms import Norm, RMSNorm, make_norm
from polyhead.positions import RotaryPositions
from polyhead.residual import Residual

# Where each token stands, for what counts by positions in the attention; 0, 1, 2, … if not given.
Positions = Integer[Tensor, "length"] | Integer[Tensor, "batch length"]
# A factor for each head's output, 1 = as is: in one layer, and in each layer of a stack.
Gates = Float[Tensor, "num_heads"] | Float[Tensor, "batch num_heads"]
LayerGates = (
    Float[Tensor, "num_layers num_heads"] | Float[Tensor, "num_layers batch num_heads"] | Sequence[Tensor]
)


class LayerOptions(TypedDict, total=False):
    """What a layer takes beside its sizes, and so do `Encoder`, `Decoder` and `Transformer`, by name.

    Attributes:
        ffn_dim: size of the hidden vectors of the feed-forward network; 4 · embed_dim if not given.
        dropout: the probability with which a number is set to 0 in training: weights, hidden vectors,
            updates.
        activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
        norm_first: normalise what goes into each sublayer (pre-norm) instead of each sum (post-norm).
        layer_norm_eps: what is added to the variance, or the mean of the squares, before the root is taken.
        norm: "layer" (`nn.LayerNorm`) or "rms" (`RMSNorm`).
        gated: the feed-forward network is a `GatedFeedForward`; with `activation="silu"`, SwiGLU.
        ffn_bias: whether the feed-forward network adds learned biases.
        attention_bias: whether the attention's projections do.
        num_kv_heads: see `MultiHeadAttention`.
        head_dim: see `MultiHeadAttention`.
        qk_norm: see `MultiHeadAttention`.
        sinks: see `MultiHeadAttention`.
        rotary: see `MultiHeadAttention`; for self-attention alone.
        window: see `MultiHeadAttention`; for a decoder's self-attention alone.

    As Llama has them: `norm_first=True`, `norm="rms"`, `gated=True`, `activation="silu"`,
    `attention_bias=False`, `ffn_bias=False`, `num_kv_heads`, and `rotary` with `pairs="halves"`.
    """

    ffn_dim: Size | None
    dropout: Probability
    activation: Activation
    norm_first: bool
    layer_norm_eps: Positive
    norm: Norm
    gated: bool
    ffn_bias: bool
    attention_bias: bool
    num_kv_heads: Size | None
    head_dim: Size | None
    qk_norm: Positive | None
    sinks: bool
    rotary: RotaryPositions | None
    window: Size | None


DEFAULTS = LayerOptions(
    ffn_dim=None,
    dropout=0.1,
    activation="relu",
    norm_first=False,
    layer_norm_eps=1e-5,
    norm="layer",
    gated=False,
    ffn_bias=True,
    attention_bias=True,
    num_kv_heads=None,
    head_dim=None,
    qk_norm=None,
    sinks=False,
    rotary=None,
    window=None,
)


def completed(options: LayerOptions) -> LayerOptions:
    """The options, with the defaults of those that are not given."""
    return {**DEFAULTS, **options}


def residual(embed_dim: int, options: LayerOptions) -> Residual:
    """The way around one sublayer, by completed options."""
    dropout, eps = options["dropout"], options["layer_norm_eps"]
    return Residual(embed_dim, options["norm_first"], dropout, eps, options["norm"])


def attention(
    embed_dim: int, num_heads: int, options: LayerOptions, crosses: bool = False
) -> MultiHeadAttention:
    """An attention by completed options; one that `crosses`, to an encoder's output, knows no positions."""
    return MultiHeadAttention(
        embed_dim,
        num_heads,
        options["num_kv_heads"],
        options["dropout"],
        options["attention_bias"],
        head_dim=options["head_dim"],
        rotary=None if crosses else options["rotary"],
        qk_norm=options["qk_norm"],
        window=None if crosses else options["window"],
        sinks=options["sinks"],
    )


def feed_forward(embed_dim: int, options: LayerOptions) -> FeedForward:
    """The feed-forward network, by completed options."""
    kind = GatedFeedForward if options["gated"] else FeedForward
    dropout, bias = options["dropout"], options["ffn_bias"]
    return kind(embed_dim, options["ffn_dim"], options["activation"], dropout, bias)


def final_norm(embed_dim: int, options: LayerOptions) -> nn.LayerNorm | RMSNorm | None:
    """The norm after the last of several pre-norm layers: what leaves them is a sum not normalised."""
    options = completed(options)
    return make_norm(options["norm"], embed_dim, options["layer_norm_eps"]) if options["norm_first"] else None


def rows_of_gates(
    name: str, gates: LayerGates | None, layers: nn.ModuleList, attention: str
) -> Sequence[Tensor | None]:
    """One row of gates, or None, for the attention of that name in each layer."""
    if gates is None:
        return [None] * len(layers)
    heads = [getattr(getattr(layer, attention), "num_heads", 0) for layer in layers]
    came = [tuple(row.shape) for row in gates]
    if [shape[-1:] for shape in came] != [(number,) for number in heads]:
        raise ValueError(f"{name} must have for each layer a factor for each of {heads} heads, got {came}")
    return list(gates)
