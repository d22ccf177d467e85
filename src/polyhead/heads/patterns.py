"""What heads attend to: how much of their weight goes where, and how different two heads are."""

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
    """How much of its weight each head puts on the keys that `where` names, from 0 to 1.

    The mean over all queries of the batch that have such a key: of query i, Σ weights[i, j] over the j with
    where[i, j]. What a head would reach that attends to all alike is the share of equal weights.
    """
    asks = where.any(dim=-1)  # (batch, num_queries)
    if not asks.any():
        raise ValueError("where must be True somewhere, got False everywhere")
    found = (weights * where[:, None]).sum(dim=-1)  # (batch, num_heads, num_queries)
    return found.transpose(1, 2)[asks].mean(dim=0)


@checked
def distance(
    weights: Float[Tensor, "batch num_heads num_queries num_keys"],
    others: Float[Tensor, "batch num_others num_queries num_keys"],
    queries: Bool[Tensor, "batch num_queries"],
) -> Float[Tensor, "num_heads num_others"]:
    """How differently heads attend: the mean Jensen-Shannon distance of their rows of weights, from 0 to 1.

    With m = (p + q) / 2 it is the root of ½ Σ p log2(p / m) + ½ Σ q log2(q / m): 0 for equal rows, 1 for rows
    that have no key in common.

    Args:
        weights: of one layer.
        others: of the same layer or another, on the same sentences.
        queries: which queries count; padding should not.

    Source: Endres and Schindelin 2003; used on heads by Clark et al. 2019, section 6.
    """
    p = weights.transpose(1, 2)[queries][:, :, None]  # (num_rows, num_heads, 1, num_keys)
    q = others.transpose(1, 2)[queries][:, None]  # (num_rows, 1, num_others, num_keys)
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    return divergence.clamp(0.0, 1.0).sqrt().mean(dim=0)


def _relative_entropy(p: Tensor, m: Tensor) -> Tensor:
    """Σ p log2(p / m), where 0 log 0 is 0."""
    return (torch.xlogy(p, p) - torch.xlogy(p, m)).sum(dim=-1) / torch.log(torch.tensor(2.0, dtype=p.dtype))
