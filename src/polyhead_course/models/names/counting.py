"""N-gram models, which count: the baseline of the name model, and its teacher."""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

Gram = tuple[int, ...]


class NGram:
    """An n-gram model with interpolated Kneser-Ney smoothing; below the unigrams all tokens are equal.

    P(c | h) = (max(n(h c) - D, 0) + D · N(h) · P(c | h without its first)) / n(h), with N(h) the number of
    different tokens seen after h. A shorter context is counted once for each different token before it. The
    discount of each order is D = n₁ / (n₁ + 2 n₂), with n₁ and n₂ the number of n-grams counted once and
    twice; without any that is counted once it is 0.

    Source: Kneser & Ney 1995; interpolated, Chen & Goodman 1999, section 3.

    >>> bigram = NGram([[0, 1, 1], [0, 1, 2]], possible=[1, 2], vocab_size=3, order=2)
    >>> bigram.distribution((0,))  # 1 follows 0 twice: D = 2 / (2 + 2), of which half goes to the unigrams
    tensor([0.0000, 0.9167, 0.0833])
    """

    def __init__(
        self, sequences: Sequence[Sequence[int]], possible: Sequence[int], vocab_size: int, order: int = 3
    ) -> None:
        """Count n-grams of up to `order` tokens; only the `possible` tokens of `vocab_size` can follow."""
        self.order = order
        self.uniform = torch.zeros(vocab_size)
        self.uniform[list(possible)] = 1 / len(possible)
        grams = Counter(gram for sequence in sequences for gram in self._grams(sequence))
        self._orders: list[dict[Gram, tuple[Tensor, Tensor, float]]] = []
        for _ in range(order):
            self._orders.append(_discounted(grams))
            grams = Counter(gram[1:] for gram in grams)
        self._orders.reverse()
        self._cached = functools.lru_cache(maxsize=8192)(self._interpolated)

    def distribution(self, context: Gram) -> Tensor:
        """Return the probabilities of the token after a context of order - 1 tokens: (vocab_size,)."""
        return self._cached(context).clone()

    def _interpolated(self, context: Gram) -> Tensor:
        probs = self.uniform
        for length, order in enumerate(self._orders):
            if (end := context[len(context) - length :]) in order:
                followers, shares, rest = order[end]
                probs = rest * probs
                probs[followers] += shares
        return probs

    def contexts(self, sequence: Sequence[int]) -> list[Gram]:
        """Return the order - 1 tokens before each token but the first, which is repeated before itself."""
        padded = [sequence[0]] * (self.order - 2) + list(sequence)
        return [tuple(padded[i : i + self.order - 1]) for i in range(len(sequence) - 1)]

    def _grams(self, sequence: Sequence[int]) -> list[Gram]:
        return [
            (*context, token) for context, token in zip(self.contexts(sequence), sequence[1:], strict=True)
        ]

    def perplexity(self, sequences: Sequence[Sequence[int]]) -> float:
        """Compute the exponential of the mean of -log P over all tokens but the first of each sequence."""
        grams = [gram for sequence in sequences for gram in self._grams(sequence)]
        if not grams:
            raise ValueError("sequences must have a token after the first, got none")
        probs = torch.stack([self._cached(gram[:-1])[gram[-1]] for gram in grams])
        return math.exp(-probs.double().log().mean())


def _discounted(grams: Counter[Gram]) -> dict[Gram, tuple[Tensor, Tensor, float]]:
    """For each context: the tokens that follow it, their discounted shares, and the share that is left."""
    once, twice = (sum(number == n for number in grams.values()) for n in (1, 2))
    discount = once / (once + 2 * twice) if once else 0.0
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
