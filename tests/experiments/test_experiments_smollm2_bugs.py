"""What is written after prompts, where it is no longer sure, and the tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attention_clinic.planted import planted_decoder
from experiments import smollm2_bugs as experiment
from polyhead_course.models.smollm2.bugs import bugs, continuations
from tests.polyhead.models import TableModel, decoder_only
from tests.polyhead.prompts import CHAIN, END

MODEL: Any = SimpleNamespace(
    tokenizer=SimpleNamespace(decode=lambda ids: bytes(ids).decode(errors="replace"))
)


def test_prompts_of_several_lengths_are_continued_as_each_alone() -> None:
    model, prompts = decoder_only(11), [torch.tensor([3, 1, 4, 1, 5]), torch.tensor([9, 2, 6])]
    together = experiment.write(model, prompts, 10, use_cache=True)
    assert together == [experiment.write(model, [prompt], 10, use_cache=False)[0] for prompt in prompts]
    assert together[0].ids != together[1].ids


def test_a_text_ends_before_the_end_token_and_is_sure_up_to_a_near_tie() -> None:
    assert experiment.write(CHAIN, [torch.tensor([0])], END, use_cache=True) == [([1, 3, 4], 3)]
    near = TableModel([[0.1, 0.8, 0.1], [0.495, 0.005, 0.5], [0.1, 0.8, 0.1]])
    assert experiment.write(near, [torch.tensor([0])], 0, use_cache=False)[0].num_sure == 1


@pytest.mark.parametrize(("num_sure", "expected"), [(0, ("", "aéb")), (1, ("a", "éb")), (2, ("a", "éb"))])
def test_no_character_is_cut(num_sure: int, expected: tuple[str, str]) -> None:
    assert experiment.split(MODEL, [*"aéb".encode()], num_sure) == expected


def test_the_laws_that_see_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(experiment.laws_that_see(planted_decoder())) == []
    assert list(experiment.laws_that_see(planted_decoder("cache_open"))) == ["chunk"]


def test_committed_tables_that_are_read_and_written_are_the_same(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "smollm2", lambda: None)
    monkeypatch.setattr(experiment, "measure_bugs", lambda model: bugs())
    monkeypatch.setattr(experiment, "measure_continuations", lambda model: continuations())
    experiment.main(["bugs", "continuations", "--folder", str(tmp_path)])
    for name in ("bugs.csv", "continuations.csv"):
        assert (tmp_path / name).read_bytes() == (experiment.FOLDER / name).read_bytes()
