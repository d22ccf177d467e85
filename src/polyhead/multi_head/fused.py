"""Multi-head attention to use: one projection for everything, and PyTorch's fused attention kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from polyhead.cache import KVCache
from polyhead.checked import Mask, Probability, Size, checked, divided
from polyhead.functional import hide_unseen, scaled_dot_product_attention
from polyhead.masks import aligned, causal_mask


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, computed at once by `torch.nn.functional.scaled_dot_product_attention`.

    With fewer key and value heads than query heads it is grouped-query attention (Ainslie et al. 2023); with
    one of them, multi-query attention (Shazeer 2019). It builds no num_queries × num_keys matrix of floating
    numbers unless the weights are asked for, or the mask has one. (On a CPU, PyTorch's own function builds
    one where dropout acts.)

    `input_projection` gives the queries of all heads, then keys, then values: embed_dim + 2 · num_kv_heads ·
    head_dim numbers a token.

    Source: Vaswani et al. 2017, section 3.2.2; our embed_dim is their d_model, num_heads their h, head_dim
    their d_k = d_v.
    """

    @checked
    def __init__(
        self,
        embed_dim: Size,
        num_heads: Size,
        num_kv_heads: Size | None = None,
        dropout: Probability = 0.0,
        bias: bool = True,
    ) -> None:
        """Make the projections.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many query heads; must divide `embed_dim`.
            num_kv_heads: how many heads of keys and values; must divide `num_heads`; as many if not given.
            dropout: the probability with which a weight is set to 0 in training.
            bias: whether the projections add a learned bias.
        """
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim = divided("embed_dim", embed_dim, "num_heads", num_heads)
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        divided("num_heads", num_heads, "num_kv_heads", self.num_kv_heads)
        self.sizes = [embed_dim, self.num_kv_heads * self.head_dim, self.num_kv_heads * self.head_dim]
        self.input_projection = nn.Linear(embed_dim, sum(self.sizes), bias=bias)
        self.output_projection = nn.Linear(embed_dim, embed_dim, bias=bias)

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
        """
        key = query if key is None else key
        value = key if value is None else value
        num_keys = key.shape[1] if cache is None else cache.length_with(key)
        mask, is_causal = self._mask(mask, is_causal, query, num_keys, need_weights)
        if cache is None:
            query, key, value = hide_unseen(query, key, value, mask)
        q, k, v = self._projected(query, key, value, cache)
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
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}"

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
        self, query: Tensor, key: Tensor, value: Tensor, cache: KVCache | None
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
        if cache is None:
            return q, rest[0], rest[1]
        return q, *(cache.read() if complete else cache.update(rest[0], rest[1]))

    def _attended(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        dropout = self.dropout if self.training else 0.0
        group = self.num_heads // self.num_kv_heads  # heads of one group stand side by side
        if need_weights:
            k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
            return scaled_dot_product_attention(q, k, v, mask, dropout)
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal, enable_gqa=group > 1), None
