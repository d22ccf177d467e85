"""The decoder: masked self-attention, cross-attention and a feed-forward network in each layer."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from jaxtyping import Float
from torch import Tensor, nn

from polyhead import layers
from polyhead.cache import DecoderCache, LayerCache
from polyhead.checked import Mask, Size, checked
from polyhead.layers import Gates, LayerGates, LayerOptions, Positions
from polyhead.positions import share_rotations


class DecoderWeights(NamedTuple):
    """The attention weights of one decoder layer.

    >>> DecoderWeights(torch.ones(1, 1, 1, 1), None).cross_attention is None
    True
    """

    self_attention: Tensor  # (batch, num_heads, num_queries, num_keys)
    cross_attention: Tensor | None  # (batch, num_heads, num_queries, memory_length)


class DecoderLayer(nn.Module):
    """Up to three sublayers, each with a residual connection.

    Self-attention of each token to itself and those before it; with an encoder, cross-attention to the
    encoder's output; the feed-forward network. The self-attention is always causal, in training and in
    evaluation.

    Source: Vaswani et al. 2017, section 3.1; without cross-attention, Radford et al. 2018.

    >>> layer, memory = DecoderLayer(embed_dim=6, num_heads=3), torch.randn(2, 7, 6)
    >>> output, weights = layer(torch.randn(2, 5, 6), memory, need_weights=True)
    >>> output.shape, weights.cross_attention.shape
    (torch.Size([2, 5, 6]), torch.Size([2, 3, 5, 7]))
    """

    @checked
    def __init__(
        self, embed_dim: Size, num_heads: Size, cross_attention: bool = True, **options: Unpack[LayerOptions]
    ) -> None:
        """Make the sublayers, with or without `cross_attention` to an encoder; see `LayerOptions`."""
        super().__init__()
        self.embed_dim, self.num_heads, options = embed_dim, num_heads, layers.with_defaults(options)
        self.self_attention = layers.make_attention(embed_dim, num_heads, options)
        self.self_residual = layers.make_residual(embed_dim, options)
        self.cross_attention = self.cross_residual = None
        if cross_attention:
            self.cross_attention = layers.make_attention(embed_dim, num_heads, options, cross=True)
            self.cross_residual = layers.make_residual(embed_dim, options)
        self.feed_forward = layers.make_feed_forward(embed_dim, options)
        self.feed_forward_residual = layers.make_residual(embed_dim, options)

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length {self.embed_dim}"],
        memory: Float[Tensor, "batch memory_length {self.embed_dim}"] | None = None,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
        head_gates: Gates | None = None,
        cross_head_gates: Gates | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch length {self.embed_dim}"], DecoderWeights | None]:
        """Apply the layer.

        Args:
            x: the tokens; with a cache, the new ones.
            memory: the encoder's output.
            mask: True = may attend, in addition to the causal mask; see `EncoderLayer.forward`.
            memory_mask: the same for the attention to `memory`.
            need_weights: also return the weights.
            cache: the earlier tokens' keys and values; the new ones are added.
            head_gates: a factor for each head's output in the self-attention; 1 = unchanged.
            cross_head_gates: the same for the cross-attention.
            positions: those of the tokens of `x`; see `MultiHeadAttention.forward`.
        """
        self._check_memory(memory, memory_mask, cross_head_gates)
        self_cache, cross_cache = cache or (None, None)
        options = {"need_weights": need_weights, "head_gates": head_gates, "positions": positions}
        query, cross_weights = self.self_residual.enter(x), None
        update, weights = self.self_attention(query, mask=mask, is_causal=True, cache=self_cache, **options)
        x = self.self_residual.leave(x, update)
        if self.cross_attention is not None and self.cross_residual is not None:
            query = self.cross_residual.enter(x)
            shared = {"need_weights": need_weights, "head_gates": cross_head_gates, "cache": cross_cache}
            update, cross_weights = self.cross_attention(query, memory, mask=memory_mask, **shared)
            x = self.cross_residual.leave(x, update)
        update = self.feed_forward(self.feed_forward_residual.enter(x))
        x = self.feed_forward_residual.leave(x, update)
        return x, DecoderWeights(weights, cross_weights) if need_weights else None

    def _check_memory(self, memory: Tensor | None, memory_mask: Tensor | None, gates: Tensor | None) -> None:
        """Refuse a missing memory with cross-attention, and whatever belongs to it without."""
        if self.cross_attention is not None and memory is None:
            raise ValueError("memory must be the encoder's output, for the cross-attention, got None")
        arguments = {"memory": memory, "memory_mask": memory_mask, "cross_head_gates": gates}
        for name, tensor in arguments.items():
            if tensor is not None and self.cross_attention is None:
                raise ValueError(f"{name} must be None, as this decoder has no cross-attention, got one")


class Decoder(nn.Module):
    """Decoder layers, one after another; with pre-norm, one more norm at the end.

    With post-norm, where the last layer has normalised already, `norm` is None.

    >>> decoder = Decoder(num_layers=2, embed_dim=6, num_heads=3, cross_attention=False)
    >>> output, _ = decoder(torch.randn(2, 5, 6))
    >>> output.shape
    torch.Size([2, 5, 6])
    """

    @checked
    def __init__(
        self,
        num_layers: Size,
        embed_dim: Size,
        num_heads: Size,
        cross_attention: bool = True,
        windows: Sequence[int | None] | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        """Make the layers with the same options, and `windows`, one for each layer; see `DecoderLayer`."""
        super().__init__()
        self.embed_dim = embed_dim
        windows = [options.get("window")] * num_layers if windows is None else windows
        if len(windows) != num_layers:
            raise ValueError(f"windows must be one for each of {num_layers} layers, got {len(windows)}")
        per_layer: list[LayerOptions] = [{**options, "window": window} for window in windows]
        self.layers = nn.ModuleList(
            DecoderLayer(embed_dim, num_heads, cross_attention, **each) for each in per_layer
        )
        self.norm = layers.make_final_norm(embed_dim, options)

    def new_cache(self) -> DecoderCache:
        """Make an empty cache for one batch of sequences."""
        return DecoderCache(len(self.layers))

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length {self.embed_dim}"],
        memory: Float[Tensor, "batch memory_length {self.embed_dim}"] | None = None,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        need_weights: bool = False,
        cache: DecoderCache | None = None,
        head_gates: LayerGates | None = None,
        cross_head_gates: LayerGates | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch length {self.embed_dim}"], tuple[DecoderWeights, ...] | None]:
        """Apply all layers; gates and weights have an entry for each, see `DecoderLayer`.

        The cache comes from `new_cache()`. The new tokens are added to it when all layers are done: after an
        error the same call can be made again.
        """
        count, collected = len(self.layers), []
        caches: list[Any] = [None] * count if cache is None else cache.begin(count, memory)
        gates = layers.split_gates("head_gates", head_gates, self.layers, "self_attention")
        cross_gates = layers.split_gates("cross_head_gates", cross_head_gates, self.layers, "cross_attention")
        with share_rotations():
            for layer, *inputs in zip(self.layers, caches, gates, cross_gates, strict=True):
                x, weights = layer(x, memory, mask, memory_mask, need_weights, *inputs, positions)
                collected.append(weights)
        x = x if self.norm is None else self.norm(x)
        if cache is not None:
            cache.finish(caches, mask, memory)
        return x, tuple(collected) if need_weights else None
