"""Attention as plain functions: scores, weights, and the weighted sum.

Source: Vaswani et al. 2017, equation 1: softmax(Q Kᵀ / √d_k) V. Our `head_dim` is their d_k; `scores` are
what goes into the softmax, `weights` what comes out of it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from polyhead.checked import Mask, Probability, checked
from polyhead.masks import broadcast_mask


@checked
def attention_scores(
    query: Float[Tensor, "*batch num_queries head_dim"], key: Float[Tensor, "*batch num_keys head_dim"]
) -> Float[Tensor, "*batch num_queries num_keys"]:
    """Compute how well each query matches each key: query · keyᵀ / √head_dim.

    >>> query = torch.tensor([[1.0, 0.0, 2.0, 0.0]])
    >>> key = torch.tensor([[3.0, 5.0, 1.0, 7.0], [0.0, 2.0, 4.0, 6.0]])
    >>> attention_scores(query, key)
    tensor([[2.5000, 4.0000]])
    """
    # Divided before the product: in float16 the product of long vectors would overflow first.
    return (query / math.sqrt(query.shape[-1])) @ key.mT


@checked
def masked_softmax(
    scores: Float[Tensor, "*batch num_queries num_keys"], mask: Mask | None = None
) -> Float[Tensor, "*batch num_queries num_keys"]:
    """Turn scores into weights: exp(scores[i, j]) / Σ exp(scores[i, j']) over the keys that query i may see.

    The others get 0. A query that may attend to nothing gets zeros, with zero gradient. Scores where the mask
    is False have no effect, NaN included.

    >>> scores = torch.tensor([[0.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    >>> masked_softmax(scores, torch.tensor([[True, False, True], [False, False, False]]))
    tensor([[0.5000, 0.0000, 0.5000],
            [0.0000, 0.0000, 0.0000]])
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = ~broadcast_mask(mask, scores.shape)
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
    """Compute softmax(query · keyᵀ / √head_dim) · value, and the weights, which are the softmax.

    Args:
        query: one vector for each query.
        key: what the queries are compared with.
        value: what is averaged with the weights.
        mask: True = may attend. It broadcasts to the weights; one of three dimensions is (batch, num_queries,
            num_keys), and serves every head alike where the weights have four. A query that may attend to
            nothing gets zeros.
        dropout: the probability with which a weight is set to 0, on every call, as in PyTorch's function.

    >>> query, key, value = torch.zeros(1, 2), torch.ones(3, 2), torch.tensor([[3.0], [6.0], [9.0]])
    >>> output, weights = scaled_dot_product_attention(query, key, value, torch.tensor([True, True, False]))
    >>> output, weights
    (tensor([[4.5000]]), tensor([[0.5000, 0.5000, 0.0000]]))
    """
    query, key, value = hide_unseen(query, key, value, mask)
    return attend(query, key, value, mask, dropout)


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: Probability = 0.0
) -> tuple[Tensor, Tensor]:
    """Compute `scaled_dot_product_attention` where `hide_unseen` has been applied already.

    >>> attend(torch.zeros(1, 2), torch.ones(2, 2), torch.tensor([[3.0], [6.0]]))
    (tensor([[4.5000]]), tensor([[0.5000, 0.5000]]))
    """
    weights = masked_softmax(attention_scores(query, key), mask)
    weights = F.dropout(weights, dropout) if dropout > 0.0 else weights
    return weights @ value, weights


def hide_unseen(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Set keys and values that no query sees to 0, and queries that see no key: all (…, num_tokens, any).

    A hidden weight is 0, but 0 · NaN is NaN: what padding holds would leak into outputs and gradients
    (https://github.com/pytorch/pytorch/issues/101967). A mask of one dimension more has one for the heads.

    >>> key = torch.tensor([[3.0], [torch.nan]])
    >>> query, key, value = hide_unseen(torch.ones(1, 1), key, key, torch.tensor([[True, False]]))
    >>> value
    tensor([[3.],
            [0.]])
    """
    if mask is None:
        return query, key, value
    mask = mask.any(dim=1) if mask.ndim > query.ndim else mask
    mask = broadcast_mask(mask, (*query.shape[:-1], key.shape[-2]))
    blind, unseen = ~mask.any(dim=-1, keepdim=True), ~mask.any(dim=-2, keepdim=True).mT
    key, value = (x.masked_fill(unseen, 0.0) for x in (key, value))
    return query.masked_fill(blind, 0.0), key, value
