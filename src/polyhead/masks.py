"""Masks: which query may attend to which key. All are boolean, True = may attend."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from polyhead.checked import Mask, Size, checked, value_bounds


@checked
def causal_mask(num_queries: Size, num_keys: Size | None = None) -> Bool[Tensor, "num_queries num_keys"]:
    """Hide later keys from each query: mask[i, j] = (j ≤ i + num_keys - num_queries).

    With more keys than queries the queries are the last ones, as when earlier keys come from a cache: the
    mask is aligned at its lower right corner. Without `num_keys` there are as many as queries.

    Raises:
        ValueError: there are fewer keys than queries.

    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    num_keys = num_queries if num_keys is None else num_keys
    if num_keys < num_queries:
        raise ValueError(f"num_keys must be at least num_queries = {num_queries}, got {num_keys}")
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)


@checked
def padding_mask(
    valid_lens: Integer[Tensor, " batch"] | Integer[Tensor, "batch num_queries"], num_keys: Size
) -> Bool[Tensor, "batch num_queries_or_1 num_keys"]:
    """Show the first `valid_lens` keys, of each sequence or for each query: j < valid_lens[b, i].

    Raises:
        ValueError: a length is negative, or larger than `num_keys`.

    >>> padding_mask(torch.tensor([1, 3]), num_keys=3)
    tensor([[[ True, False, False]],
    <BLANKLINE>
            [[ True,  True,  True]]])
    """
    lens = valid_lens.long()
    if (bounds := value_bounds(lens)) and not 0 <= bounds[0] <= bounds[1] <= num_keys:
        wrong = bounds[0] if bounds[0] < 0 else bounds[1]
        raise ValueError(f"valid_lens must be between 0 and num_keys = {num_keys}, got {wrong}")
    lens = lens.unsqueeze(-1) if lens.ndim == 2 else lens[:, None, None]
    return torch.arange(num_keys, device=lens.device) < lens


@checked
def window_mask(
    num_queries: Size, window: Size, num_keys: Size | None = None
) -> Bool[Tensor, "num_queries num_keys"]:
    """Hide later keys, and those `window` or more before the query: i - window < j ≤ i.

    Each query sees at most `window` keys, its own included. With more keys than queries the queries are the
    last ones, as in `causal_mask`: i is then i + num_keys - num_queries. The second argument is the window,
    where that of `causal_mask` is `num_keys`.

    Raises:
        ValueError: there are fewer keys than queries.

    >>> window_mask(3, window=2)
    tensor([[ True, False, False],
            [ True,  True, False],
            [False,  True,  True]])

    Source: Beltagy et al. 2020, section 3.1, looking back only; Jiang et al. 2023 (Mistral 7B), section 2.
    """
    causal = causal_mask(num_queries, num_keys)
    return causal.triu(causal.shape[1] - num_queries - window + 1)


@checked
def document_mask(
    document_ids: Integer[Tensor, " length"] | Integer[Tensor, "batch length"],
) -> Bool[Tensor, "*batch length length"]:
    """Show each token its own document alone: mask[i, j] = (document_ids[i] = document_ids[j]).

    For several documents packed into one sequence; in a decoder, beside the causal mask. Positions that count
    from the beginning of each document have to be given.

    >>> document_mask(torch.tensor([7, 7, 5]))
    tensor([[ True,  True, False],
            [ True,  True, False],
            [False, False,  True]])
    """
    return document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)


@checked
def to_torch_mha_masks(mask: Mask, num_heads: Size) -> dict[str, Tensor]:
    """Turn a mask into keyword arguments of `torch.nn.MultiheadAttention`, where True means *ignore*.

    For a module of `num_heads` heads: `attention(query, key, value, **to_torch_mha_masks(mask, num_heads))`.
    The mask is (num_queries, num_keys), (batch, num_queries, num_keys) or (batch, num_heads or 1,
    num_queries, num_keys); or, for all queries alike, (batch, 1, num_keys) or (batch, 1, 1, num_keys). Its
    sizes are those of the call, since the module broadcasts no other mask. Where a query may attend to
    nothing, the module gives NaN instead of zeros if it computes the weights, as it does by default.

    Returns:
        `key_padding_mask`, (batch, num_keys), for a mask with one row for all queries and heads; otherwise
        `attn_mask`, (num_queries, num_keys) or (batch · num_heads, num_queries, num_keys).

    Raises:
        ValueError: the mask has 1 dimension or more than 4, or another number of heads than 1 or `num_heads`.

    >>> to_torch_mha_masks(torch.tensor([[[True, False]]]), num_heads=4)
    {'key_padding_mask': tensor([[False,  True]])}
    """
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
        f"got shape {tuple(mask.shape)}"
    )


def broadcast_mask(mask: Mask, shape: Sequence[int]) -> Tensor:
    """Give a mask as many dimensions as the scores of this shape have; each is of that size, or 1.

    A mask of three dimensions is (batch, num_queries, num_keys): where the scores have four, one for the
    heads, it serves every head alike.

    Raises:
        ValueError: the mask does not broadcast to the shape.

    >>> broadcast_mask(torch.ones(2, 1, 5).bool(), (2, 3, 7, 5)).shape
    torch.Size([2, 1, 1, 5])
    """
    with_heads = mask.unsqueeze(1) if mask.ndim == 3 and len(shape) == 4 else mask
    try:
        with_heads.expand(*shape)
    except RuntimeError:
        raise ValueError(
            f"mask must broadcast to (…, num_queries, num_keys) = {tuple(shape)}, got {tuple(mask.shape)}"
        ) from None
    return with_heads[(None,) * (len(shape) - with_heads.ndim)]
