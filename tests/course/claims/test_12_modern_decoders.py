"""What chapter 12 says of wrong loaders holds for weights that it never drew: its own cells, other seeds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from experiments.cells import run_cells
from polyhead_course.figures import live

Effects = dict[str, list[tuple[float, float]]]
SCORES_ONLY = {
    "neighbours as pairs", "base 1,000,000", "no rotation", "QK-norm over all heads", "no QK-norm",
}  # fmt: skip


@pytest.fixture(scope="module")
def chapter() -> dict[str, Any]:
    """The names that the chapter's cells define."""
    return run_cells(
        "12-modern-decoders", "setup", "rms-norm-code", "swiglu-code", "gqa-code", "modern-by-hand",
        "modern-code", "parity-code", "wrong-code",
    )  # fmt: skip


@pytest.fixture(scope="module")
def effects(seeds: range, chapter: dict[str, Any]) -> Effects:
    """For each mistake and seed, the largest error at the first token and the share of equal choices."""
    found: Effects = {name: [] for name in chapter["mistakes"]}
    for seed in seeds:
        model, text = chapter["real_model"]("Qwen3", seed)
        right = chapter["modern"](model.state_dict(), text)
        assert (right - model(text).logits).abs().max() < 1e-5
        for name, parts in chapter["mistakes"].items():
            wrong = chapter["modern"](model.state_dict(), text, **parts)
            same = (right.argmax(dim=-1) == wrong.argmax(dim=-1)).double().mean().item()
            found[name].append(((right - wrong)[:, 0].abs().max().item(), same))
    return found


def test_mistakes_in_scores_do_not_show_at_the_first_token(effects: Effects) -> None:
    right = {name for name, rows in effects.items() if max(error for error, _ in rows) < 1e-9}
    assert right == SCORES_ONLY
    for name in effects.keys() - SCORES_ONLY:
        assert min(error for error, _ in effects[name]) > 1e-7, name


def test_a_wrong_base_keeps_most_choices_and_a_wrong_eps_all(effects: Effects) -> None:
    base, eps = ([same for _, same in effects[name]] for name in ("base 1,000,000", "eps 1e-5"))
    assert sum(same >= 2 / 3 for same in base) == 10
    assert sum(same == 1 for same in eps) >= 9
    tiled = [same for _, same in effects["tiled heads"]]
    assert max(tiled) < min(base)


def test_the_figure_has_the_cache_that_the_library_fills(chapter: dict[str, Any]) -> None:
    names = {**chapter, "live": live}
    cached = run_cells("12-modern-decoders", ("cache-figure", "live.cache"), names=names)["cache"]
    figure = live.cache({"Qwen3 0.6B": [28, 16, 8, 128]})
    layers, heads, kv_heads, head_dim = figure.data["models"]["Qwen3 0.6B"]
    assert (cached.num_bytes, heads) == (2 * layers * kv_heads * head_dim * 2, 16)


def test_a_full_state_forgets_everywhere_and_the_delta_rule_what_is_old(seeds: range) -> None:
    read_state = run_cells("12-modern-decoders", "setup", ("linear-code", "torch.manual_seed"))["read_state"]
    for seed in seeds:
        torch.manual_seed(seed)
        k, v = F.normalize(torch.randn(2, 256, 32), dim=2)
        found = {}
        for delta in (False, True):
            nearest = torch.cdist(k @ read_state(k, k, v, delta=delta)[1], v).argmin(dim=1)
            found[delta] = nearest == torch.arange(256)
        assert max(each.double().mean() for each in found.values()) < 0.25, seed
        assert found[True][-16:].sum() >= 13 and found[False][-16:].sum() <= 5, seed


def test_a_falling_bias_spreads_the_tokens_over_the_experts(seeds: range) -> None:
    mixture = run_cells("12-modern-decoders", "setup", ("experts-code", "four ="))["mixture"]
    first, last = [], []
    for seed in seeds:
        torch.manual_seed(seed)
        x, router, bias = torch.randn(1000, 24) + torch.randn(24), torch.randn(24, 4), torch.zeros(4)
        loads = []
        for _ in range(201):
            loads.append(mixture(x, router, [torch.zeros_like] * 4, bias)[1])
            bias = bias - 0.05 * (loads[-1] - 500).sign()
        first.append(loads[0].max().item())
        last.append(loads[-1].max().item())
    assert min(first) > 600
    assert sorted(last)[-2] <= 515 and max(last) <= 600  # one of twenty draws needs more steps
