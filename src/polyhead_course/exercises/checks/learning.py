"""The exercises about training and its measures: what is right, and what known mistakes give."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from polyhead_course.exercises.checks.verdict import Findings, exercise, finding, number, result_of


@exercise
def learning_rates(candidate: Callable[[int, int, float], object]) -> Findings:
    """Print whether `candidate(steps, warmup, highest)` gives the learning rates of all steps, (steps,).

    They rise in a straight line and are the highest at step `warmup`, then fall in one: `Recipe.rate`.
    """
    steps, warmup, highest = 13, 4, 0.5
    places = torch.arange(steps, dtype=torch.float64)
    rise, fall = (places + 1) / (warmup + 1), (steps - places) / (steps - warmup)
    late_rise, early_fall = places / warmup, (steps - 1 - places) / (steps - 1 - warmup)
    lines = [
        ("rates_first", torch.minimum(late_rise, fall)),
        ("rates_first", torch.minimum(late_rise, early_fall)),
        ("rates_last", torch.minimum(rise, early_fall)),
        ("rates_no_fall", rise.clamp(max=1)),
        ("rates_no_rise", fall.clamp(max=1)),
        ("rates_larger", torch.maximum(rise, fall)),
        ("rates_product", rise * fall),
        ("rates_root", torch.minimum(rise, (warmup + 1) ** 0.5 * (places + 1) ** -0.5)),
    ]
    right = highest * torch.minimum(rise, fall)
    mistakes = [(name, highest * line) for name, line in lines]
    mistakes.append(("rates_highest", torch.minimum(rise, fall)))
    yield finding(result_of(candidate, steps, warmup, highest), right, mistakes)


@exercise
def exact_match(candidate: Callable[[Tensor, Tensor, int], object]) -> Findings:
    """Print whether `candidate(written, target, pad_id)` is the share of sequences that are exactly right.

    Both are ids, (batch, length). Padding fills the targets up on the right; what is written there is free.
    """
    pad = 0
    target = torch.tensor([[3, 4, 2], [5, 2, 0], [2, 0, 0], [4, 3, 2], [6, 2, 0], [3, 5, 2], [4, 2, 0]])
    written = torch.tensor([[3, 4, 2], [5, 2, 7], [2, 0, 0], [4, 6, 2], [3, 5, 5], [3, 5, 0], [4, 2, 2]])
    same, padding = written == target, target == pad
    mistakes = [
        ("exact_padding", same.all(dim=1).double().mean()),
        ("exact_tokens", same[~padding].double().mean()),
        ("exact_tokens", (same | padding).double().mean()),
        ("exact_tokens", same.double().mean()),
        ("exact_any", (same & ~padding).any(dim=1).double().mean()),
        ("exact_any", same.any(dim=1).double().mean()),
        ("exact_any", (same | padding).any(dim=1).double().mean()),
        ("exact_written", (same | (written == pad)).all(dim=1).double().mean()),
        ("exact_count", (same | padding).all(dim=1).double().sum()),
    ]
    result = number(result_of(candidate, written.clone(), target.clone(), pad))
    yield finding(result, (same | padding).all(dim=1).double().mean(), mistakes)
