"""What chapter 4 says about trainings and random starts: the code on its page, with other seeds."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from experiments.cells import cell_sources, run_cells
from polyhead import causal_mask

CHAPTER = "04-heads-in-parallel"
SEEDS = range(100, 110)  # the page was written with seeds 0 to 9
LAYERS = ("layer A", "layer B")


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page's cells define, up to where each one runs its experiment."""
    return run_cells(
        CHAPTER, "setup", ("view-losses", "curves = "), ("view-tests", "torch"),
        "parallel-class", ("solution-ablation-code", "mask"),
    )  # fmt: skip


def test_both_layers_learn_to_write_backwards_and_b_is_later(page):
    for seed in SEEDS:
        first = []
        for name in LAYERS:
            model, losses = page["train"](seed, page["layers"][name], page["backwards"])
            assert page["all_right"](model) > 0.98, (seed, name)
            assert losses[-1] < 0.1, (seed, name)
            first.append(int((losses < 0.1).nonzero()[0]))
        assert first[0] < first[1], seed


def test_with_a_causal_mask_only_b_is_better_than_possible(page):
    possible, leaking = 7 / 8 * math.log(10), []
    for seed in SEEDS:
        honest, leaked = (
            page["train"](seed, page["layers"][name], page["following"], causal_mask(8))[1][-1]
            for name in LAYERS
        )
        assert possible < honest < 2.2, seed
        leaking.append(float(leaked))
    assert min(leaking) > 2 / 8 * math.log(10)
    assert max(leaking) < 1.5, leaking


def test_two_tests_find_b_before_its_first_step(page):
    for seed in SEEDS:
        torch.manual_seed(seed)
        a, b = (page["probe"](page["layers"][name](32, 4)) for name in LAYERS)
        assert max(a) < 1e-6, seed
        assert min(b) > 0.05, b


def past_moves(page: dict[str, Any], layer: torch.nn.Module, num_tokens: int) -> float:
    """How far a change of the last token moves the outputs before it, with a causal mask."""
    x = torch.randn(2, num_tokens, 20)
    changed = x.clone()
    changed[:, -1] += 1
    before, after = (layer(each, causal_mask(num_tokens))[:, :-1] for each in (x, changed))
    return float(page["apart"](before, after))


def test_a_mask_that_lands_on_the_heads_leaks_or_fails(page):
    source = cell_sources(CHAPTER)["parallel-class"]
    wrong = dict(page)
    exec(source.replace("mask.unsqueeze(-3)", "mask[:, None]"), wrong)
    for seed in SEEDS:
        torch.manual_seed(seed)
        for num_tokens in (4, 6):
            assert past_moves(page, page["FusedAttention"](20, 4), num_tokens) < 1e-6
        layer = wrong["FusedAttention"](20, 4)
        assert past_moves(page, layer, 4) > 0.01, seed
        with pytest.raises(RuntimeError):
            past_moves(page, layer, 6)
