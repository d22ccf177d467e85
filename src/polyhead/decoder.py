"""The decoder: masked self-attention, attention to the encoder, and a feed-forward network, in each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Unpack

from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.cache import DecoderCache, LayerCache
from polyhead.encoder import final_norm, rows_of_gates
from polyhead.feed_forward import Activation, FeedForward, LayerOptions, Residual
from polyhead.multi_head.fused import MultiHeadAttention


class DecoderWeights(NamedTuple):
    """The attention weights of one decoder layer."""

    self_attention: Tensor  # (batch, num_heads, num_queries, num_keys)
    cross_attention: Tensor | None  # (batch, num_heads, num_queries, memory_length)


class DecoderLayer(nn.Module):
    """Up to three sublayers, each with its residual.

    Every token asks itself and those before it; then, where there is an encoder, it asks the encoder's
    output; then it passes the feed-forward network alone. The self-attention is always causal, in training
    and in evaluation.

    Attributes:
        self_attention, self_residual: the first sublayer and the way around it.
        cross_attention, cross_residual: the second; None without cross-attention.
        feed_forward, feed_forward_residual: the third.

    Source: Vaswani et al. 2017, section 3.1; without cross-attention, Radford et al. 2018.
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
        cross_attention: bool = True,
    ) -> None:
        """Make the sublayers.

        Args:
            embed_dim: size of each input and output vector, the encoder's output included.
            num_heads: how many heads; must divide `embed_dim`.
            ffn_dim: size of the feed-forward network's hidden vectors; four times `embed_dim` if not given.
            dropout: the probability with which a number is set to 0 in training: weights, hidden vectors,
                and what each sublayer gives.
            activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
            norm_first: pre-norm instead of post-norm; see `Residual`.
            layer_norm_eps: what is added to the variance before the root is taken.
            cross_attention: whether the layer attends to an encoder's output.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1 or does not divide, or an option is not one of those named.
        """
        super().__init__()
        crosses = _validate.flag("cross_attention", cross_attention)

        def residual() -> Residual:
            return Residual(embed_dim, norm_first, dropout, layer_norm_eps)

        self.self_attention = MultiHeadAttention(embed_dim, num_heads, dropout=dropout)
        self.self_residual = residual()
        self.cross_attention = MultiHeadAttention(embed_dim, num_heads, dropout=dropout) if crosses else None
        self.cross_residual = residual() if crosses else None
        self.feed_forward = FeedForward(embed_dim, ffn_dim, activation, dropout)
        self.feed_forward_residual = residual()

    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        memory: Float[Tensor, "batch memory_length embed_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
        head_gates: Float[Tensor, "..."] | None = None,
        cross_head_gates: Float[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "batch length embed_dim"], DecoderWeights | None]:
        """Pass the tokens through the layer.

        Args:
            x: (batch, length, embed_dim): the new tokens, if there is a cache.
            memory: the encoder's output, (batch, memory_length, embed_dim).
            mask: boolean, True = may attend, beside the causal mask, which always holds:
                `token_mask[:, None]` for a (batch, num_keys) mask of the tokens that are no padding.
            memory_mask: the same for the attention to `memory`.
            need_weights: also return the weights.
            cache: where the earlier tokens' keys and values are.
            head_gates: a factor for each head of the self-attention, (num_heads,) or (batch, num_heads).
            cross_head_gates: the same for the cross-attention.

        Returns:
            The tokens, (batch, length, embed_dim), and the weights, or None.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`; also if memory comes where there is no
                cross-attention, or none where there is.
        """
        self._check(x, memory, memory_mask, cross_head_gates)
        if cache is not None:
            _validate.instance("cache", cache, LayerCache)
            kept = cache.cross_attention
            if memory is not None and kept.complete and kept.length != memory.shape[1]:
                raise ValueError(
                    f"memory must be the one that the cache has the keys of, {kept.length} tokens, "
                    f"got {memory.shape[1]}"
                )
        attended, self_weights = self.self_attention(
            self.self_residual.enter(x),
            mask=mask,
            is_causal=True,
            need_weights=need_weights,
            cache=None if cache is None else cache.self_attention,
            head_gates=head_gates,
        )
        x = self.self_residual.leave(x, attended)
        cross_weights = None
        if self.cross_attention is not None and self.cross_residual is not None:
            attended, cross_weights = self.cross_attention(
                self.cross_residual.enter(x),
                memory,
                mask=memory_mask,
                need_weights=need_weights,
                cache=None if cache is None else cache.cross_attention,
                head_gates=cross_head_gates,
            )
            x = self.cross_residual.leave(x, attended)
        update = self.feed_forward(self.feed_forward_residual.enter(x))
        x = self.feed_forward_residual.leave(x, update)
        return x, DecoderWeights(self_weights, cross_weights) if need_weights else None

    def _check(self, x: Tensor, memory: Tensor | None, memory_mask: object, gates: object) -> None:
        if self.cross_attention is None:
            _validate.tokens(x, x, x, self.self_attention.input_projection.weight, ("x", "x", "x"))
            for name, given in (
                ("memory", memory),
                ("memory_mask", memory_mask),
                ("cross_head_gates", gates),
            ):
                if given is not None:
                    raise ValueError(f"{name} must be None, as this decoder has no cross-attention, got one")
            return
        if memory is None:
            raise ValueError("memory must be the encoder's output, as this decoder asks it, got None")
        weight = self.cross_attention.input_projection.weight
        _validate.tokens(x, memory, memory, weight, ("x", "memory", "memory"))
        if memory_mask is not None:
            target = len(x), self.cross_attention.num_heads, x.shape[1], memory.shape[1]
            _validate.aligned_mask(memory_mask, target, x.device, "memory_mask")


