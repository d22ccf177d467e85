"""The tables of what bugs do to SmolLM2: whole, and as it computes them again."""

from __future__ import annotations

import statistics
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_clinic.plant import PLANTABLE, plant
from experiments.smollm2_bugs import perplexities
from polyhead.pretrained import smollm2
from polyhead_course.models.smollm2.bugs import PROMPTS, WAYS, bugs, continuations
from polyhead_course.models.smollm2.texts import texts

TOKENIZER: Any = SimpleNamespace(encode=lambda text: SimpleNamespace(ids=[int(each) for each in text]))


class Doubling(nn.Module):
    """After token i, token i + 1 has a probability of 2 to the power of -i, out of five tokens."""

    def forward(self, token_ids: Tensor) -> Tensor:
        share = 0.5 ** token_ids.double()
        probs = ((1 - share) / 4)[..., None].expand(*token_ids.shape, 5)
        return probs.scatter(-1, (token_ids + 1)[..., None], share[..., None]).log()


def test_perplexities_by_hand() -> None:
    # 1/2 and 1/4, whose mean logarithm is that of 8 ** -0.5; 3/4 is shared by four tokens
    found = perplexities(Doubling(), TOKENIZER, ["123", "23", "20"])
    assert found == pytest.approx([8**0.5, 4, 16 / 3])


def test_a_text_of_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="texts must have two tokens or more each, got '3'"):
        perplexities(Doubling(), TOKENIZER, ["12", "3"])


def test_the_table_has_each_bug_and_each_text() -> None:
    rows = list(bugs())
    assert [row.bug for row in rows if row.layer is None] == ["none", *PLANTABLE]
    for row in rows:
        assert list(row.perplexities) == list(texts())
        assert min(row.perplexities.values()) < row.perplexity < max(row.perplexities.values())
        logs = [torch.tensor(each).log().item() for each in row.perplexities.values()]
        assert row.spread == pytest.approx(statistics.stdev(logs), rel=1e-4)
        assert row.layer is None or (row.layer in (0, 15, 29) and not row.laws)


def test_each_prompt_is_continued_in_each_way() -> None:
    written = {(row.bug, row.way, row.prompt): row.text + row.rest for row in continuations()}
    of_cache = [bug for bug in ("none", *PLANTABLE) if bug == "none" or bug.startswith("cache")]
    expected = {
        (bug, way, prompt)
        for bug in ("none", *PLANTABLE)
        for way in WAYS
        for prompt in PROMPTS
        if way != "no cache" or bug in of_cache
    }
    assert written.keys() == expected
    for prompt in PROMPTS:
        right = written["none", "cache", prompt]
        assert all(written[bug, "no cache", prompt] == right for bug in of_cache)
        assert written["cache_positions", "cache", prompt] != right
        assert all(written[bug, "cache", prompt] == right for bug in ("padding_ignored", "mask_nan"))
        assert written["mask_nan", "batch", prompt] == "FloatingPointError"


def test_two_rows_computed_again() -> None:
    model, tokenizer, _ = smollm2()
    chosen = {("kv_tiled", None), ("unscaled", 15)}
    rows = [row for row in bugs() if (row.bug, row.layer) in chosen]
    assert len(rows) == len(chosen)
    for row in rows:
        planted = plant(model, row.bug, None if row.layer is None else [row.layer])
        found = perplexities(planted, tokenizer, texts().values())
        assert found == pytest.approx(list(row.perplexities.values()), rel=1e-3)
