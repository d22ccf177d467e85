"""Attention as plain functions: scores, weights, and the weighted sum.

The formula is Vaswani et al. 2017, equation 1: softmax(Q Kᵀ / √d_k) V. Our `head_dim` is their d_k,
our `scores` stand before the softmax and our `weights` after it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from polyhead import _validate


def attention_scores(
    query: Float[Tensor, "*batch num_queries head_dim"],
    key: Float[Tensor, "*batch num_keys head_dim"],
) -> Float[Tensor, "*batch num_queries num_keys"]:
    """How well each query matches each key: scores = query · keyᵀ / √head_dim.

    Args:
        query: (…, num_queries, head_dim).
        key: (…, num_keys, head_dim), the same leading dimensions, dtype and device.

    Returns:
        The scores, (…, num_queries, num_keys): any real numbers, not yet weights.

    Raises:
        TypeError: an argument is not a floating tensor, or the dtypes differ.
        ValueError: the shapes do not fit, or a value is NaN or infinite.
    """
    _validate.query_and_key(query, key)
    _validate.finite("query", query)
    _validate.finite("key", key)
    return _scores(query, key)


def masked_softmax(
    scores: Float[Tensor, "*batch num_queries num_keys"], mask: Bool[Tensor, "..."] | None = None
) -> Float[Tensor, "*batch num_queries num_keys"]:
    """Turn scores into weights: a softmax over the keys that each query may attend to.

    weights[i, j] = exp(scores[i, j]) / Σ exp(scores[i, j']) over the j' with mask[i, j'], and 0 where the
    mask is False. A query that may attend to nothing gets zeros, with zero gradient; so does one whose
    scores are all -inf. What stands in `scores` where the mask is False has no effect, NaN included.

    Args:
        scores: (…, num_queries, num_keys).
        mask: boolean, True = may attend; it broadcasts to the scores. None lets every query see every key.

    Returns:
        The weights, of the scores' shape; each row sums to 1, or to 0 where nothing may be attended to.

    Raises:
        TypeError: the scores are not a floating tensor, or the mask is not a boolean one.
        ValueError: the mask does not broadcast to the scores, or a visible score is NaN or +inf.
    """
    _validate.floating("scores", scores)
    allowed = scores != -torch.inf
    if mask is not None:
        allowed = allowed & _validate.expanded_mask(mask, _validate.shape(scores), scores.device)
    _validate.finite("scores", scores.masked_fill(~allowed, 0.0), " (or -inf) where the mask is True")
    # A row of -inf alone would give NaN, forward and backward: it becomes a row of zeros first.
    blind_query = ~allowed.any(dim=-1, keepdim=True)
    visible = scores.masked_fill(~allowed, -torch.inf).masked_fill(blind_query, 0.0)
    return torch.softmax(visible, dim=-1).masked_fill(~allowed, 0.0)


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch num_queries head_dim"],
    key: Float[Tensor, "*batch num_keys head_dim"],
    value: Float[Tensor, "*batch num_keys value_dim"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch num_queries value_dim"], Float[Tensor, "*batch num_queries num_keys"]]:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √head_dim) V, with the weights beside the output.

    Args:
        query: (…, num_queries, head_dim).
        key: (…, num_keys, head_dim).
        value: (…, num_keys, value_dim): one for each key.
        mask: boolean, True = may attend, as in `torch.nn.functional.scaled_dot_product_attention`. It
            broadcasts to (batch, num_queries, num_keys); with four dimensions to
            (batch, num_heads, num_queries, num_keys).
        dropout: the probability with which a weight is set to 0, the others divided by 1 - dropout. It
            acts on every call, as in PyTorch's function: a module passes 0.0 when it is not training.

    Returns:
        The output, (…, num_queries, value_dim), and the weights that made it,
        (…, num_queries, num_keys), dropout included. A query that may attend to nothing gets zeros.

    Raises:
        TypeError: an argument is of the wrong type or dtype.
        ValueError: shapes do not fit, or a value that some query may see is NaN or infinite. Positions
            that no query may see can hold anything: they reach neither output nor gradients.
    """
    _validate.query_and_key(query, key)
    _validate.key_and_value(key, value)
    dropout = _validate.probability("dropout", dropout)
    query, key, value = hide_unseen(query, key, value, mask)
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        _validate.finite(name, tensor, " where the mask lets it be seen")
    weights = masked_softmax(_scores(query, key), mask)
    if dropout > 0.0:
        weights = F.dropout(weights, dropout)
    return weights @ value, weights


def hide_unseen(
    query: Float[Tensor, "*batch num_queries _q"],
    key: Float[Tensor, "*batch num_keys _k"],
    value: Float[Tensor, "*batch num_keys _v"],
    mask: Bool[Tensor, "..."] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Put zeros where the mask lets nobody look: keys that no query sees, queries that see no key.

    A masked weight is 0, but 0 × NaN is NaN: what padding holds would otherwise leak into outputs and
    gradients (https://github.com/pytorch/pytorch/issues/101967).

    Args:
        query: (…, num_queries, any).
        key: (…, num_keys, any).
        value: (…, num_keys, any).
        mask: boolean, True = may attend, or None.

    Returns:
        New query, key and value; the arguments are not changed.

    Raises:
        TypeError: the mask is not a boolean tensor.
        ValueError: it does not broadcast to (…, num_queries, num_keys).
    """
    if mask is None:
        return query, key, value
    target = (*_validate.shape(query)[:-1], key.shape[-2])
    mask = _validate.expanded_mask(mask, target, query.device)
    blind_query = ~mask.any(dim=-1).unsqueeze(-1)
    unseen_key = ~mask.any(dim=-2).unsqueeze(-1)
    return (
        query.masked_fill(blind_query, 0.0),
        key.masked_fill(unseen_key, 0.0),
        value.masked_fill(unseen_key, 0.0),
    )


def _scores(query: Tensor, key: Tensor) -> Tensor:
    # Divided before the product: in float16 the product of long vectors would overflow first.
    return (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
