"""The exercises about positions, on the clinic's cases."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from attention_clinic.kinds import positions
from polyhead_course.exercises.checks.verdict import Findings, exercise, verdicts


@exercise
def rotary_positions(candidate: Callable[[Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(x, positions)` turns half-split pairs by position, and if not, what it does.

    It gets (batch, num_heads, length, head_dim) and (length,), positions that neither begin at 0 nor have no
    gaps, so that none can be guessed.
    """
    yield from verdicts(candidate, positions.rotary((2, 3, 5, 8, 13), 14, batch=2, heads=3))


@exercise
def sinusoidal_positions(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(length, embed_dim)` gives sinusoidal positions, and if not, what it gives."""
    yield from verdicts(candidate, positions.sinusoidal(7, 10))
