"""The encoder: self-attention both ways, and a feed-forward network, in each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.feed_forward import Activation, FeedForward, LayerOptions, Residual
from polyhead.multi_head.fused import MultiHeadAttention


class EncoderLayer(nn.Module):
    """Two sublayers, each with its residual: every token asks all tokens; then each passes the FFN alone.

    Attributes:
        attention, attention_residual: the first sublayer and the way around it.
        feed_forward, feed_forward_residual: the second.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        ffn_dim: int | None = None,
        dropout: float = 0.1,
        activation: Activation = "relu",
        norm_first: bool = False,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        """Make the sublayers.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many heads; must divide `embed_dim`.
            ffn_dim: size of the feed-forward network's hidden vectors; four times `embed_dim` if not given.
            dropout: the probability with which a number is set to 0 in training: weights, hidden vectors,
                and what each sublayer gives.
            activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
            norm_first: pre-norm instead of post-norm; see `Residual`.
            layer_norm_eps: what is added to the variance before the root is taken.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1 or does not divide, or an option is not one of those named.
        """
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads, dropout=dropout)
        self.attention_residual = Residual(embed_dim, norm_first, dropout, layer_norm_eps)
        self.feed_forward = FeedForward(embed_dim, ffn_dim, activation, dropout)
        self.feed_forward_residual = Residual(embed_dim, norm_first, dropout, layer_norm_eps)

    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        head_gates: Float[Tensor, "..."] | None = None,
    ) -> tuple[
        Float[Tensor, "batch length embed_dim"], Float[Tensor, "batch num_heads length length"] | None
    ]:
        """Pass the tokens through the layer.

        Args:
            x: (batch, length, embed_dim).
            mask: boolean, True = may attend, as `MultiHeadAttention` takes it; `token_mask[:, None]` for a
                (batch, length) mask of the tokens that are no padding.
            need_weights: also return the attention's weights.
            head_gates: a factor for each head, (num_heads,) or (batch, num_heads); 1 = as is.

        Returns:
            The tokens, (batch, length, embed_dim), and the weights, (batch, num_heads, length, length), or
            None.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`.
        """
        _validate.tokens(x, x, x, self.attention.input_projection.weight, ("x", "x", "x"))
        attended, weights = self.attention(
            self.attention_residual.enter(x), mask=mask, need_weights=need_weights, head_gates=head_gates
        )
        x = self.attention_residual.leave(x, attended)
        update = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, update), weights


class Encoder(nn.Module):
    """Encoder layers, one after another; with pre-norm, one more norm at the end.

    Attributes:
        layers: `nn.ModuleList` of `EncoderLayer`.
        norm: `nn.LayerNorm`, or None with post-norm, where the last layer has normalised already.
    """

    def __init__(
        self, num_layers: int, embed_dim: int, num_heads: int, **options: Unpack[LayerOptions]
    ) -> None:
        """Make the layers.

        Args:
            num_layers: how many.
            embed_dim: size of each input and output vector.
            num_heads: how many heads each layer has.
            **options: as of `EncoderLayer`.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: an argument has no possible value.
        """
        super().__init__()
        count = _validate.at_least("num_layers", num_layers)
        self.layers = nn.ModuleList(EncoderLayer(embed_dim, num_heads, **options) for _ in range(count))
        self.norm = final_norm(embed_dim, options)

    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        head_gates: Sequence[Tensor] | Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch length embed_dim"], tuple[Tensor, ...] | None]:
        """Pass the tokens through all layers.

        Args:
            x: (batch, length, embed_dim).
            mask: as of `EncoderLayer`, the same for all layers.
            need_weights: also return each layer's weights.
            head_gates: for each layer its heads' factors: (num_layers, num_heads), or a list of such rows.

        Returns:
            The tokens, (batch, length, embed_dim), and a tuple of each layer's weights, or None.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`; also if there is not one row of gates for each
                layer.
        """
        collected = []
        for layer, gates in zip(self.layers, rows_of_gates(head_gates, len(self.layers)), strict=True):
            x, weights = layer(x, mask, need_weights, gates)
            collected.append(weights)
        x = x if self.norm is None else self.norm(x)
        return x, tuple(collected) if need_weights else None


def final_norm(embed_dim: int, options: LayerOptions) -> nn.LayerNorm | None:
    """The norm after the last of several pre-norm layers: what leaves them is a sum not normalised."""
    if not options.get("norm_first", False):
        return None
    return nn.LayerNorm(embed_dim, eps=options.get("layer_norm_eps", 1e-5))


def rows_of_gates(
    gates: Sequence[Tensor] | Tensor | None, num_layers: int, name: str = "head_gates"
) -> Sequence[Tensor | None]:
    """One row of gates, or None, for each layer.

    Raises:
        TypeError: they are no tensor, list or tuple.
        ValueError: there are more or fewer.
    """
    if gates is None:
        return [None] * num_layers
    if not isinstance(gates, Tensor | list | tuple):
        raise TypeError(f"{name} must be a torch.Tensor or a list of them, got {type(gates).__name__}")
    if isinstance(gates, Tensor) and gates.ndim == 0:
        raise ValueError(f"{name} must have one row for each of {num_layers} layers, got shape ()")
    if len(gates) != num_layers:
        raise ValueError(f"{name} must have one row for each of {num_layers} layers, got {len(gates)}")
    return list(gates)
