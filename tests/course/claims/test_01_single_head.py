"""What chapter 1 says about training and sampling: the code on its page, with seeds that it does not show."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from experiments.cells import run_cells

SEEDS = range(100, 110)  # the page was written with seeds 0 to 9


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page's cells define, up to where each one runs its experiment."""
    return run_cells(
        "01-single-head", "setup", "tokens-to-vectors-code", "step-project", "five-lines", "learn-code",
        ("variance-table", "for"), ("scaling-figure", "torch"), ("solution-no-scale-code", "for"),
    )  # fmt: skip


def test_every_start_finds_the_place(page):
    for seed in SEEDS:
        _, weights = page["attention"](page["X"], *page["learn"](seed, 200), page["W_V"])
        assert weights[-1, 0].item() > 0.99, seed


def test_every_start_finds_the_same_product(page):
    """What a road looks for, by the features of the keys: a place, and no function word and no road."""
    road = torch.tensor([1.0, 0, 1, 0])
    for seed in SEEDS:
        query_weight, key_weight = page["learn"](seed, 200)
        place, function, other_road, name = (road @ query_weight @ key_weight.mT / 2).tolist()
        assert place > 2.5 and function < -1.5 and other_road < -1.5 and abs(name) < 0.6, seed


@pytest.mark.parametrize("dim", [4, 64, 1024])
def test_scaled_scores_have_the_same_variance_for_each_size(page, dim):
    for linear, entry in ((False, 1), (True, 1 / 3)):
        for seed in SEEDS:
            found = page["variances"](seed, dim, linear)
            expected = (entry, entry**2 * dim, entry**2)
            assert found == pytest.approx(expected, rel=0.16), (seed, linear)


def test_without_the_division_most_gradients_vanish_and_some_explode(page):
    shares = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    for seed in SEEDS:
        torch.manual_seed(seed)
        q = torch.randn(400, 1024, dtype=torch.float64)
        k = torch.randn(400, 32, 1024, dtype=torch.float64)
        scaled, _ = page["gradient_at_query"](q, k, 32.0)
        unscaled, largest = page["gradient_at_query"](q, k, 1.0)
        low, middle, high = scaled.quantile(shares)
        assert low > 0.15
        assert high < 0.35
        assert 0.65 < (largest > 0.99).double().mean() < 0.85
        assert unscaled.quantile(shares)[1] < middle / 20
        assert unscaled.quantile(shares)[2] > 25 * middle


@pytest.mark.parametrize(
    ("divisor", "learning_rate", "steps", "good"),
    [(16, 1.0, 60, True), (1, 1.0, 60, False), (1, 0.1, 400, True)],
)
def test_without_the_division_another_learning_rate_is_needed(page, divisor, learning_rate, steps, good):
    for seed in SEEDS:
        assert (page["train"](seed, divisor, learning_rate, steps) > 0.8) == good, seed
