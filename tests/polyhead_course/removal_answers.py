"""Answers to the exercises about the reciprocal rank and pruned rows: right ones, and every known mistake."""

from __future__ import annotations

import torch


def ranking(reverse=True, tie=0.5, first=1, measure=lambda ranks: (1 / ranks).mean(), turned=False):
    """Sorts in plain Python; the own title is put at a `tie` behind or before those that are as similar."""

    def candidate(similarities):
        rows = (similarities.T if turned else similarities).tolist()
        ranks = []
        for number, row in enumerate(rows):
            places = [value + (-tie if each == number else 0) for each, value in enumerate(row)]
            order = sorted(range(len(row)), key=places.__getitem__, reverse=reverse)
            ranks.append(order.index(number) + first)
        return measure(torch.tensor(ranks, dtype=torch.float64))

    return candidate


def by_loop(similarities):
    """A number of Python."""
    total = 0.0
    for number, row in enumerate(similarities.tolist()):
        total += 1 / sum(value >= row[number] for value in row)
    return total / len(similarities)


RANK_RIGHT = [ranking(), by_loop, lambda similarities: ranking()(similarities).float()]
RANK_WRONG = [
    ("rank_mean", ranking(measure=torch.mean)),
    ("rank_inverse", ranking(measure=lambda ranks: 1 / ranks.mean())),
    ("rank_first", ranking(measure=lambda ranks: (ranks == 1).double().mean())),
    ("rank_columns", ranking(turned=True)),
    ("rank_zero", ranking(tie=-0.5, first=0)),
    ("rank_ties", ranking(tie=-0.5)),
    ("rank_least", ranking(reverse=False, tie=-0.5)),
]


def rows(view=lambda weight, heads: weight.view(3, heads, -1, weight.shape[1]), dim=1, shift=0):
    """The weight in a shape where one dimension counts the heads, and one entry of it left out."""

    def candidate(weight, num_heads, head):
        parts = view(weight, num_heads)
        left = [number for number in range(num_heads) if number != head - shift]
        return parts.index_select(dim, torch.tensor(left)).flatten(0, -2)

    return candidate


def by_slices(weight, num_heads, head):
    """Cut into queries, keys and values; each without its slice."""
    size = weight.shape[1] // num_heads
    parts = [torch.cat((part[: head * size], part[(head + 1) * size :])) for part in weight.chunk(3)]
    return torch.cat(parts), None


def queries_alone(weight, num_heads, head):
    size = weight.shape[1] // num_heads
    return torch.cat((weight[: head * size], weight[(head + 1) * size :]))


def columns(weight, num_heads, head):
    size = weight.shape[1] // num_heads
    return torch.cat((weight[:, : head * size], weight[:, (head + 1) * size :]), dim=1)


def zeros(weight, num_heads, head):
    weight.view(3, num_heads, -1, weight.shape[1])[:, head] = 0
    return weight


def kept(weight, num_heads, head):
    return weight.view(3, num_heads, -1, weight.shape[1])[:, head].flatten(0, 1)


ROWS_RIGHT = [by_slices, rows(), lambda *inputs: rows()(*inputs).double()]
ROWS_WRONG = [
    ("prune_queries", queries_alone),
    ("prune_columns", columns),
    ("prune_from_one", rows(shift=1)),
    ("prune_together", rows(lambda weight, heads: weight.view(heads, -1, weight.shape[1]), dim=0)),
    ("prune_strided", rows(lambda weight, heads: weight.view(-1, heads, weight.shape[1]))),
    ("prune_zeros", zeros),
    ("prune_kept", kept),
]
