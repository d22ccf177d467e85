"""Prompts of several lengths, what is written after them, and a model that is a chain."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from tests.polyhead.models import TableModel

BATCH, LENGTH, SOURCE, VOCAB, END = 3, 5, 7, 11, 2
PROMPTS = st.lists(
    st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=6), min_size=BATCH, max_size=BATCH
)
SIDES = st.text("lr", min_size=BATCH, max_size=BATCH)

# 0 → 1 → 3 → 4 → end, and the end leads to 0: whoever goes on after the end is found out.
CHAIN = TableModel(
    [
        [0.1, 0.6, 0.1, 0.1, 0.1],
        [0.1, 0.1, 0.2, 0.5, 0.1],
        [0.9, 0.025, 0.025, 0.025, 0.025],
        [0.1, 0.1, 0.1, 0.0, 0.7],
        [0.0, 0.1, 0.8, 0.1, 0.0],
    ]
)


def ids(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


def text(tokens: torch.Tensor) -> tuple[int, ...]:
    """Up to the end, which is included; after it there is nothing else."""
    row = tokens.tolist()
    if END not in row:
        return tuple(row)
    length = row.index(END) + 1
    assert set(row[length:]) <= {END}
    return tuple(row[:length])


def padded(prompts: list[list[int]], sides: str, filler: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of prompts of several lengths; each row's padding is on the side that its letter says."""
    longest = max(map(len, prompts))
    tokens = torch.full((len(prompts), longest), filler)
    mask = torch.zeros(len(prompts), longest, dtype=torch.bool)
    for row, (prompt, side) in enumerate(zip(prompts, sides, strict=True)):
        at = slice(longest - len(prompt), None) if side == "l" else slice(len(prompt))
        tokens[row, at], mask[row, at] = torch.tensor(prompt), True
    return tokens, mask
