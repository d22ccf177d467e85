"""The exercises about modern decoders, on the clinic's cases."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from attention_clinic.kinds import masks, norms, splitting
from polyhead_course.exercises.checks.verdict import Findings, exercise, verdicts


@exercise
def rms_norm(candidate: Callable[[Tensor, Tensor, float], object]) -> Findings:
    """Print whether `candidate(x, weight, eps)` is RMSNorm, and if not, what it is.

    It gets (batch, num_tokens, embed_dim), (embed_dim,), and an eps large enough to count.
    """
    yield from verdicts(candidate, norms.rms_norm(2, 5, 7))


@exercise
def window_mask(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(length, window)` is the mask of a sliding window, and if not, what it is.

    It returns a boolean mask, (length, length), where True = may attend.
    """
    yield from verdicts(candidate, masks.window(7, 3), masks.window(4, 9))


@exercise
def repeat_kv(candidate: Callable[[Tensor, int], object]) -> Findings:
    """Print whether `candidate(x, groups)` repeats keys or values for groups, and if not, what it does.

    It gets (batch, num_kv_heads, num_tokens, head_dim), and returns `groups` times as many heads.
    """
    yield from verdicts(candidate, splitting.repeat(2, 3, 5, 4, groups=2))
