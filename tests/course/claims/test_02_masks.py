"""What chapter 2 says about training: the code on its page, with seeds that it does not show."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from experiments.cells import run_cells

SEEDS = range(100, 110)  # the page shows seeds 0 to 9


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page's cells define, up to the one that trains ten heads."""
    return run_cells(
        "02-masks", "setup", "minus-infinity-code", "causal-code", "attention-with-mask", "guess-code"
    )


def results(page: dict[str, Any], seed: int, mask: torch.Tensor | None) -> tuple[float, float, torch.Tensor]:
    """The loss in training and in use, and what a head answers in use to each of the four sentences."""
    W = page["learn"](seed, mask)
    full = page["guess"](page["batch"], W, mask)
    cut = page["guess"](page["batch"][:, :3], W, None if mask is None else mask[:3, :3])
    training, use = (F.softplus(-page["names"] * each).mean().item() for each in (full, cut))
    return training, use, cut


def test_a_head_that_peeks_copies_the_district_in_use_and_does_worse_than_no_idea(page):
    for seed in SEEDS:
        training, use, answers = results(page, seed, None)
        assert training == pytest.approx(0.127, abs=0.003), seed
        assert 0.85 < use < 0.95, seed
        assert torch.all((answers * page["districts"] > 1.25) & (answers.abs() < 1.45)), seed


def test_a_head_that_cannot_peek_does_as_well_in_use_as_in_training_and_as_anyone_can(page):
    for seed in SEEDS:
        training, use, answers = results(page, seed, page["causal"])
        assert training == pytest.approx(math.log(2), abs=0.002), seed
        assert use == pytest.approx(training, abs=1e-6), seed
        assert answers.abs().max() < 0.05, seed
