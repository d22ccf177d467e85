"""What the layers of encoder and decoder share: options, parts, the final norm, gates of heads."""

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

# The position of each token, for rotary positions and windows; 0, 1, 2, … by default.
Positions = Integer[Tensor, "length"] | Integer[Tensor, "batch length"]
# A factor for each head's output, 1 = unchanged: in one layer, and in each layer of a stack.
Gates = Float[Tensor, "{self.num_heads}"] | Float[Tensor, "batch {self.num_heads}"]
LayerGates = (
    Float[Tensor, "num_layers num_heads"] | Float[Tensor, "num_layers batch num_heads"] | Sequence[Tensor]
)


class LayerOptions(TypedDict, total=False):
    """The keyword arguments of layers, `Encoder`, `Decoder` and `Transformer`, besides their sizes.

    Attributes:
        ffn_dim: size of the hidden vectors of the feed-forward network; 4 · embed_dim by default.
        dropout: the probability with which a number is set to 0 in training (weights, hidden vectors,
            updates).
        activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
        norm_first: normalise what goes into each sublayer (pre-norm) instead of each sum (post-norm).
        layer_norm_eps: added to the variance, or the mean of the squares, under the root.
        norm: "layer" (`nn.LayerNorm`) or "rms" (`RMSNorm`).
        gated: the feed-forward network is a `GatedFeedForward`; with `activation="silu"`, SwiGLU.
        ffn_bias: whether the feed-forward network adds learned biases.
        attention_bias: whether the attention's projections add learned biases.
        num_kv_heads: see `MultiHeadAttention`.
        head_dim: see `MultiHeadAttention`.
        qk_norm_eps: see `MultiHeadAttention`.
        sinks: see `MultiHeadAttention`.
        rotary: see `MultiHeadAttention`; for self-attention only.
        window: see `MultiHeadAttention`; for a decoder's self-attention only.

    Llama's options:

    >>> rotary = RotaryPositions(head_dim=4, pairs="halves")
    >>> options = LayerOptions(norm_first=True, norm="rms", gated=True, activation="silu")
    >>> options |= LayerOptions(attention_bias=False, ffn_bias=False, num_kv_heads=2, rotary=rotary)
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
    qk_norm_eps: Positive | None
    sinks: bool
    rotary: RotaryPositions | None
    window: Size | None


DEFAULTS = LayerOptions(
    ffn_dim=None, dropout=0.1, activation="relu", norm_first=False, layer_norm_eps=1e-5, norm="layer",
    gated=False, ffn_bias=True, attention_bias=True, num_kv_heads=None, head_dim=None, qk_norm_eps=None,
    sinks=False, rotary=None, window=None,
)  # fmt: skip


def with_defaults(options: LayerOptions) -> LayerOptions:
    """Add the defaults of the options that are missing.

    >>> with_defaults({"norm_first": True})["layer_norm_eps"]
    1e-05
    """
    return {**DEFAULTS, **options}


def make_residual(embed_dim: int, options: LayerOptions) -> Residual:
    """Make the residual connection around one sublayer.

    >>> make_residual(6, with_defaults({"norm_first": True})).norm_first
    True
    """
    dropout, eps = options["dropout"], options["layer_norm_eps"]
    return Residual(embed_dim, options["norm_first"], dropout, eps, options["norm"])


def make_attention(
    embed_dim: int, num_heads: int, options: LayerOptions, cross: bool = False
) -> MultiHeadAttention:
    """Make an attention; a cross-attention has neither rotary positions nor a window.

    >>> make_attention(6, 3, with_defaults({"window": 5}), cross=True).window is None
    True
    """
    return MultiHeadAttention(
        embed_dim,
        num_heads,
        options["num_kv_heads"],
        options["dropout"],
        options["attention_bias"],
        head_dim=options["head_dim"],
        rotary=None if cross else options["rotary"],
        qk_norm_eps=options["qk_norm_eps"],
        window=None if cross else options["window"],
        sinks=options["sinks"],
    )


def make_feed_forward(embed_dim: int, options: LayerOptions) -> FeedForward:
    """Make the feed-forward network.

    >>> make_feed_forward(6, with_defaults({})).expand.out_features
    24
    """
    kind = GatedFeedForward if options["gated"] else FeedForward
    dropout, bias = options["dropout"], options["ffn_bias"]
    return kind(embed_dim, options["ffn_dim"], options["activation"], dropout, bias)


def make_final_norm(embed_dim: int, options: LayerOptions) -> nn.LayerNorm | RMSNorm | None:
    """Make the norm after several pre-norm layers, whose output is a sum that is not normalised.

    >>> make_final_norm(6, {"norm_first": True, "norm": "rms"})
    RMSNorm(6, eps=1e-05)
    """
    options = with_defaults(options)
    return make_norm(options["norm"], embed_dim, options["layer_norm_eps"]) if options["norm_first"] else None


def split_gates(
    name: str, gates: LayerGates | None, layers: nn.ModuleList, attention: str
) -> Sequence[Tensor | None]:
    """Give the gates, or None, for the attention of this name in each layer.

    >>> split_gates("head_gates", None, nn.ModuleList([nn.Identity(), nn.Identity()]), "attention")
    [None, None]
    """
    if gates is None:
        return [None] * len(layers)
    heads = [getattr(getattr(layer, attention), "num_heads", 0) for layer in layers]
    shapes = [tuple(row.shape) for row in gates]
    if [shape[-1:] for shape in shapes] != [(number,) for number in heads]:
        raise ValueError(f"{name} must have for each layer a factor for each of {heads} heads, got {shapes}")
    return list(gates)
