"""The decoder: masked self-attention, attention to the encoder, and a feed-forward network, in each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.cache import DecoderCache, LayerCache
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


class DecoderWeights(NamedTuple):
    """The attention weights of one decoder layer."""

    self_attention: Tensor  # (batch, num_heads, num_queries, num_keys)
    cross_attention: Tensor | None  # (batch, num_heads, num_queries, memory_length)


class DecoderLayer(nn.Module):
    """Up to three sublayers, each with its residual.

    Every token asks itself and those before it; then, where there is an encoder, it asks the encoder's
    output; then it passes the feed-forward network alone. The self-attention is always causal, in training
    and in evaluation.

    Source: Vaswani et al. 2017, section 3.1; without cross-attention, Radford et al. 2018.
    """

    @checked
    def __init__(
        self, embed_dim: Size, num_heads: Size, cross_attention: bool = True, **options: Unpack[LayerOptions]
    ) -> None:
        """Make the sublayers, with `cross_attention` to an encoder's output; the rest is `LayerOptions`."""
        super().__init__()
        self.embed_dim, self.num_heads, options = embed_dim, num_heads, completed(options)
        self.self_attention = attention(embed_dim, num_heads, options)
        self.self_residual = residual(embed_dim, options)
        self.cross_attention = self.cross_residual = None
        if cross_attention:
            self.cross_attention = attention(embed_dim, num_heads, options, crosses=True)
            self.cross_residual = residual(embed_dim, options)
        self.feed_forward = feed_forward(embed_dim, options)
        self.feed_forward_residual = residual(embed_dim, options)

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        memory: Float[Tensor, "batch memory_length embed_dim"] | None = None,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
        head_gates: Gates | None = None,
        cross_head_gates: Gates | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch length embed_dim"], DecoderWeights | None]:
        """Pass the tokens through the layer.

        Args:
            x: the tokens; the new ones, if there is a cache.
            memory: the encoder's output.
            mask: beside the causal mask, which always holds; as of `EncoderLayer`.
            memory_mask: the same for the attention to `memory`.
            need_weights: also return the weights.
            cache: where the earlier tokens' keys and values are; the new ones are added.
            head_gates: a factor for each head's output in the self-attention; 1 = as is.
            cross_head_gates: the same for the cross-attention.
            positions: where the tokens of `x` stand; see `MultiHeadAttention`.
        """
        self._check(memory, memory_mask, cross_head_gates)
        own, cross = cache or (None, None)
        asks, cross_weights = self.self_residual.enter(x), None
        update, weights = self.self_attention(
            asks,
            mask=mask,
            is_causal=True,
            need_weights=need_weights,
            cache=own,
            head_gates=head_gates,
            positions=positions,
        )
        x = self.self_residual.leave(x, update)
        if self.cross_attention is not None and self.cross_residual is not None:
            asks, gates = self.cross_residual.enter(x), cross_head_gates
            update, cross_weights = self.cross_attention(
                asks, memory, mask=memory_mask, need_weights=need_weights, cache=cross, head_gates=gates
            )
            x = self.cross_residual.leave(x, update)
        update = self.feed_forward(self.feed_forward_residual.enter(x))
        x = self.feed_forward_residual.leave(x, update)
        return x, DecoderWeights(weights, cross_weights) if need_weights else None

    def _check(self, memory: Tensor | None, memory_mask: Tensor | None, gates: Tensor | None) -> None:
        """Memory and what belongs to it comes where there is cross-attention, and nowhere else."""
        if self.cross_attention is not None:
            if memory is None:
                raise ValueError("memory must be the encoder's output, as this decoder asks it, got None")
            return
        given = {"memory": memory, "memory_mask": memory_mask, "cross_head_gates": gates}
        for name, tensor in given.items():
            if tensor is not None:
                raise ValueError(f"{name} must be None, as this decoder has no cross-attention, got one")


class Decoder(nn.Module):
    """Decoder layers, one after another; with pre-norm, one more norm at the end.

    With post-norm, where the last layer has normalised already, `norm` is None.
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
        """Make the layers, all alike but for `windows`, one for each layer, if given; see `DecoderLayer`."""
        super().__init__()
        self.embed_dim = embed_dim
        windows = [options.get("window")] * num_layers if windows is None else windows
        if len(windows) != num_layers:
            raise ValueError(f"windows must be one for each of {num_layers} layers, got {len(windows)}")
        each: list[LayerOptions] = [{**options, "window": window} for window in windows]
        self.layers = nn.ModuleList(
            DecoderLayer(embed_dim, num_heads, cross_attention, **own) for own in each
        )
        self.norm = final_norm(embed_dim, options)

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of sequences."""
        return DecoderCache(len(self.layers))

    @checked
    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        memory: Float[Tensor, "batch memory_length embed_dim"] | None = None,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        need_weights: bool = False,
        cache: DecoderCache | None = None,
        head_gates: LayerGates | None = None,
        cross_head_gates: LayerGates | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch length embed_dim"], tuple[DecoderWeights, ...] | None]:
        """Pass the tokens through all layers; gates and weights have a row for each, see `DecoderLayer`.

        The cache comes from `new_cache()`. The new tokens are added to it when all layers are done: after an
        error the same call can be made again.
        """
        count, collected = len(self.layers), []
        parts: list[Any] = [None] * count if cache is None else cache.begin(count, memory)
        rows = rows_of_gates("head_gates", head_gates, self.layers, "self_attention")
        cross = rows_of_gates("cross_head_gates", cross_head_gates, self.layers, "cross_attention")
        for layer, part, gates, cross_gates in zip(self.layers, parts, rows, cross, strict=True):
            x, weights = layer(
                x, memory, mask, memory_mask, need_weights, part, gates, cross_gates, positions
            )
            collected.append(weights)
        x = x if self.norm is None else self.norm(x)
        if cache is not None:
            cache.finish(parts, mask, memory)
        return x, tuple(collected) if need_weights else None
