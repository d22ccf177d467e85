"""What the model has to beat, and what teaches it: each character from those just before it, by counting."""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

Gram = tuple[int, ...]


class NGram:
    """Interpolated Kneser-Ney up to some order, of a trigram 3, and below it one probability for every token.

    P(c | h) = (max(n(h c) - D, 0) + D · N(h) · P(c | h without its first)) / n(h), with N(h) the number of
    different tokens seen after h. A shorter context is counted once for each different token before it. The
    discount D = n₁ / (n₁ + 2 n₂) of each order comes from how many things were counted once, and twice.

    Source: Kneser & Ney 1995; interpolated, Chen & Goodman 1999, section 3.
    """

    def __init__(
        self, sequences: Sequence[Sequence[int]], possible: Sequence[int], vocab_size: int, order: int = 3
    ) -> None:
        """Count; `possible` are the tokens that may follow at all, of `vocab_size` that there are."""
        self.order = order
        self.uniform = torch.zeros(vocab_size)
        self.uniform[list(possible)] = 1 / len(possible)
        grams = Counter(gram for sequence in sequences for gram in self._grams(sequence))
        self._orders: list[dict[Gram, tuple[Tensor, Tensor, float]]] = []
        while next(iter(grams)):
            self._orders.append(_discounted(grams))
            grams = Counter(gram[1:] for gram in grams)
        self._orders.reverse()
        self.distribution = functools.lru_cache(maxsize=8192)(self._distribution)

    def _distribution(self, context: Gram) -> Tensor:
        """Of the token after these, of which there are one less than the order: (vocab_size,)."""
        probs = self.uniform
        for length, order in enumerate(self._orders):
            if (end := context[len(context) - length :]) in order:
                followers, shares, rest = order[end]
                probs = rest * probs
                probs[followers] += shares
        return probs

    def contexts(self, sequence: Sequence[int]) -> list[Gram]:
        """What stands before each token after the first; before the first, the first again."""
        filled = [sequence[0]] * (self.order - 2) + list(sequence)
        return [tuple(filled[i : i + self.order - 1]) for i in range(len(sequence) - 1)]

    def _grams(self, sequence: Sequence[int]) -> list[Gram]:
        return [
            (*context, token) for context, token in zip(self.contexts(sequence), sequence[1:], strict=True)
        ]

    def perplexity(self, sequences: Sequence[Sequence[int]]) -> float:
        """The exponential of the mean of -log P of each token after the first."""
        grams = [gram for sequence in sequences for gram in self._grams(sequence)]
        logs = [math.log(self.distribution(gram[:-1])[gram[-1]]) for gram in grams]
        return math.exp(-sum(logs) / len(logs))


def _discounted(grams: Counter[Gram]) -> dict[Gram, tuple[Tensor, Tensor, float]]:
    """For each context: what followed it, with what share after the discount, and what share is left."""
    once, twice = (sum(number == n for number in grams.values()) for n in (1, 2))
    discount = once / (once + 2 * twice)
    after: dict[Gram, dict[int, int]] = defaultdict(dict)
    for gram, number in grams.items():
        after[gram[:-1]][gram[-1]] = number
    order = {}
    for context, counts in after.items():
        total, numbers = sum(counts.values()), torch.tensor(list(counts.values()))
        order[context] = (
            torch.tensor(list(counts)),
            (numbers - discount) / total,
            discount * len(counts) / total,
        )
    return order
