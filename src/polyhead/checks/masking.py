"""The exercises about masks: what is right, and what the known mistakes compute."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from polyhead.checks import verdict
from polyhead.checks.verdict import Findings, exercise, finding, result_of
from polyhead.language import text


@exercise
def causal_mask(candidate: Callable[[int], object]) -> Findings:
    """Print whether `candidate(num_tokens)` is a causal mask, and if not, what it is.

    It returns a boolean mask, (num_tokens, num_tokens), where True = may attend.
    """
    whole = torch.ones(5, 5, dtype=torch.bool)
    expected = whole.tril()
    output = result_of(candidate, 5)
    if isinstance(output, Tensor) and output.is_floating_point():
        forms = [
            ("causal_additive", torch.zeros(5, 5).masked_fill(~expected, -torch.inf)),
            ("causal_floats", expected.float()),
        ]
        if name := verdict.known(output, forms):
            yield text(f"check.{name}")
    mistakes = [
        ("mask_inverted", ~expected),
        ("causal_strict", whole.tril(-1)),
        ("causal_ahead", whole.tril(1)),
        ("causal_upper", whole.triu()),
        ("causal_open", whole),
    ]
    yield finding(output, expected, mistakes)
