"""The exercises about heads that are removed: the measure of the search task, and smaller projections."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from polyhead_course.exercises.checks.verdict import Findings, exercise, finding, number, result_of, samples


@exercise
def mean_reciprocal_rank(candidate: Callable[[Tensor], object]) -> Findings:
    """Print whether `candidate(similarities)` is the mean of 1 / rank of each query's own title.

    Similarities are (num_queries, num_titles); query i's own title has number i, and a tie counts against it.
    """
    similarities = torch.tensor(
        [[9.0, 1, 2, 3, 4], [8, 7, 7, 1, 2], [3, 6, 5, 6, 7], [1, 2, 3, 4, 5], [7, 8, 9, 2, 1]]
    ).double()
    own = similarities.diagonal()
    ranks = (similarities >= own[:, None]).double().sum(dim=1)
    above = (similarities > own[:, None]).double().sum(dim=1)
    mistakes = [
        ("rank_mean", ranks.mean()),
        ("rank_inverse", 1 / ranks.mean()),
        ("rank_first", (ranks == 1).double().mean()),
        ("rank_columns", (1 / (similarities >= own).double().sum(dim=0)).mean()),
        ("rank_zero", (1 / above).mean()),
        ("rank_ties", (1 / (above + 1)).mean()),
        ("rank_least", (1 / (similarities <= own[:, None]).double().sum(dim=1)).mean()),
    ]
    result = number(result_of(candidate, similarities.clone()))
    yield finding(result, (1 / ranks).mean(), mistakes)


@exercise
def pruned_rows(candidate: Callable[[Tensor, int, int], object]) -> Findings:
    """Print whether `candidate(weight, num_heads, head)` is the input projection's weight without that head.

    `weight` is (3 · embed_dim, embed_dim): the rows of all queries, then of all keys, then of all values.
    """
    heads, size, gone = 3, 4, 1
    width = heads * size
    (weight,) = samples((3 * width, width))
    head = torch.arange(3 * width) % width // size
    together = torch.arange(3 * width) // (3 * size)
    queries_only = (head == gone) & (torch.arange(3 * width) < width)
    mistakes = [
        ("prune_queries", weight[~queries_only]),
        ("prune_columns", weight[:, head[:width] != gone]),
        ("prune_from_one", weight[head != gone - 1]),
        ("prune_together", weight[together != gone]),
        ("prune_strided", weight[torch.arange(3 * width) % heads != gone]),
        ("prune_zeros", weight * (head != gone)[:, None]),
        ("prune_kept", weight[head == gone]),
    ]
    yield finding(result_of(candidate, weight.clone(), heads, gone), weight[head != gone], mistakes)
