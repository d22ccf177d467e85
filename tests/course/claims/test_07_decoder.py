"""What chapter 7 says about training: the code on its page, with seeds that it does not show."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from experiments.cells import run_cells

SEEDS = range(100, 110)  # the page was written with seeds 0 to 9


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page's cells define, up to where a cell runs its experiment."""
    return run_cells(
        "07-decoder", "setup", "names-code", "next-token-code", "write-code", "train-code",
        ("names-written", "def look"), ("unmasked-code", "watched"),
        ("perplexity-table", "print"), ("exercise-strict-code", "print"),
        ("solution-strict-code", "print"),
    )  # fmt: skip


def perplexities(page: dict[str, Any], model: torch.nn.Module) -> list[list[float]]:
    """On held-out names, all letters at once and one by one: of all positions, all but the last, the last."""
    fresh = page["fresh"]
    with torch.no_grad():
        rows = model(fresh[:, :-1]), page["one_by_one"](model, fresh[:, :-1])
    return [[float(each) for each in page["perplexities"](logits).split()] for logits in rows]


def test_with_the_mask_a_hundred_steps_teach_what_names_look_like(page):
    for seed in SEEDS:
        model, _ = page["train"](page["polyhead"].causal_mask, seed, 0)
        assert page["familiar"](page["write"](model, 100)) < 0.1, seed
        model, _ = page["train"](page["polyhead"].causal_mask, seed, 100)
        assert page["familiar"](page["write"](model, 100)) > 0.6, seed
        with torch.no_grad():
            rows = model(page["fresh"][:, :-1]), page["one_by_one"](model, page["fresh"][:, :-1])
        torch.testing.assert_close(*rows)
        assert perplexities(page, model)[0][0] < 18, seed


def test_without_the_mask_it_is_too_good_at_once_and_worse_than_guessing_one_by_one(page):
    for seed in SEEDS:
        model, _ = page["train"](page["no_mask"], seed, 150)
        at_once, one_by_one = perplexities(page, model)
        assert at_once[0] < 2 and one_by_one[0] > 500 > len(page["letters"]), seed
        assert at_once[1] < 1.2 and one_by_one[1] > 700, seed
        assert at_once[2] == pytest.approx(one_by_one[2], abs=0.11)
        assert 20 < at_once[2] < 60, seed


@pytest.mark.held_out
def test_a_thousand_steps_are_too_many(page):
    for seed in SEEDS:
        found = {}

        def look(step, model, found=found):
            if step in (300, 1000):
                with torch.no_grad():
                    found[step] = page["loss_of"](model(page["fresh"][:, :-1]), page["fresh"]).item()

        page["train"](page["polyhead"].causal_mask, seed, 1000, look)
        assert found[1000] > found[300], seed


def test_without_the_diagonal_the_residual_tells_a_position_its_token(page):
    for seed in SEEDS:
        assert page["loss_on_walks"](page["strict_mask"], seed) < 0.85, seed
