"""The encoder: self-attention to all tokens and a feed-forward network in each layer."""

from typing import Unpack

from jaxtyping import Float
from torch import Tensor, nn

from polyhead import layers
from polyhead.checked import Mask, Size, checked
from polyhead.layers import Gates, LayerGates, LayerOptions, Positions
from polyhead.positions import share_rotations


class EncoderLayer(nn.Module):
    """Self-attention to all tokens, then the feed-forward network, each with a residual connection.

    Source: Vaswani et al. 2017, section 3.1.

    >>> layer = EncoderLayer(embed_dim=6, num_heads=3)
    >>> output, weights = layer(torch.randn(2, 5, 6), need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 6]), torch.Size([2, 3, 5, 5]))
    """

    @checked
    def __init__(self, embed_dim: Size, num_heads: Size, **options: Unpack[LayerOptions]) -> None:
        """Make the sublayers; `num_heads` must divide `embed_dim`; for the options see `LayerOptions`."""
        super().__init__()
        self.embed_dim, self.num_heads, options = embed_dim, num_heads, layers.with_defaults(options)
        if (window := options["window"]) is not None:
            raise ValueError(f"window must be None in an encoder, as it looks back only, got {window}")
        self.attention = layers.make_attention(embed_dim, num_heads, options)
        self.attention_residual = layers.make_residual(embed_dim, options)
        self.feed_forward = layers.make_feed_forward(embed_dim, options)
        self.feed_forward_residual = layers.make_residual(embed_dim, options)

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length {self.embed_dim}"],
        mask: Mask | None = None,
        need_weights: bool = False,
        head_gates: Gates | None = None,
        positions: Positions | None = None,
    ) -> tuple[
        Float[Tensor, "batch length {self.embed_dim}"],
        Float[Tensor, "batch {self.num_heads} length length"] | None,
    ]:
        """Apply the layer; for the arguments see `MultiHeadAttention.forward`.

        Of a mask of the tokens that are no padding, (batch, length), the mask is `token_mask[:, None]`.
        """
        query = self.attention_residual.enter(x)
        options = {"need_weights": need_weights, "head_gates": head_gates, "positions": positions}
        update, weights = self.attention(query, mask=mask, **options)
        x = self.attention_residual.leave(x, update)
        update = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, update), weights


class Encoder(nn.Module):
    """Encoder layers, one after another; with pre-norm, one more norm at the end.

    With post-norm, where the last layer has normalised already, `norm` is None.

    >>> encoder = Encoder(num_layers=2, embed_dim=6, num_heads=3, norm_first=True)
    >>> output, weights = encoder(torch.randn(2, 5, 6), need_weights=True)
    >>> output.shape, len(weights)
    (torch.Size([2, 5, 6]), 2)
    """

    @checked
    def __init__(
        self, num_layers: Size, embed_dim: Size, num_heads: Size, **options: Unpack[LayerOptions]
    ) -> None:
        """Make the layers, all with the same options."""
        super().__init__()
        self.embed_dim = embed_dim
        self.layers = nn.ModuleList(EncoderLayer(embed_dim, num_heads, **options) for _ in range(num_layers))
        self.norm = layers.make_final_norm(embed_dim, options)

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length {self.embed_dim}"],
        mask: Mask | None = None,
        need_weights: bool = False,
        head_gates: LayerGates | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch length {self.embed_dim}"], tuple[Tensor, ...] | None]:
        """Apply all layers; gates and weights have an entry for each, see `EncoderLayer`."""
        collected = []
        rows = layers.split_gates("head_gates", head_gates, self.layers, "attention")
        with share_rotations():
            for layer, gates in zip(self.layers, rows, strict=True):
                x, weights = layer(x, mask, need_weights, gates, positions)
                collected.append(weights)
        x = x if self.norm is None else self.norm(x)
        return x, tuple(collected) if need_weights else None