class Decoder(nn.Module):
    """Decoder layers, one after another; with pre-norm, one more norm at the end.

    Attributes:
        layers: `nn.ModuleList` of `DecoderLayer`.
        norm: `nn.LayerNorm`, or None with post-norm, where the last layer has normalised already.
    """

    def __init__(
        self,
        num_layers: int,
        embed_dim: int,
        num_heads: int,
        cross_attention: bool = True,
        **options: Unpack[LayerOptions],
    ) -> None:
        """Make the layers.

        Args:
            num_layers: how many.
            embed_dim: size of each input and output vector.
            num_heads: how many heads each attention has.
            cross_attention: whether the layers attend to an encoder's output.
            **options: as of `DecoderLayer`.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: an argument has no possible value.
        """
        super().__init__()
        count = _validate.at_least("num_layers", num_layers)
        self.layers = nn.ModuleList(
            DecoderLayer(embed_dim, num_heads, cross_attention=cross_attention, **options)
            for _ in range(count)
        )
        self.norm = final_norm(embed_dim, options)

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of sequences."""
        return DecoderCache(len(self.layers))

    def forward(
        self,
        x: Float[Tensor, "batch length embed_dim"],
        memory: Float[Tensor, "batch memory_length embed_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        cache: DecoderCache | None = None,
        head_gates: Sequence[Tensor] | Tensor | None = None,
        cross_head_gates: Sequence[Tensor] | Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch length embed_dim"], tuple[DecoderWeights, ...] | None]:
        """Pass the tokens through all layers.

        Args:
            x: (batch, length, embed_dim): the new tokens, if there is a cache.
            memory: the encoder's output, (batch, memory_length, embed_dim).
            mask: as of `DecoderLayer`, the same for all layers.
            memory_mask: as of `DecoderLayer`, the same for all layers.
            need_weights: also return each layer's weights.
            cache: from `new_cache()`; the new tokens are added to it.
            head_gates: for each layer its heads' factors: (num_layers, num_heads), or a list of such rows.
            cross_head_gates: the same for the cross-attention.

        Returns:
            The tokens, (batch, length, embed_dim), and a tuple of each layer's weights, or None.

        Raises:
            TypeError, ValueError: as `DecoderLayer`; also if there is not one row of gates, or one cache, for
                each layer.
        """
        count = len(self.layers)
        if cache is not None:
            _validate.instance("cache", cache, DecoderCache)
        if cache is not None and len(cache.layers) != count:
            raise ValueError(f"cache must have one part for each of {count} layers, got {len(cache.layers)}")
        collected = []
        for layer, kept, gates, cross_gates in zip(
            self.layers,
            [None] * count if cache is None else cache.layers,
            rows_of_gates(head_gates, count),
            rows_of_gates(cross_head_gates, count, "cross_head_gates"),
            strict=True,
        ):
            x, weights = layer(x, memory, mask, memory_mask, need_weights, kept, gates, cross_gates)
            collected.append(weights)
        x = x if self.norm is None else self.norm(x)
        return x, tuple(collected) if need_weights else None
