"""What the layers of encoder and decoder share: their options, the norm after the last, gates of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Positive, Probability, Size
from polyhead.feed_forward import Activation, FeedForward
from polyhead.residual import Residual

# A factor for each head's output, 1 = as is: in one layer, and in each layer of a stack.
Gates = Float[Tensor, "num_heads"] | Float[Tensor, "batch num_heads"]
LayerGates = (
    Float[Tensor, "num_layers num_heads"] | Float[Tensor, "num_layers batch num_heads"] | Sequence[Tensor]
)


class LayerOptions(TypedDict, total=False):
    """What a layer takes beside its sizes, and so do `Encoder`, `Decoder` and `Transformer`, by name.

    ffn_dim: size of the hidden vectors of the feed-forward network; 4 · embed_dim if not given.
    dropout: the probability with which a number is set to 0 in training: weights, hidden vectors, updates.
    activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
    norm_first: normalise what goes into each sublayer (pre-norm) instead of each sum (post-norm).
    layer_norm_eps: what is added to the variance before the root is taken.
    """

    ffn_dim: Size | None
    dropout: Probability
    activation: Activation
    norm_first: bool
    layer_norm_eps: Positive


DEFAULTS = LayerOptions(ffn_dim=None, dropout=0.1, activation="relu", norm_first=False, layer_norm_eps=1e-5)


def completed(options: LayerOptions) -> LayerOptions:
    """The options, with the defaults of those that are not given."""
    return {**DEFAULTS, **options}


def residual(embed_dim: int, options: LayerOptions) -> Residual:
    """The way around one sublayer, by completed options."""
    return Residual(embed_dim, options["norm_first"], options["dropout"], options["layer_norm_eps"])


def feed_forward(embed_dim: int, options: LayerOptions) -> FeedForward:
    """The feed-forward network, by completed options."""
    return FeedForward(embed_dim, options["ffn_dim"], options["activation"], options["dropout"])


def final_norm(embed_dim: int, options: LayerOptions) -> nn.LayerNorm | None:
    """The norm after the last of several pre-norm layers: what leaves them is a sum not normalised."""
    options = completed(options)
    return nn.LayerNorm(embed_dim, eps=options["layer_norm_eps"]) if options["norm_first"] else None


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
