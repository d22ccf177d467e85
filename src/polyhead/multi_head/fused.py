"""Multi-head attention to use: one projection for everything, and PyTorch's fused attention kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.cache import KVCache
from polyhead.checked import Mask, Positive, Probability, Size, checked, divided
from polyhead.functional import hide_unseen, scaled_dot_product_attention
from polyhead.masks import aligned, causal_mask, window_mask
from polyhead.multi_head.sinks import attend_with_sinks
from polyhead.norms import RMSNorm
from polyhead.positions import RotaryPositions


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, computed at once by `torch.nn.functional.scaled_dot_product_attention`.

    With fewer key and value heads than query heads it is grouped-query attention (Ainslie et al. 2023); with
    one of them, multi-query attention (Shazeer 2019). It builds no num_queries × num_keys matrix of floating
    numbers unless the weights are asked for, or the mask or a window has one. (On a CPU, PyTorch's own
    function builds one where dropout acts.)

    `input_projection` gives the queries of all heads, then keys, then values: (num_heads + 2 · num_kv_heads)
    · head_dim numbers a token.

    What decoders have added since, if asked for, acts in this order after the split into heads: `query_norm`
    and `key_norm`, an `RMSNorm` over head_dim (QK-norm); `rotary`, which turns queries and keys; a `window`,
    beyond which no query looks back; `sinks`, a logit a head that takes part of the weight, so that weights
    sum to less than 1. A cache keeps the keys normalised and turned, those of the num_kv_heads alone.

    Source: Vaswani et al. 2017, section 3.2.2; our embed_dim is their d_model, num_heads their h, head_dim
    their d_k = d_v. QK-norm: Henry et al. 2020, as in Qwen3; sinks: gpt-oss (OpenAI 2025); for the others
    see `RotaryPositions` and `window_mask`.
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
        qk_norm: Positive | None = None,
        window: Size | None = None,
        sinks: bool = False,
    ) -> None:
        """Make the projections.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many query heads; must divide `embed_dim`, if no `head_dim` is given.
            num_kv_heads: how many heads of keys and values; must divide `num_heads`; as many if not given.
            dropout: the probability with which a weight is set to 0 in training.
            bias: whether the projections add a learned bias.
            head_dim: size of a head's queries, keys and values; embed_dim / num_heads if not given.
            rotary: what turns queries and keys; for the attention of tokens to one another.
            qk_norm: the eps with which the queries and keys of each head are normalised; None: they are not.
            window: how many keys a query sees at most, itself and those before it, for causal use; counted by
                `positions`, if there are some, otherwise in order, padding included.
            sinks: whether each head has a sink, which begins as a score of 0.
        """
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim = head_dim or divided("embed_dim", embed_dim, "num_heads", num_heads)
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        divided("num_heads", num_heads, "num_kv_heads", self.num_kv_heads)
        self.sizes = [heads * self.head_dim for heads in (num_heads, self.num_kv_heads, self.num_kv_heads)]
        self.input_projection = nn.Linear(embed_dim, sum(self.sizes), bias=bias)
        self.output_projection = nn.Linear(self.sizes[0], embed_dim, bias=bias)
        if rotary is not None and rotary.head_dim != self.head_dim:
            raise ValueError(f"rotary must have head_dim = {self.head_dim}, got {rotary.head_dim}")
        self.rotary, self.window = rotary, window
        self.query_norm = None if qk_norm is None else RMSNorm(self.head_dim, qk_norm)
        self.key_norm = None if qk_norm is None else RMSNorm(self.head_dim, qk_norm)
        self.sinks = nn.Parameter(torch.zeros(num_heads)) if sinks else None

    @checked
    def forward(
        self,
        query: Float[Tensor, "batch num_queries embed_dim"],
        key: Float[Tensor, "batch num_keys embed_dim"] | None = None,
        value: Float[Tensor, "batch num_keys embed_dim"] | None = None,
        mask: Mask | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        cache: KVCache | None = None,
        head_gates: Float[Tensor, "num_heads"] | Float[Tensor, "batch num_heads"] | None = None,
        positions: Integer[Tensor, "num_queries"] | Integer[Tensor, "batch num_queries"] | None = None,
    ) -> tuple[
        Float[Tensor, "batch num_queries embed_dim"],
        Float[Tensor, "batch {self.num_heads} num_queries all_keys"] | None,
    ]:
        """Attend; with one argument, to the sequence itself.

        Args:
            query: what asks.
            key: what is compared; `query` if not given.
            value: what is mixed; `key` if not given.
            mask: see `scaled_dot_product_attention`. With a cache, num_keys counts all.
            is_causal: let no query see a later key, as `causal_mask` says; both this and `mask` must allow.
            need_weights: also return the weights, dropout included, which takes the explicit softmax.
            cache: where earlier keys and values are; the new ones are added to it. From a complete one
                (`KVCache(fixed=True)` after its first use) all come, and `key` and `value` are not read.
                What a cache is given must be finite: it may be seen later, and is not hidden.
            head_gates: a factor for each head's output; 1 = as is.
            positions: where the queries stand, which are the new tokens, for `rotary` and `window`; nothing
                else reads them. If not given they are counted, from the cache's length on, padding included.
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check(query, key, is_causal, cache)
        num_keys = key.shape[1] if cache is None else cache.length_with(key)
        mask, is_causal = self._windowed(mask, is_causal, query, num_keys, positions, cache)
        mask, is_causal = self._mask(mask, is_causal, query, num_keys, need_weights)
        if cache is None:
            query, key, value = hide_unseen(query, key, value, mask)
        q, k, v = self._projected(query, key, value, cache, positions)
        output, weights = self._attended(q, k, v, mask, is_causal, need_weights)
        if head_gates is not None:
            output = output * head_gates[..., None, None]
        joined = output.transpose(1, 2).flatten(2)  # (batch, num_queries, embed_dim)
        output = self.output_projection(joined)
        if cache is not None:
            cache.advance()
        return output, weights

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        sizes = f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}"
        own = "" if self.head_dim * self.num_heads == self.embed_dim else f", head_dim={self.head_dim}"
        return sizes + own + ("" if self.window is None else f", window={self.window}")

    def _check(self, query: Tensor, key: Tensor, is_causal: bool, cache: KVCache | None) -> None:
        """Positions are for tokens that ask one another; a window, for those that look back."""
        if self.rotary is None and self.window is None:
            return
        if key is not query or (cache is not None and cache.fixed):
            raise ValueError(
                "key must be None, as with rotary or a window tokens ask one another, got others"
            )
        if self.window is not None and not is_causal:
            raise ValueError(
                f"is_causal must be True, as the window of {self.window} looks back only, got False"
            )

    def _windowed(
        self,
        mask: Tensor | None,
        is_causal: bool,
        query: Tensor,
        num_keys: int,
        positions: Tensor | None,
        cache: KVCache | None,
    ) -> tuple[Tensor | None, bool]:
        """The mask with the window in it, which is causal; unchanged if no key is too far away.

        The window counts positions, if some are given, otherwise tokens, padding included.
        """
        if self.window is None:
            return mask, is_causal
        batch, num_queries, _ = query.shape
        places = positions if cache is None else cache.positions_with(num_queries, positions)
        if places is None and num_keys <= self.window:
            return mask, is_causal
        if places is None:
            near = window_mask(num_queries, self.window, num_keys).to(query.device)
        else:
            distances = places[..., num_keys - num_queries :, None] - places[..., None, :]
            near = (distances < self.window) & causal_mask(num_queries, num_keys).to(query.device)
        target = (batch, self.num_heads, num_queries, num_keys)
        near = aligned(near, target)
        return near if mask is None else near & aligned(mask, target), False

    def _mask(
        self, mask: Tensor | None, is_causal: bool, query: Tensor, num_keys: int, need_weights: bool
    ) -> tuple[Tensor | None, bool]:
        """The mask to use, and whether the kernel's own causal one does, which lies at the upper left."""
        batch, num_queries, _ = query.shape
        if mask is not None:
            # Not expanded: the kernel would make floating numbers of all that it is given.
            mask = aligned(mask, (batch, self.num_heads, num_queries, num_keys))
        if not is_causal or num_queries == 1:  # the last token alone sees all
            return mask, False
        if mask is None and num_queries == num_keys and not need_weights:
            return None, True
        causal = causal_mask(num_queries, num_keys).to(query.device)
        return causal if mask is None else mask & causal, False

    def _projected(
        self, query: Tensor, key: Tensor, value: Tensor, cache: KVCache | None, positions: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, and all keys and values, split into heads: (batch, heads, num_tokens, head_dim)."""
        complete = cache is not None and cache.complete
        if key is query and value is query and not complete:
            parts = torch.split(self.input_projection(query), self.sizes, dim=-1)
        else:
            weights = torch.split(self.input_projection.weight, self.sizes)
            bias = self.input_projection.bias
            biases = (None, None, None) if bias is None else torch.split(bias, self.sizes)
            inputs = (query,) if complete else (query, key, value)
            parts = tuple(F.linear(*each) for each in zip(inputs, weights, biases, strict=False))
        q, *rest = (torch.unflatten(part, -1, (-1, self.head_dim)).transpose(1, 2) for part in parts)
        earlier = 0 if cache is None else cache.length
        q = self._turned(q, self.query_norm, positions, earlier)
        if cache is not None and complete:
            return q, *cache.read()
        k, v = self._turned(rest[0], self.key_norm, positions, earlier), rest[1]
        if cache is None:
            return q, k, v
        return q, *cache.update(k, v, None if self.window is None else positions)

    def _turned(self, x: Tensor, norm: RMSNorm | None, positions: Tensor | None, earlier: int) -> Tensor:
        """Queries or keys, normalised and turned."""
        x = x if norm is None else norm(x)
        if self.rotary is None:
            return x
        if positions is None:
            positions = torch.arange(earlier, earlier + x.shape[2], device=x.device)
        return self.rotary(x, positions)

    def _attended(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        dropout = self.dropout if self.training else 0.0
        if self.sinks is not None:
            return attend_with_sinks(q, k, v, self.sinks, mask, dropout, is_causal, need_weights)
        group = self.num_heads // self.num_kv_heads  # heads of one group stand side by side
        if need_weights:
            k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
            return scaled_dot_product_attention(q, k, v, mask, dropout)
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal, enable_gqa=group > 1), None
