"""What chapter 5 says of trainings, over the seeds with which it was written (0 to 9) and over ten others."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

import polyhead
from experiments.cells import run_cells
from polyhead_course.models.echo import METHODS, TRAINED, accuracy, train
from tests.course.claims.stored import seed_measures

GUESSING = 1 / 16


@pytest.fixture
def double():
    """The page computes with double precision."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def page(*cells: str) -> dict[str, Any]:
    return run_cells("05-positions", *cells)


def runs(method, layers, seeds):
    """By the first position of five: the shares of right letters, one for each seed."""
    found = seed_measures("echo", method, seeds, layers=layers)
    firsts = range(0, TRAINED if method == "learned" else 4 * TRAINED, 5)
    return {first: [each[str(first)] for each in found] for first in firsts}


@pytest.mark.parametrize("method", ["learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("layers", [1, 2])
def test_all_but_alibi_are_right_at_the_positions_of_the_training(method, layers, seeds):
    found = runs(method, layers, seeds)
    assert min(share for first in range(0, TRAINED, 5) for share in found[first]) > 0.95


def test_sinusoidal_positions_fail_right_behind_the_training(seeds):
    found = runs("sinusoidal", 1, seeds)
    assert max(share for first in range(20, 80, 5) for share in found[first]) < 0.305
    for first in range(25, 80, 5):
        assert sorted(found[first])[-3] < 0.15


def test_rotary_positions_reach_half_a_length_further_and_then_guess(seeds):
    found = runs("rotary", 1, seeds)
    assert min(found[20] + found[25]) > 0.985
    for first in range(45, 80, 5):
        assert max(found[first]) < 0.1


def test_alibi_stays_where_it_is_and_two_layers_lift_it(seeds):
    one, two = runs("ALiBi", 1, seeds), runs("ALiBi", 2, seeds)
    assert all(0.55 < share < 0.69 for first in range(20, 80, 5) for share in one[first])
    assert max(one[20]) - min(one[75]) < 0.12
    assert min(two[75]) > 0.875
    for method in ("sinusoidal", "rotary"):
        assert max(runs(method, 2, seeds)[75]) < GUESSING + 0.05


def test_a_second_layer_makes_rotary_positions_fail_earlier(seeds):
    one, two = runs("rotary", 1, seeds)[25], runs("rotary", 2, seeds)[25]
    assert statistics.median(one) > 0.995
    assert statistics.median(two) < 0.9
    assert max(two) < min(one) + 0.005


def test_an_answer_ten_letters_back_reverses_the_ranking(double, seeds):
    far = run_cells("05-positions", "setup", ("far-code", "for method in"))["far"]
    rotary, alibi = (torch.stack([far(method, seed) for seed in seeds]) for method in ("rotary", "ALiBi"))
    for a, b in ((10, 20), (20, 73)):
        assert rotary[:, a - 10 : b - 10].mean(dim=1).min() > 0.945
        assert alibi[:, a - 10 : b - 10].mean(dim=1).max() < 0.2
    assert 0.45 < rotary[:, 63:].mean(dim=1).min() <= rotary[:, 63:].mean(dim=1).max() < 0.75
    assert rotary[:, 62].mean() - rotary[:, 63].mean() > 0.25


@pytest.mark.parametrize("method", METHODS)
def test_the_stored_table_is_that_of_the_training(method):
    found = accuracy(train(method, seed=103), TRAINED if method == "learned" else 4 * TRAINED)
    (stored,) = seed_measures("echo", method, [103], layers=1)
    for first in (5, 15, *(() if method == "learned" else (25, 45, 75))):
        share = found[first - 1 : first + 4].mean().item()
        assert share == pytest.approx(stored[str(first)], abs=0.08), first


def test_the_learned_table_ends():
    with pytest.raises(ValueError, match="max_length = 20"):
        accuracy(train("learned", seed=0, steps=1), TRAINED + 1)


def test_without_positions_the_first_token_can_only_be_guessed(double, seeds):
    names = page("setup", "solution-ablation-code")
    assert all(1.55 < names["train"](steps=81, seed=seed) < 1.68 for seed in seeds)
    last = sorted(names["train"](polyhead.SinusoidalPositions(16), seed=seed) for seed in seeds)
    assert last[-2] < 0.01
    assert last[-1] < 0.3


@pytest.mark.parametrize("seed", range(100, 110))
def test_what_holds_for_each_draw(double, seed):
    """Shuffled tokens, projected waves, two layouts: chapter 5 draws each with one seed."""
    torch.manual_seed(seed)
    waves = page("setup", "waves-figure")["waves"](140, 64)
    M = torch.randn(64, 64) @ torch.randn(64, 64).T / 64
    plain, projected = zip(
        *[(waves[t] @ waves[t - 2], waves[t] @ M @ waves[t - 2]) for t in (30, 60, 100)], strict=True
    )
    assert max(plain) - min(plain) < 1e-9
    assert max(projected) - min(projected) > 0.3
    x = torch.randn(6, 8)
    q, k = x @ torch.randn(8, 8), x @ torch.randn(8, 8)
    neighbours, halves = polyhead.RotaryPositions(8), polyhead.RotaryPositions(8, pairs="halves")
    right, order = neighbours(q) @ neighbours(k).T, [0, 2, 4, 6, 1, 3, 5, 7]
    assert (halves(q) @ halves(k).T - right).abs().max() > 1
    assert (halves(q[:, order]) @ halves(k[:, order]).T - right).abs().max() < 1e-9


def test_alibi_is_that_of_transformers(double):
    alibi = page("setup", "relative-code")["alibi"](10, 8)
    bloom = build_alibi_tensor(torch.ones(1, 10), 8, torch.float64)  # (8, 1, 10)
    seen, equal = polyhead.causal_mask(10), torch.zeros(8, 10, 10)
    ours, theirs = (polyhead.masked_softmax(equal + bias, seen) for bias in (alibi, bloom))
    torch.testing.assert_close(ours, theirs)
    assert math.isclose(alibi[0, 9, 0], -9 / 2)
