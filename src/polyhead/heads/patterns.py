"""Attention patterns: the keys of known patterns, and the share of a head's weight on them."""

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from polyhead.checked import checked


@checked
def pattern_keys(
    token_ids: Integer[Tensor, "batch length"],
    mask: Bool[Tensor, "batch length"] | None = None,
    starts: Bool[Tensor, "batch length"] | None = None,
) -> dict[str, Bool[Tensor, "batch length length"]]:
    """Mark the keys to which a head with each known pattern of self-attention attends, for `share`.

    - "first": the first token, from all later ones; such a head is at rest (attention sink; Xiao et al. 2023,
      https://arxiv.org/abs/2309.17453).
    - "self": the query's own token.
    - "previous": the token before it (Clark et al. 2019; Elhage et al. 2021).
    - "duplicate": earlier copies of the query's token (Wang et al. 2022, https://arxiv.org/abs/2211.00593).
    - "induction": the tokens after these copies; the score of Olsson et al. 2022
      (https://arxiv.org/abs/2209.11895), who call it prefix matching.
    - "sentence", if `starts` are given: the first token of the query's sentence, if it is an earlier one.

    All but "first" leave out the first token as a key, as weight on it has its own pattern.

    Args:
        token_ids: the sentences.
        mask: True at tokens, False at padding, which is neither query nor key; no padding by default.
        starts: True at the first token of each sentence.

    >>> keys = pattern_keys(torch.tensor([[1, 7, 3, 7, 3]]))
    >>> {name: where[0, 3].nonzero().flatten().tolist() for name, where in keys.items()}
    {'first': [0], 'self': [3], 'previous': [2], 'duplicate': [1], 'induction': [2]}
    """
    mask = torch.ones_like(token_ids, dtype=torch.bool) if mask is None else mask
    numbers = torch.arange(token_ids.shape[1], device=token_ids.device)
    query, key = numbers[:, None], numbers
    first = numbers == mask.int().argmax(dim=1, keepdim=True)  # (batch, num_keys)
    same = token_ids[:, :, None] == token_ids[:, None]
    # After the roll, column 0 is that of the last token; it is left out, as it is the first token or padding.
    later = {
        "self": query == key,
        "previous": query == key + 1,
        "duplicate": (key < query) & same,
        "induction": (key < query) & same.roll(1, dims=2),
    }
    if starts is not None:
        start = torch.where(starts, numbers, 0).cummax(dim=1).values  # of the query's sentence
        later["sentence"] = (key < query) & (key == start[:, :, None])
    patterns = {"first": (key < query) & first[:, None]}
    patterns |= {name: where & ~first[:, None] for name, where in later.items()}
    return {name: where & mask[:, :, None] & mask[:, None] for name, where in patterns.items()}


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
