"""What chapter 13 says about training and random weights: its own code, with seeds that it does not show."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import polyhead
from attention_clinic import laws, planted
from experiments.cells import run_cells


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page's cells define, up to where each one runs its experiment."""
    return run_cells(
        "13-bug-clinic", ("setup", "def cell"), ("silent-probe", "for"),
        ("diagnose-code", "torch.set_default"), ("stranger-code", "torch.manual_seed"),
    )  # fmt: skip


def test_view_makes_a_loss_that_is_better_than_possible(page):
    for seed in range(100, 110):  # the page was written with seeds 0 to 9
        _, honest = page["train"](polyhead.SplitMultiHeadAttention, seed)
        model, losses = page["train"](page["ViewedAttention"], seed)
        assert honest[-1] > 2.25, seed
        assert losses[-1] < 1.6, seed
        assert page["moved"](model, place=7, length=8) == "····××××"


def test_a_leak_of_a_stranger_is_seen_at_one_place_and_not_at_another(page, seeds):
    prophet = page["prophet"]
    for seed in seeds:
        torch.manual_seed(seed)
        for parameter in prophet.parameters():
            nn.init.normal_(parameter, std=0.3)
        rows = [page["moved"](lambda ids: prophet(ids).logits, place, length=8) for place in (4, 3)]
        assert rows == ["····××××", "××××××××"]


def test_laws_that_something_changes_need_weights_that_let_it():
    deaf = planted.planted_decoder()
    for layer in deaf.layers:
        layer.output.weight.zero_()
    assert [name for name, law in laws.LAWS.items() if law(deaf)] == ["past", "reach"]
    assert not any(law(planted.planted_decoder()) for law in laws.LAWS.values())


@pytest.mark.parametrize("seed", range(10))
def test_a_small_mistake_is_lost_in_bfloat16_and_not_in_float32(seed):
    ids = torch.randint(22, (8, 11), generator=torch.Generator().manual_seed(seed))
    exact, errors = planted.planted_decoder()(ids), {}
    for dtype in (torch.float32, torch.bfloat16):
        for eps in (1e-6, 1e-5):
            decoder = planted.planted_decoder().to(dtype)
            for part in decoder.modules():
                if isinstance(part, nn.RMSNorm):
                    part.eps = eps
            errors[dtype, eps] = (decoder(ids).double() - exact).square().mean().sqrt()
    assert errors[torch.float32, 1e-5] > 100 * errors[torch.float32, 1e-6]
    assert errors[torch.bfloat16, 1e-6] > 30 * errors[torch.float32, 1e-5]
