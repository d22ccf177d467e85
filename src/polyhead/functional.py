"""Attention as plain functions: scores, weights, and the weighted sum.

Source: Vaswani et al. 2017, equation 1: softmax(Q Kᵀ / √d_k) V. Our `head_dim` is their d_k; our `scores`
stand before the softmax, our `weights` after it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from polyhead.checked import Mask, Probability, checked
from polyhead.masks import aligned


@checked
def attention_scores(
    query: Float[Tensor, "*batch num_queries head_dim"], key: Float[Tensor, "*batch num_keys head_dim"]
) -> Float[Tensor, "*batch num_queries num_keys"]:
    """How well each query matches each key: query · keyᵀ / √head_dim."""
    # Divided before the product: in float16 the product of long vectors would overflow first.
    return (query / math.sqrt(query.shape[-1])) @ key.mT


@checked
def masked_softmax(
    scores: Float[Tensor, "*batch num_queries num_keys"], mask: Mask | None = None
) -> Float[Tensor, "*batch num_queries num_keys"]:
    """Scores into weights: exp(scores[i, j]) / Σ exp(scores[i, j']) over the keys that query i may see.

    The others get 0. A query that may attend to nothing gets zeros, with zero gradient. What stands in
    `scores` where the mask is False has no effect, NaN included.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = ~aligned(mask, scores.shape)
    blind = hidden.all(dim=-1, keepdim=True)  # a row of -inf would give NaN, forward and backward
    visible = scores.masked_fill(hidden, -torch.inf).masked_fill(blind, 0.0)
    return torch.softmax(visible, dim=-1).masked_fill(blind, 0.0)


@checked
def scaled_dot_product_attention(
    query: Float[Tensor, "*batch num_queries head_dim"],
    key: Float[Tensor, "*batch num_keys head_dim"],
    value: Float[Tensor, "*batch num_keys value_dim"],
    mask: Mask | None = None,
    dropout: Probability = 0.0,
) -> tuple[Float[Tensor, "*batch num_queries value_dim"], Float[Tensor, "*batch num_queries num_keys"]]:
    """softmax(query · keyᵀ / √head_dim) · value, and beside it the weights, the softmax.

    A query that may attend to nothing gets zeros; `dropout` acts on every call, as in PyTorch's function.
    """
    query, key, value = hide_unseen(query, key, value, mask)
    weights = masked_softmax(attention_scores(query, key), mask)
    weights = F.dropout(weights, dropout) if dropout > 0.0 else weights
    return weights @ value, weights


def hide_unseen(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros for keys and values that no query sees, and queries that see no key: all (…, num_tokens, any).

    A hidden weight is 0, but 0 · NaN is NaN: what padding holds would leak into outputs and gradients
    (https://github.com/pytorch/pytorch/issues/101967). A mask with one dimension more has heads in it.
    """
    if mask is None:
        return query, key, value
    mask = mask.any(dim=1) if mask.ndim > query.ndim else mask
    mask = aligned(mask, (*query.shape[:-1], key.shape[-2]))
    blind, unseen = ~mask.any(dim=-1, keepdim=True), ~mask.any(dim=-2, keepdim=True).mT
    key, value = (x.masked_fill(unseen, 0.0) for x in (key, value))
    return query.masked_fill(blind, 0.0), key, value
