"""What chapter 6 says about training and about random stacks: its code, with seeds that it does not show."""

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
        "06-encoder", "setup", ("texts-code", "print"), "filler-code", "model-code",
        "train-code", ("fill-code", "both"), ("both-ways-code", "before"), ("cls-code", "for"),
        "layer-code", "stacks", ("own-code", "torch"), ("solution-ablation-code", "print"),
    )  # fmt: skip


def test_with_both_sides_every_country_is_found_and_the_sentence_is_summed_up(page):
    for seed in SEEDS:
        model = page["train"](seed)
        assert page["cities"](model) == 12, seed
        assert page["unread"](model)[0] >= 7, seed
        assert page["roads"](model) >= 16, seed


def test_from_the_left_nothing_is_found(page):
    for seed in SEEDS:
        model = page["train"](seed, causal=True, steps=20)
        assert page["cities"](model) <= 1, seed
        assert page["unread"](model)[0] == 1, seed


def test_the_norm_bounds_gradients_and_the_residual_keeps_tokens_apart(page):
    for seed in SEEDS:
        found = {kind: page["measure"](seed, 16, *switches) for kind, switches in page["KINDS"].items()}
        first = {kind: gradients[0].item() for kind, (gradients, _) in found.items()}
        assert first["neither"] < 1e-6 and first["residual_only"] > 1e3
        assert all(1e-3 < first[kind] < 3 for kind in found if kind not in ("neither", "residual_only"))
        for kind, (_, spread) in found.items():
            if page["KINDS"][kind][0]:
                assert spread[3] > 0.4
            else:
                assert spread[3] < 0.005
        assert found["pre_norm"][1][15] > 1.3 * max(found[k][1][15] for k in ("post_norm", "residual_only"))


def test_the_last_gradient_shrinks_with_depth_under_pre_norm_only(page):
    ratios = {}
    for kind in ("pre_norm", "post_norm"):
        last = [
            sum(page["measure"](seed, depth, *page["KINDS"][kind])[0, -1] for seed in SEEDS)
            for depth in (2, 32)
        ]
        ratios[kind] = (last[1] / last[0]).item()
    assert 0.2 < ratios["pre_norm"] < 0.4
    assert ratios["post_norm"] > 0.9


def test_post_norm_keeps_more_apart_where_matrices_start_as_small_as_berts(page):
    for seed in SEEDS:
        assert page["last_spread"](seed, None) < 0.06, seed
        assert 0.06 < page["last_spread"](seed, 0.02 * 32**0.5) < 0.5, seed


@pytest.mark.held_out
def test_the_readers_own_encoder_knows_that_roads_lead_to_another_city(page):
    for seed in SEEDS:
        torch.manual_seed(seed)
        assert page["roads"](page["train"](seed, encoder=page["Stack"](depth=2))) >= 16, seed


def test_six_layers_learn_with_residuals_only(page):
    for seed in SEEDS:
        for kind in ("neither", "norm_only", "residual_only", "post_norm", "pre_norm"):
            residual, _ = page["KINDS"][kind]
            loss = page["losses"](kind, seed=seed)[-1]
            assert (loss < 1) if residual else (loss > 1.8), (seed, kind)
