"""The encoder: self-attention both ways, and a feed-forward network, in each layer."""

from __future__ import annotations

from typing import Unpack

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Mask, Size, checked
from polyhead.layers import (
    Gates,
    LayerGates,
    LayerOptions,
    Positions,
    attention,
    completed,
    feed_forward,
    final_norm,
    residual,
    rows_of_gates,
)


class EncoderLayer(nn.Module):
    """Two sublayers, each with its residual: every token asks all tokens; then each passes the FFN alone.

    Source: Vaswani et al. 2017, section 3.1.
    """

    @checked
    def __init__(self, embed_dim: Size, num_heads: Size, **options: Unpack[LayerOptions]) -> None:
        """Make the sublayers; `num_heads` must divide `embed_dim`, the rest is told in `LayerOptions`."""
        super().__init__()
        self.embed_dim, self.num_heads, options = embed_dim, num_heads, completed(options)
        if options["window"] is not None:
            raise ValueError(
                f"window must be None in an encoder, as it looks back only, got {options['window']}"
            )
        self.attention = attention(embed_dim, num_heads, options)
        self.attention_residual = residual(embed_dim, options)
        self.feed_forward = feed_forward(embed_dim, options)
        self.feed_forward_residual = residual(embed_dim, options)

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        mask: Mask | None = None,
        need_weights: bool = False,
        head_gates: Gates | None = None,
        positions: Positions | None = None,
    ) -> tuple[
        Float[Tensor, "batch length embed_dim"], Float[Tensor, "batch num_heads length length"] | None
    ]:
        """Pass the tokens through the layer; the rest goes to `MultiHeadAttention`.

        For a (batch, length) mask of the tokens that are no padding, the mask is `token_mask[:, None]`.
        """
        asks = self.attention_residual.enter(x)
        update, weights = self.attention(
            asks, mask=mask, need_weights=need_weights, head_gates=head_gates, positions=positions
        )
        x = self.attention_residual.leave(x, update)
        update = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, update), weights


class Encoder(nn.Module):
    """Encoder layers, one after another; with pre-norm, one more norm at the end.

    With post-norm, where the last layer has normalised already, `norm` is None.
    """

    @checked
    def __init__(
        self, num_layers: Size, embed_dim: Size, num_heads: Size, **options: Unpack[LayerOptions]
    ) -> None:
        """Make the layers, all with the same options."""
        super().__init__()
        self.embed_dim = embed_dim
        self.layers = nn.ModuleList(EncoderLayer(embed_dim, num_heads, **options) for _ in range(num_layers))
        self.norm = final_norm(embed_dim, options)

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        mask: Mask | None = None,
        need_weights: bool = False,
        head_gates: LayerGates | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch length embed_dim"], tuple[Tensor, ...] | None]:
        """Pass the tokens through all layers; gates and weights have a row for each, see `EncoderLayer`."""
        collected = []
        rows = rows_of_gates("head_gates", head_gates, self.layers, "attention")
        for layer, gates in zip(self.layers, rows, strict=True):
            x, weights = layer(x, mask, need_weights, gates, positions)
            collected.append(weights)
        x = x if self.norm is None else self.norm(x)
        return x, tuple(collected) if need_weights else None
