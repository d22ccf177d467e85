"""Attention as plain functions: scores, weights, and the weighted sum.

Source: Vaswani et al. 2017, equation 1: softmax(Q Kᵀ / √d_k) V. Our `head_dim` is their d_k; `scores` are
what goes into the softmax, `weights` what comes out of it.

Shapes are jaxtyping's: `*batch` is any number of leading dimensions, and a name has one size in all arguments
of a call. `@checked` refuses anything else with TypeError or ValueError.
"""

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
    is False have no effect, NaN included. All heads of (batch, num_heads, num_queries, num_keys) scores share
    a mask of three dimensions, (batch, num_queries, num_keys).

    Raises:
        TypeError: `scores` is not a floating tensor, or `mask` not a boolean one.
        ValueError: `mask` does not broadcast to the shape of `scores`.

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
    """Compute softmax(query · keyᵀ / √head_dim) · value; where `mask` is False, the weight is 0.

    Args:
        query: one vector for each query.
        key: what the queries are compared with.
        value: what is averaged with the weights.
        mask: True = may attend. It broadcasts to the shape of the weights. If it has three dimensions,
            (batch, num_queries, num_keys), and the weights four, all heads share it. A query that may attend
            to nothing gets an output of zeros.
        dropout: the probability with which a weight is set to 0; the others are divided by 1 - dropout.
            Also in evaluation mode, as in `torch.nn.functional.scaled_dot_product_attention`.

    Returns:
        The output, and the attention weights: the softmax, after dropout if there is any.

    Raises:
        TypeError: a tensor has the wrong dtype, or not that of the others; `mask` is not boolean.
        ValueError: the shapes do not fit each other, or `dropout` is not between 0 and 1.

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
    """Like `scaled_dot_product_attention`, for inputs to which `hide_unseen` has been applied.

    >>> attend(torch.zeros(1, 2), torch.ones(2, 2), torch.tensor([[3.0], [6.0]]))
    (tensor([[4.5000]]), tensor([[0.5000, 0.5000]]))
    """
    weights = masked_softmax(attention_scores(query, key), mask)
    weights = F.dropout(weights, dropout) if dropout > 0.0 else weights
    return weights @ value, weights


def hide_unseen(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Zero the keys and values that no query may see, and the queries that may see no key.

    Each tensor is (…, num_tokens, any size). A module that calls this before it splits its tensors into heads
    may pass a mask for each head, (batch, num_heads, num_queries, num_keys): what at least one head may see
    counts as seen.

    A hidden weight is 0, but 0 · NaN is NaN: what padding holds would leak into outputs and gradients
    (https://github.com/pytorch/pytorch/issues/101967).

    >>> query, key = torch.ones(1, 1), torch.tensor([[1.0], [2.0]])
    >>> value = torch.tensor([[3.0], [torch.nan]])
    >>> hidden = hide_unseen(query, key, value, mask=torch.tensor([[True, False]]))
    >>> hidden[1].flatten(), hidden[2].flatten()
    (tensor([1., 0.]), tensor([3., 0.]))
    """
    if mask is None:
        return query, key, value
    mask = mask.any(dim=1) if mask.ndim > query.ndim else mask
    mask = broadcast_mask(mask, (*query.shape[:-1], key.shape[-2]))
    blind, unseen = ~mask.any(dim=-1, keepdim=True), ~mask.any(dim=-2, keepdim=True).mT
    key, value = (x.masked_fill(unseen, 0.0) for x in (key, value))
    return query.masked_fill(blind, 0.0), key, value
