"""Multi-head attention to use: one projection for everything, and PyTorch's fused attention kernel."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.functional import hide_unseen
from polyhead.masks import causal_mask


@runtime_checkable
class Cache(Protocol):
    """What `MultiHeadAttention` asks of a cache of keys and values; `KVCache` is one."""

    @property
    def complete(self) -> bool:
        """Whether it holds all of them already: then it is read, and none are computed."""

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add new tokens' keys and values, (batch, num_kv_heads, num_new, head_dim); give all so far."""

    def read(self) -> tuple[Tensor, Tensor]:
        """Give all so far."""


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, computed at once by `torch.nn.functional.scaled_dot_product_attention`.

    With fewer key and value heads than query heads it is grouped-query attention (Ainslie et al. 2023); with
    one of them, multi-query attention (Shazeer 2019). It builds no num_queries × num_keys matrix of floating
    numbers unless the weights are asked for, or the mask has one. (On a CPU, PyTorch's own function builds
    one where dropout acts.)

    Attributes:
        input_projection: `nn.Linear(embed_dim, embed_dim + 2 · num_kv_heads · head_dim)`: queries of all
            heads, then keys, then values.
        output_projection: `nn.Linear(embed_dim, embed_dim)`.

    Source: Vaswani et al. 2017, section 3.2.2; our embed_dim is their d_model, num_heads their h, head_dim
    their d_k = d_v.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        """Make the projections.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many query heads; must divide `embed_dim`.
            num_kv_heads: how many heads of keys and values; must divide `num_heads`; as many if not given.
            dropout: the probability with which a weight is set to 0 in training.
            bias: whether the projections add a learned bias.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1 or does not divide, or dropout is no probability.
        """
        super().__init__()
        self.embed_dim = _validate.at_least("embed_dim", embed_dim)
        self.head_dim = _validate.head_dim(embed_dim, num_heads)
        self.num_heads = num_heads
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        _validate.divided("num_heads", num_heads, "num_kv_heads", self.num_kv_heads)
        self.dropout = _validate.probability("dropout", dropout)
        bias = _validate.flag("bias", bias)
        self._sizes = [embed_dim, self.num_kv_heads * self.head_dim, self.num_kv_heads * self.head_dim]
        self.input_projection = nn.Linear(embed_dim, sum(self._sizes), bias=bias)
        self.output_projection = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(
        self,
        query: Float[Tensor, "batch num_queries embed_dim"],
        key: Float[Tensor, "batch num_keys embed_dim"] | None = None,
        value: Float[Tensor, "batch num_keys embed_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        cache: Cache | None = None,
        head_gates: Float[Tensor, "..."] | None = None,
    ) -> tuple[
        Float[Tensor, "batch num_queries embed_dim"],
        Float[Tensor, "batch {self.num_heads} num_queries all_keys"] | None,
    ]:
        """Attend; with one argument, to the sequence itself.

        Args:
            query: (batch, num_queries, embed_dim).
            key: (batch, num_keys, embed_dim); `query` if not given.
            value: (batch, num_keys, embed_dim); `key` if not given.
            mask: boolean, True = may attend; it broadcasts to (batch, num_queries, num_keys), or, with four
                dimensions, to (batch, num_heads, num_queries, num_keys). With a cache, num_keys counts all.
            is_causal: let no query see a later key, as `causal_mask` says; both this and `mask` must allow.
            need_weights: also return the weights, which takes the explicit softmax.
            cache: where earlier keys and values are; the new ones are added to it. From a complete one
                (`KVCache(fixed=True)` after its first use) all come, and `key` and `value` are not read.
            head_gates: a factor for each head's output, (num_heads,) or (batch, num_heads); 1 = as is.

        Returns:
            The output, (batch, num_queries, embed_dim), and the weights,
            (batch, num_heads, num_queries, num_keys), dropout included, or None.

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a value that may be seen is NaN or infinite. Values are
                looked at on the CPU only: elsewhere the program would have to wait for the device.
        """
        key = query if key is None else key
        value = key if value is None else value
        _validate.tokens(query, key, value, self.input_projection.weight)
        for name, switch in (("is_causal", is_causal), ("need_weights", need_weights)):
            _validate.flag(name, switch)
        gates = None if head_gates is None else self._gates(head_gates, query)
        if cache is not None and not isinstance(cache, Cache):
            raise TypeError(
                f"cache must be a KVCache, or have update, read and complete, got {type(cache).__name__}"
            )
        if mask is not None and cache is None:
            mask = self._mask(mask, query, key.shape[1])
            if is_causal:
                mask = mask & causal_mask(query.shape[1], key.shape[1]).to(query.device)
                is_causal = False
            query, key, value = self._hide(query, key, value, mask.any(dim=1))
        elif mask is not None:
            _validate.boolean("mask", mask)  # before the cache takes anything; the shape only after that
        if cache is not None and cache.complete:
            self._check_values(query)
            q, (k, v) = self._project(query)[0], cache.read()
        else:
            self._check_values(query, key, value)
            q, k, v = self._project(query, key, value)
            k, v = (k, v) if cache is None else cache.update(k, v)
        if mask is not None and cache is not None:
            mask = self._mask(mask, query, k.shape[2])
        if self.num_kv_heads != self.num_heads:
            # Heads of one group stand side by side: repeat_interleave, not repeat.
            k, v = (x.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1) for x in (k, v))
        output, weights = self._attend(q, k, v, mask, is_causal, need_weights)
        if gates is not None:
            output = output * gates
        joined = output.transpose(1, 2).reshape(query.shape)  # (batch, num_queries, embed_dim)
        return self.output_projection(joined), weights

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}"

    def _project(self, *inputs: Tensor) -> list[Tensor]:
        """Queries of all heads, and, if all three come, keys and values: (batch, heads, tokens, head_dim)."""
        if len(inputs) == 3 and inputs[1] is inputs[0] and inputs[2] is inputs[0]:
            parts = torch.split(self.input_projection(inputs[0]), self._sizes, dim=-1)
        else:
            weights = torch.split(self.input_projection.weight, self._sizes)
            bias = self.input_projection.bias
            biases = (None,) * 3 if bias is None else torch.split(bias, self._sizes)
            parts = tuple(map(F.linear, inputs, weights, biases))
        shapes = [(*part.shape[:2], part.shape[2] // self.head_dim, self.head_dim) for part in parts]
        return [part.view(shape).transpose(1, 2) for part, shape in zip(parts, shapes, strict=True)]

    def _hide(self, query: Tensor, key: Tensor, value: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Zeros where the mask lets nobody look; one tensor stays one tensor, and one product projects it."""
        if key is query and value is query:
            used = seen.any(dim=-1) | seen.any(dim=-2)  # a token that sees, or is seen, must be sound
            query = query.masked_fill(~used.unsqueeze(-1), 0.0)
            return query, query, query
        return hide_unseen(query, key, value, seen)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        num_queries, num_keys = q.shape[2], k.shape[2]
        dropout = self.dropout if self.training else 0.0
        # The kernel's own is_causal is aligned at the upper left, and takes no mask beside it.
        if num_queries == 1:
            is_causal = False  # the last token alone sees all
        if is_causal and (need_weights or mask is not None or num_queries != num_keys):
            causal = causal_mask(num_queries, num_keys).to(q.device)
            mask = causal if mask is None else mask & causal
            is_causal = False
        if not need_weights:
            output = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal=is_causal)
            return output, None
        scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)
        blind = None if mask is None else ~mask.any(dim=-1, keepdim=True)
        if mask is not None and blind is not None:
            scores = scores.masked_fill_(~(mask | blind), -torch.inf)
        if scores.requires_grad or torch.compiler.is_compiling():
            weights = torch.softmax(scores, dim=-1)
        else:
            weights = torch.softmax(scores, dim=-1, out=scores)  # nobody needs the scores: no second matrix
        if blind is not None:
            weights = weights.masked_fill(blind, 0.0)
        if dropout > 0.0:
            weights = F.dropout(weights, dropout)
        return weights @ v, weights

    def _mask(self, mask: Tensor, query: Tensor, num_keys: int) -> Tensor:
        target = query.shape[0], self.num_heads, query.shape[1], num_keys
        # Not expanded: PyTorch would make floating numbers of all that it is given.
        return _validate.aligned_mask(mask, target, query.device)

    def _check_values(self, *tensors: Tensor) -> None:
        if tensors[0].device.type != "cpu" or torch.compiler.is_compiling():
            return
        named: dict[int, tuple[str, Tensor]] = {}
        for name, tensor in zip(("query", "key", "value"), tensors, strict=False):
            named.setdefault(id(tensor), (name, tensor))
        for name, tensor in named.values():
            # One sum is cheaper than a look at every number; only where it is odd is the look worth it.
            if not math.isfinite(tensor.sum().item()):
                _validate.finite(name, tensor, " where the mask lets it be seen")

    def _gates(self, gates: Tensor, query: Tensor) -> Tensor:
        """The gates as factors of (batch, num_heads, num_queries, head_dim)."""
        _validate.floating("head_gates", gates, min_rank=1)
        _validate.same_kind("head_gates", gates, "query", query)
        whole = query.shape[0], self.num_heads
        if gates.shape not in (whole[1:], whole):
            raise ValueError(
                f"head_gates must have shape (num_heads,) = {whole[1:]} or (batch, num_heads) = {whole}, "
                f"got {_validate.shape(gates)}"
            )
        if gates.device.type == "cpu" and not torch.compiler.is_compiling():
            _validate.finite("head_gates", gates)
        return gates[..., None, None]
