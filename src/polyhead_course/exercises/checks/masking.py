"""The exercises about masks, on the clinic's cases."""

from __future__ import annotations

from collections.abc import Callable

from attention_clinic.kinds import masks
from polyhead_course.exercises.checks.verdict import Findings, exercise, verdicts


@exercise
def causal_mask(candidate: Callable[[int], object]) -> Findings:
    """Print whether `candidate(num_tokens)` is a causal mask, and if not, what it is.

    It returns a boolean mask, (num_tokens, num_tokens), where True = may attend.
    """
    yield from verdicts(candidate, masks.causal(5))


@exercise
def cached_mask(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(num_cached, num_new)` is the mask of new tokens after cached ones.

    It returns a boolean mask, (num_new, num_cached + num_new), where True = may attend: of several new tokens
    after several cached ones, then of one new token, then without a cache.
    """
    yield from verdicts(candidate, *(masks.cached(*sizes) for sizes in ((5, 3), (5, 1), (0, 4))))
