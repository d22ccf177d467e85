"""Attention patterns: the share of weight on given keys, and the distance between two heads."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from polyhead.checked import checked


@checked
def share(
    weights: Float[Tensor, "batch num_heads num_queries num_keys"],
    where: Bool[Tensor, "batch num_queries num_keys"],
) -> Float[Tensor, "num_heads"]:
    """Measure the share of its weight that each head puts on the keys marked by `where`, from 0 to 1.

    The mean over all queries of the batch with such a key: for query i, Σ weights[i, j] over the j with
    where[i, j]. Compare it with the share of equal weights, which belongs to a head that ignores the scores.

    >>> weights = torch.tensor([[[[0.25, 0.75], [0.5, 0.5]]]])
    >>> share(weights, torch.tensor([[[False, True], [False, False]]]))
    tensor([0.7500])
    """
    queries = where.any(dim=-1)  # (batch, num_queries)
    if not queries.any():
        raise ValueError("where must be True somewhere, got False everywhere")
    shares = (weights * where[:, None]).sum(dim=-1)  # (batch, num_heads, num_queries)
    return shares.transpose(1, 2)[queries].mean(dim=0)


@checked
def distance(
    weights: Float[Tensor, "batch num_heads num_queries num_keys"],
    others: Float[Tensor, "batch num_others num_queries num_keys"],
    queries: Bool[Tensor, "batch num_queries"],
) -> Float[Tensor, "num_heads num_others"]:
    """Measure how differently heads attend: the mean Jensen-Shannon distance of their rows, from 0 to 1.

    With m = (p + q) / 2 it is the root of ½ Σ p log2(p / m) + ½ Σ q log2(q / m): 0 for equal rows, 1 for rows
    that have no key in common.

    Args:
        weights: the weights of one layer.
        others: the weights of the same layer or another, on the same sentences.
        queries: which queries count, at least one; padding should not.

    Source: Endres and Schindelin 2003; used on heads by Clark et al. 2019, section 6.

    >>> weights = torch.eye(2)[None, None]  # one head, each query attends to itself
    >>> distance(weights, weights.flip(-1), torch.tensor([[True, True]]))
    tensor([[1.]])
    """
    if not queries.any():
        raise ValueError("queries must be True somewhere, got False everywhere")
    p = weights.transpose(1, 2)[queries][:, :, None]  # (num_rows, num_heads, 1, num_keys)
    q = others.transpose(1, 2)[queries][:, None]  # (num_rows, 1, num_others, num_keys)
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    return divergence.clamp(0.0, 1.0).sqrt().mean(dim=0)


def _relative_entropy(p: Tensor, m: Tensor) -> Tensor:
    """Σ p log2(p / m), where 0 log 0 is 0."""
    return (torch.xlogy(p, p) - torch.xlogy(p, m)).sum(dim=-1) / torch.log(torch.tensor(2.0, dtype=p.dtype))
