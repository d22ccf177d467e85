"""What chapter 3 says about trainings, on ten seeds that were not looked at when it was written."""

from __future__ import annotations

import pytest
import torch

from polyhead_course.models.translation import load_translator
from polyhead_course.models.translation.translator import source_tokens
from polyhead_course.models.two_requests import draw, train

SEEDS = range(100, 110)


def final(num_heads: int, head_dim: int, reads_colours: bool = False) -> torch.Tensor:
    """The mean loss of the last 50 steps of each run."""
    with torch.random.fork_rng(devices=[]):
        losses = train(SEEDS, num_heads, head_dim, reads_colours)
    return losses[:, -50:].mean(dim=1)


@pytest.mark.parametrize("head_dim", [6, 48])
def test_one_head_that_does_not_read_the_colours_loses_one_half(head_dim: int) -> None:
    losses = final(1, head_dim)
    assert losses.min() > 0.47, losses
    assert losses.max() < 0.53, losses


def test_two_heads_lose_nothing() -> None:
    assert final(2, 3).max() < 0.001


def test_with_the_colours_some_single_heads_find_the_trick_and_none_comes_near_two() -> None:
    one, two = final(1, 6, reads_colours=True), final(2, 3, reads_colours=True)
    assert int((one < 0.2).sum()) == 4, one
    assert int((one > 0.4).sum()) == 6, one
    assert two.max() < 0.02, two
    assert one.min() > 0.1, one


def test_with_the_colours_some_wide_heads_find_the_trick_and_others_do_not() -> None:
    wide = final(1, 48, reads_colours=True)
    assert 0 < int((wide < 0.2).sum()) < 10, wide
    assert wide.min() > 0.1, wide


def test_the_task_is_the_one_of_the_text() -> None:
    tokens, road, target = draw([torch.Generator().manual_seed(100)], size=500)
    district, is_road, colours = tokens[0, ..., 2], tokens[0, ..., 3], tokens[0, ..., 4:]
    assert torch.equal(district.sum(dim=-1), torch.ones(500))
    assert torch.equal(road[0], tokens[0][is_road.bool()])
    before = (is_road.argmax(dim=-1) - 1) % 4
    assert not (district.argmax(dim=-1) == before).any()
    assert not (district * is_road).any()
    rows = torch.arange(500)
    assert torch.equal(target[0, :, 0], colours[rows, before, 0])
    assert torch.equal(target[0, :, 1], colours[rows, district.argmax(dim=-1), 1])
    assert target.var().item() == pytest.approx(1, abs=0.15)


def test_the_translators_heads_look_where_the_text_says() -> None:
    translator = load_translator()
    read = source_tokens("Friday, November 20, 2026", "zh-TW")
    ids = translator.source.ids([read])
    weights = translator.model.attention_weights(ids, translator.write(ids)[:, :-1]).cross[0][0]
    largest = [[read[key] for key in row] for row in weights[:, :4].argmax(dim=-1).tolist()]
    assert [row[2:] for row in largest] == [["2", "6"]] * 4
    assert [int(row) for row in weights[1:, 0].argmax(dim=-1)] == [7, 8, 0]
    assert weights[0, 0].max() < 0.25
