"""The search task of the chapter on heads, and its tables."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from polyhead.heads import ablate
from polyhead_course.models import ranking
from polyhead_course.models.head_experiments import trials
from polyhead_course.models.translation import exact_match, held_out_pairs, load_translator
from tests.polyhead_course.minilm import tiny_minilm

PAIRS = ranking.query_title_pairs()


def test_there_are_pairs_enough_and_no_text_twice():
    assert len(PAIRS) >= 150
    for texts in zip(*PAIRS, strict=True):
        assert len(set(texts)) == len(PAIRS)
        assert all(text.strip() == text and text for text in texts)


def test_mostly_other_words_answer():
    shared = [
        len({word for word in pair.query.lower().split() if len(word) > 4} & set(pair.title.lower().split()))
        for pair in PAIRS
    ]
    assert 0.05 < sum(map(bool, shared)) / len(PAIRS) < 0.3


def test_a_rank_counts_those_that_are_as_similar():
    similarities = torch.tensor([[0.9, 0.1, 0.3], [0.5, 0.4, 0.6], [0.2, 0.7, 0.7]])
    assert ranking.ranks(similarities).tolist() == [1, 3, 2]
    assert ranking.mean_reciprocal_rank(similarities) == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    assert ranking.mean_reciprocal_rank(torch.zeros(7, 7)) == pytest.approx(1 / 7)  # nothing is known


@pytest.fixture(scope="module")
def tiny():
    return tiny_minilm()


def test_search_compares_every_query_with_every_title(tiny):
    pairs = PAIRS[:70]  # more than two batches, of unlike lengths
    got = ranking.search(tiny, pairs)
    for query, title in ((0, 0), (3, 69), (69, 3), (40, 33)):
        vectors = tiny.embed([pairs[query].query, pairs[title].title])
        assert got[query, title].item() == pytest.approx((vectors[0] @ vectors[1]).item(), abs=1e-5)


def test_the_loss_is_that_of_the_right_title_among_all(tiny):
    pairs, others = PAIRS[:3], PAIRS[5:9]
    similarities = ranking.search(tiny, [*pairs, *others])[:3]
    expected = -(20 * similarities).log_softmax(dim=-1).diagonal().mean()
    loss = ranking.loss(tiny, pairs, others)
    assert_close(loss.detach(), expected, rtol=1e-5, atol=1e-5)
    loss.backward()
    assert tiny.model.encoder.layers[0].attention.input_projection.weight.grad is not None


# ---- the tables


def test_the_translator_does_what_the_table_says():
    """Red when there is another translator: then `python -m experiments.heads translator`."""
    model, pairs = load_translator(), held_out_pairs("ko")[::11]
    half = next(row for row in trials("translator") if (row.experiment, len(row.off)) == ("random", 12))
    with ablate(model.model, half.off):
        assert exact_match(model, pairs) == pytest.approx(half.measures["ko"], abs=0.01)
