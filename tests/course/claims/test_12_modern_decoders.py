"""What chapter 12 says of wrong loaders holds for weights that it never drew: its own cells, other seeds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from polyhead_course.figures.live import cache

CHAPTER = Path(__file__).parents[3] / "chapters" / "en" / "12-modern-decoders.md"
TEXT = CHAPTER.read_text(encoding="utf-8")
SHORT = r"```\{code-cell\} ipython3\n:id: (\S+)\n(?::tags:[^\n]*\n)?(.*?)```"
LONG = r"```\{code-cell\} ipython3\n---\nid: (\S+)\n.*?\n---\n(.*?)```"
CELLS = dict(re.findall(SHORT, TEXT, re.S) + re.findall(LONG, TEXT, re.S))
Effects = dict[str, list[tuple[float, float]]]
SCORES_ONLY = {
    "neighbours as pairs", "base 1,000,000", "no rotation", "QK-norm over all heads", "no QK-norm",
}  # fmt: skip


@pytest.fixture(scope="module")
def chapter() -> Any:
    """The names that the chapter's cells define."""
    names: dict[str, Any] = {}
    before = torch.get_default_dtype()
    wanted = ("setup", "rms-norm-code", "swiglu-code", "gqa-code", "modern-by-hand", "modern-code")
    for cell in (*wanted, "parity-code", "wrong-code"):
        exec(compile(CELLS[cell], cell, "exec"), names)
    yield names
    torch.set_default_dtype(before)


@pytest.fixture(scope="module", params=[range(10), range(100, 110)], ids=["dev", "held-out"])
def effects(request: pytest.FixtureRequest, chapter: dict[str, Any]) -> Effects:
    """For each mistake and seed, the largest error at the first token and the share of equal choices."""
    found: Effects = {name: [] for name in chapter["mistakes"]}
    for seed in request.param:
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
    code = CELLS["cache-figure"].split("live.cache")[0]
    exec(compile("from polyhead_course.figures import live\n" + code, "cache-figure", "exec"), chapter)
    layers, heads, kv_heads, head_dim = cache({"Qwen3 0.6B": [28, 16, 8, 128]}).data["models"]["Qwen3 0.6B"]
    assert (chapter["cache"].num_bytes, heads) == (2 * layers * kv_heads * head_dim * 2, 16)
