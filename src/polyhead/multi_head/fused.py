"""Multi-head attention for use: one input projection, and PyTorch's fused attention kernel."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.cache import KVCache
from polyhead.checked import Mask, Positive, Probability, Size, checked, divide_exactly
from polyhead.functional import attend, hide_unseen
from polyhead.multi_head.sinks import attend_with_sinks
from polyhead.norms import RMSNorm
from polyhead.positions import RotaryPositions
from polyhead.visibility import Visibility


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, computed at once by `torch.nn.functional.scaled_dot_product_attention`.

    A call has four steps: `Visibility` combines what hides keys from queries, `_project` computes queries,
    keys and values of all heads, `_attend` mixes the values, and `output_projection` mixes the heads.

    With fewer key and value heads than query heads it is grouped-query attention (Ainslie et al. 2023); with
    one of them, multi-query attention (Shazeer 2019). It builds no num_queries × num_keys matrix unless
    `need_weights` is set, or a mask of that size is needed: `mask` or `window`, or `is_causal` for several
    queries after cached keys. The kernel turns masks into floating numbers. (On a CPU it builds a matrix for
    dropout, too.)

    `input_projection` gives the queries of all heads, then keys, then values: (num_heads + 2 · num_kv_heads)
    · head_dim numbers for each token.

    The options that later decoders have act in this order after the split into heads: `query_norm` and
    `key_norm`, an `RMSNorm` over head_dim (QK-norm); `rotary`, which rotates queries and keys; a `window`,
    beyond which no query looks back; `sinks`, a logit for each head that takes part of the weight, so that
    weights sum to less than 1. A cache holds the normalised and rotated keys of the num_kv_heads alone.

    Source: Vaswani et al. 2017, section 3.2.2; our embed_dim is their d_model, num_heads their h, head_dim
    their d_k = d_v. QK-norm: Henry et al. 2020, as in Qwen3; sinks: gpt-oss (OpenAI 2025); for the others
    see `RotaryPositions` and `window_mask`.

    >>> attention = MultiHeadAttention(embed_dim=12, num_heads=4, num_kv_heads=2)
    >>> output, weights = attention(torch.randn(2, 5, 12), is_causal=True, need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 12]), torch.Size([2, 4, 5, 5]))
    """

    @checked
    def __init__(
        self,
        embed_dim: Size,
        num_heads: Size,
        num_kv_heads: Size | None = None,
        dropout: Probability = 0.0,
        bias: bool = True,
        *,
        head_dim: Size | None = None,
        rotary: RotaryPositions | None = None,
        qk_norm_eps: Positive | None = None,
        window: Size | None = None,
        sinks: bool = False,
    ) -> None:
        """Make the projections.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many query heads; must divide `embed_dim` unless `head_dim` is given.
            num_kv_heads: how many heads of keys and values; must divide `num_heads`, which is the default.
            dropout: the probability with which a weight is set to 0 in training.
            bias: whether the projections add a learned bias.
            head_dim: size of a head's queries, keys and values; embed_dim / num_heads by default.
            rotary: the rotary positions of queries and keys; for self-attention only.
            qk_norm_eps: the eps with which each head's queries and keys are normalised; None: they are not.
            window: how many keys a query sees at most, its own and those before it; for causal use only. It
                counts `positions`, if any are given, otherwise keys, padding included.
            sinks: whether each head has a sink, initially a score of 0.
        """
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim = head_dim or divide_exactly("embed_dim", embed_dim, "num_heads", num_heads)
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        divide_exactly("num_heads", num_heads, "num_kv_heads", self.num_kv_heads)
        self.sizes = [heads * self.head_dim for heads in (num_heads, self.num_kv_heads, self.num_kv_heads)]
        self.input_projection = nn.Linear(embed_dim, sum(self.sizes), bias=bias)
        self.output_projection = nn.Linear(self.sizes[0], embed_dim, bias=bias)
        if rotary is not None and rotary.head_dim != self.head_dim:
            raise ValueError(f"rotary must have head_dim = {self.head_dim}, got {rotary.head_dim}")
        self.rotary, self.window = rotary, window
        self.query_norm = None if qk_norm_eps is None else RMSNorm(self.head_dim, qk_norm_eps)
        self.key_norm = None if qk_norm_eps is None else RMSNorm(self.head_dim, qk_norm_eps)
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None

    @checked
    def forward(
        self,
        query: Float[Tensor, "batch num_queries {self.embed_dim}"],
        key: Float[Tensor, "batch num_keys {self.embed_dim}"] | None = None,
        value: Float[Tensor, "batch num_keys {self.embed_dim}"] | None = None,
        mask: Mask | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        cache: KVCache | None = None,
        head_gates: Float[Tensor, "{self.num_heads}"] | Float[Tensor, "batch {self.num_heads}"] | None = None,
        positions: Integer[Tensor, "num_queries"] | Integer[Tensor, "batch num_queries"] | None = None,
    ) -> tuple[
        Float[Tensor, "batch num_queries {self.embed_dim}"],
        Float[Tensor, "batch {self.num_heads} num_queries all_keys"] | None,
    ]:
        """Attend; with one argument the sequence attends to itself.

        Args:
            query: what the queries are projected from.
            key: what the keys are projected from; `query` by default.
            value: what the values are projected from; `key` by default.
            mask: True = may attend; see `scaled_dot_product_attention`. With a cache it covers all keys.
            is_causal: hide later keys, as `causal_mask` does; a query sees what both this and `mask` allow.
            need_weights: also return the weights, dropout included, which takes the explicit softmax.
            cache: earlier keys and values; the new ones are added to it. From a complete one
                (`KVCache(fixed=True)` after its first use) come all, and `key` and `value` are not read. With
                a cache the inputs must be finite: they may be seen later, and so are not hidden.
            head_gates: a factor for each head's output; 1 = unchanged.
            positions: those of the queries, for `rotary` and `window` only. By default they are counted from
                the cache's length on, padding included.

        Returns:
            The output, (batch, num_queries, embed_dim), and the weights, (batch, num_heads, num_queries,
            all_keys), or None without `need_weights`. `all_keys` counts the cached keys, too.

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit; `key` or a complete cache is given, but there is `rotary` or a
                `window`; `is_causal` is False, but there is a `window`.
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check_arguments(query, key, is_causal, cache)
        num_keys, seen = key.shape[1] if cache is None else cache.length_with(key), positions
        if cache is not None and self.window is not None:
            seen = cache.positions_with(query.shape[1], positions)
        shape = query.shape[0], self.num_heads, query.shape[1], num_keys
        visibility = Visibility.combine(shape, mask, is_causal, self.window, seen, query.device, need_weights)
        if cache is None:
            query, key, value = hide_unseen(query, key, value, visibility.mask)
        q, k, v = self._project(query, key, value, cache, positions)
        output, weights = self._attend(q, k, v, visibility, need_weights)
        if head_gates is not None:
            output = output * head_gates[..., None, None]
        output = output.transpose(1, 2).flatten(2)  # (batch, num_queries, num_heads · head_dim)
        output = self.output_projection(output)
        if cache is not None:
            cache.advance()
        return output, weights

    def extra_repr(self) -> str:
        """Give the sizes, for `print(module)`."""
        sizes = f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}"
        head_dim = "" if self.head_dim * self.num_heads == self.embed_dim else f", head_dim={self.head_dim}"
        return sizes + head_dim + ("" if self.window is None else f", window={self.window}")

    def _check_arguments(self, query: Tensor, key: Tensor, is_causal: bool, cache: KVCache | None) -> None:
        """Refuse positions or a window in cross-attention, and a window without causality."""
        if self.rotary is None and self.window is None:
            return
        if key is not query or (cache is not None and cache.fixed):
            raise ValueError("key must be None, as rotary and window are for self-attention, got another one")
        if self.window is not None and not is_causal:
            raise ValueError(f"is_causal must be True with a window of {self.window}, got False")

    def _project(
        self, query: Tensor, key: Tensor, value: Tensor, cache: KVCache | None, positions: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give queries, and all keys and values, split into heads: (batch, heads, num_tokens, head_dim)."""
        complete = cache is not None and cache.complete
        if key is query and value is query and not complete:  # one product instead of three
            heads = self._split(self.input_projection(query))
            q, *rest = torch.split(heads, [size // self.head_dim for size in self.sizes], dim=1)
        else:
            weights = torch.split(self.input_projection.weight, self.sizes)
            bias = self.input_projection.bias
            biases = (None, None, None) if bias is None else torch.split(bias, self.sizes)
            inputs = (query,) if complete else (query, key, value)
            q, *rest = (self._split(F.linear(*each)) for each in zip(inputs, weights, biases, strict=False))
        q = q if self.query_norm is None else self.query_norm(q)
        if cache is not None and complete:
            return q, *cache.read()
        k, v = rest
        k = k if self.key_norm is None else self.key_norm(k)
        q, k = self._rotate(q, k, positions, start=0 if cache is None else cache.length)
        if cache is None:
            return q, k, v
        return q, *cache.update(k, v, None if self.window is None else positions)

    def _rotate(self, q: Tensor, k: Tensor, positions: Tensor | None, start: int) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys; positions count from `start` by default."""
        if self.rotary is None:
            return q, k
        if positions is None:
            positions = torch.arange(start, start + q.shape[2], device=q.device)
        both = self.rotary(torch.cat((q, k), dim=1), positions)
        return both[:, : self.num_heads], both[:, self.num_heads :]

    def _split(self, x: Tensor) -> Tensor:
        """Split into heads: (batch, any number of heads, num_tokens, head_dim)."""
        return torch.unflatten(x, -1, (-1, self.head_dim)).transpose(1, 2)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, visibility: Visibility, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Give the heads' outputs, (batch, num_heads, num_queries, head_dim), and the weights if needed."""
        dropout = self.dropout if self.training else 0.0
        if self.sinks is not None:
            return attend_with_sinks(q, k, v, self.sinks, visibility, dropout, need_weights)
        group = self.num_heads // self.num_kv_heads  # query heads of one group are neighbours
        if need_weights:
            k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
            return attend(q, k, v, visibility.mask, dropout)
        output = F.scaled_dot_product_attention(
            q, k, v, visibility.mask, dropout, visibility.is_causal, enable_gqa=group > 1
        )
        return output, None
