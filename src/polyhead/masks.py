"""Masks: which query may attend to which key. Boolean, True = may attend, everywhere."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from polyhead import _validate


def causal_mask(num_queries: int, num_keys: int | None = None) -> Bool[Tensor, "num_queries num_keys"]:
    """No query sees a later key: mask[i, j] = (j ≤ i + num_keys - num_queries).

    With more keys than queries the queries are the last ones, as when earlier keys come from a cache: the
    mask is aligned at its lower right corner.

    Args:
        num_queries: how many queries, at least 1.
        num_keys: how many keys, at least `num_queries`; as many as queries if not given.

    Returns:
        (num_queries, num_keys).

    Raises:
        TypeError: an argument is no int.
        ValueError: an argument is below 1, or there are fewer keys than queries.
    """
    _validate.at_least("num_queries", num_queries)
    num_keys = num_queries if num_keys is None else _validate.at_least("num_keys", num_keys)
    if num_keys < num_queries:
        raise ValueError(f"num_keys must be at least num_queries = {num_queries}, got {num_keys}")
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)


def padding_mask(
    valid_lens: Int[Tensor, " batch"] | Int[Tensor, "batch num_queries"], num_keys: int
) -> Bool[Tensor, "batch num_queries_or_1 num_keys"]:
    """Only the first `valid_lens` keys of each sequence count: mask[b, i, j] = (j < valid_lens[b, i]).

    Args:
        valid_lens: integers from 0 to `num_keys`; (batch,) for one length a sequence, or
            (batch, num_queries) for one length a query.
        num_keys: how many keys there are, padding included.

    Returns:
        (batch, 1, num_keys) or (batch, num_queries, num_keys).

    Raises:
        TypeError: `valid_lens` is no integer tensor, or `num_keys` no int.
        ValueError: `valid_lens` has another rank, or a length lies outside 0 … num_keys.
    """
    _validate.at_least("num_keys", num_keys)
    _validate.integers("valid_lens", valid_lens)
    if valid_lens.ndim not in (1, 2):
        raise ValueError(
            f"valid_lens must have shape (batch,) or (batch, num_queries), got {_validate.shape(valid_lens)}"
        )
    outside = (valid_lens < 0) | (valid_lens > num_keys)
    if not valid_lens.is_meta and outside.any():
        raise ValueError(
            f"valid_lens must lie between 0 and num_keys = {num_keys}, got {valid_lens[outside][0].item()}"
        )
    lens = valid_lens.unsqueeze(-1) if valid_lens.ndim == 2 else valid_lens[:, None, None]
    return torch.arange(num_keys, device=valid_lens.device) < lens


def to_torch_mha_masks(mask: Bool[Tensor, "..."], num_heads: int) -> dict[str, Tensor]:
    """Our mask as the keyword arguments of `torch.nn.MultiheadAttention`, where True means *ignore*.

    Use as `attention(query, key, value, **to_torch_mha_masks(mask, num_heads))`.

    Args:
        mask: boolean, True = may attend: (num_queries, num_keys), (batch, num_queries, num_keys),
            (batch, 1, num_keys), (batch, num_heads, num_queries, num_keys),
            (batch, 1, num_queries, num_keys) or (batch, 1, 1, num_keys).
        num_heads: how many heads the module has.

    Returns:
        `key_padding_mask`, (batch, num_keys), for a mask that is the same for every query of a sequence;
        otherwise `attn_mask`, (num_queries, num_keys) or (batch · num_heads, num_queries, num_keys).

    Raises:
        TypeError: the mask is no boolean tensor, or `num_heads` no int.
        ValueError: the mask has another rank, or another number of heads.
    """
    _validate.at_least("num_heads", num_heads)
    _validate.boolean("mask", mask)
    if mask.ndim == 2:
        return {"attn_mask": ~mask}
    if mask.ndim in (3, 4) and mask.shape[1:-1] == (1,) * (mask.ndim - 2):
        return {"key_padding_mask": ~mask.flatten(0, -2)}
    if mask.ndim == 3:
        return {"attn_mask": ~mask.repeat_interleave(num_heads, dim=0)}
    if mask.ndim == 4 and mask.shape[1] in (1, num_heads):
        return {"attn_mask": ~mask.expand(-1, num_heads, -1, -1).flatten(0, 1)}
    raise ValueError(
        f"mask must have 2, 3 or 4 dimensions, with 1 or num_heads = {num_heads} heads in the second of 4, "
        f"got shape {_validate.shape(mask)}"
    )
