"""Names: what is held out, the trigram by hand, the committed checkpoint."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from torch.testing import assert_close

from polyhead_course.models import names
from polyhead_course.models.names import NameWriter, NGram, Vocabulary
from polyhead_course.models.names.model import CHECKPOINT
from polyhead_course.models.names.runs import LOCALES
from polyhead_course.models.translation.translator import CHECKPOINT as TRANSLATOR

pytest.importorskip("babel")


@pytest.fixture(scope="module")
def read():
    return names.read_names()


@pytest.fixture(scope="module")
def writer():
    return NameWriter()


# ---- data


def test_a_tenth_is_held_out_and_no_name_is_on_both_sides(read):
    for language in LOCALES:
        training, held_out = read.training[language], read.held_out[language]
        assert not set(training) & set(held_out)
        assert 0.07 < len(held_out) / (len(training) + len(held_out)) < 0.13
        assert training == sorted(set(training))
        assert len(training) > 900


def test_a_thing_is_held_out_in_all_languages_or_in_none_and_with_what_begins_alike(read):
    held_out, training = (
        dict(zip(LOCALES, each, strict=True))
        for each in (("Bolivia", "玻利維亞", "玻利维亚", "볼리비아"), ("Kenya", "肯亞", "肯尼亚", "케냐"))
    )
    for language in LOCALES:
        assert held_out[language] in read.held_out[language]
        assert training[language] in read.training[language]
    assert names.is_held_out("Bolivia") == names.is_held_out("bolivarian")
    assert {names.is_held_out(name) for name in ("Bolivia", "Kenya")} == {True, False}


def test_what_is_no_place_and_no_language_is_left_out(read):
    for side in read:
        assert not {"UTC", "Unknown City", "Unknown Region", "Unknown language"} & set(side["en"])
    assert "New York" in {*read.training["en"], *read.held_out["en"]}  # the zone's name, which CLDR omits


# ---- vocabulary and loss


def test_tokens_are_the_language_the_characters_and_the_end():
    vocabulary = Vocabulary(["en", "ko"], "abc")
    ids = vocabulary.encode("ko", ["ca", "bbb"])
    assert ids.tolist() == [[3, 6, 4, 1, 0], [3, 5, 5, 5, 1]]
    assert [vocabulary.decode(row[1:]) for row in ids] == ["ca", "bbb"]
    assert vocabulary.decode(torch.tensor([4, 5])) == "ab"
    assert (vocabulary.knows("abba"), vocabulary.knows("abd")) == (True, False)


# ---- counting


def test_the_trigram_by_hand():
    """The names ab, ab, ac, b, as the tokens 3, 4, 5 after the language, 2, and before the end, 1."""
    names = [[2, 3, 4, 1], [2, 3, 4, 1], [2, 3, 5, 1], [2, 4, 1]]
    trigram = NGram(names, possible=[1, 3, 4, 5], vocab_size=7)
    # (2, 2, 3) 3, (2, 2, 4) 1, (2, 3, 4) 2, (2, 3, 5) 1, (3, 4, 1) 2, (3, 5, 1) 1, (2, 4, 1) 1
    third = 4 / (4 + 2 * 2)
    # Pairs with the number of tokens before them: (4, 1) 2; (2, 3) (2, 4) (3, 4) (3, 5) (5, 1) 1.
    second = 5 / (5 + 2 * 1)
    # Tokens with the number of tokens before them: 4 and 1 2; 3 and 5 1.
    first = 2 / (2 + 2 * 2)
    b = (2 - first + first * 4 / 4) / 6
    a_b = (1 - second + second * 2 * b) / 2
    assert_close(trigram.distribution((6, 6))[4].item(), b)
    assert_close(trigram.distribution((6, 3))[4].item(), a_b)
    assert_close(trigram.distribution((2, 3))[4].item(), (2 - third + third * 2 * a_b) / 3)
    for context in [(2, 2), (2, 3), (3, 4), (5, 3), (6, 6)]:
        probs = trigram.distribution(context)
        assert_close(probs.sum().item(), 1.0)
        assert (probs > 0).tolist() == [False, True, False, True, True, True, False]
    steps = (((2, 2), 4), ((2, 4), 5), ((4, 5), 1))
    product = math.prod(trigram.distribution(context)[token].item() for context, token in steps)
    assert_close(trigram.perplexity([[2, 4, 5, 1]]), product ** (-1 / 3))


def test_a_fifth_order_sees_four_tokens():
    names = [*[[2, 3, 4, 3, 5, 1]] * 3, *[[2, 4, 4, 3, 4, 1]] * 2, [2, 5, 1]]
    model = NGram(names, range(1, 6), 6, order=5)
    assert model.contexts([2, 3, 4, 1]) == [(2, 2, 2, 2), (2, 2, 2, 3), (2, 2, 3, 4)]
    assert model.distribution((2, 3, 4, 3)).argmax() == 5
    assert model.distribution((2, 4, 4, 3)).argmax() == 4


def test_counts_of_3_or_more_are_not_dismodel():
    bigram = NGram([[0, 1, 1]] * 5, [0, 1], 2, order=2)
    assert bigram.distribution((0,)).tolist() == [0.0, 1.0]
    assert bigram.perplexity([[0, 1, 1]]) == 1.0
    assert bigram.perplexity([[0, 0]]) == math.inf


@pytest.mark.parametrize("sequences", [[], [[2]]])
def test_without_counts_all_possible_tokens_are_equal(sequences):
    trigram = NGram(sequences, [1, 3, 4, 5], 6)
    assert trigram.distribution((2, 2)).tolist() == [0.0, 0.25, 0.0, 0.25, 0.25, 0.25]
    with pytest.raises(ValueError, match="sequences must have a token after the first"):
        trigram.perplexity(sequences)


@pytest.mark.parametrize("context", [(0,), (7,)])
def test_a_distribution_belongs_to_the_caller(context):
    bigram = NGram([[0, 1, 1], [0, 1, 2]], [1, 2], 3, order=2)
    before = bigram.distribution(context).clone()
    bigram.distribution(context).zero_()
    assert_close(bigram.distribution(context), before, rtol=0, atol=0)


# ---- the checkpoint


def test_the_checkpoint_is_small_and_has_its_provenance(writer):
    assert CHECKPOINT.stat().st_size < 1_000_000
    assert writer.facts["recipe"]["seed"] == 0
    assert {"torch", "threads", "date", "babel"} <= writer.facts.keys()


def test_it_has_not_learnt_what_was_held_out(writer, read):
    """Its perplexity on names that it has seen is lower; on these it cannot be."""
    for language in LOCALES:
        seen, unseen = (writer.perplexity(language, side[language]) for side in read)
        assert 1.5 * seen < unseen


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda writer: NameWriter(TRANSLATOR), "path must be a checkpoint of polyhead_course.models.names"),
        (lambda writer: writer.perplexity("en", ["Rome", "a☃"]), "names must have .*'a☃' with '☃'"),
        (lambda writer: writer.perplexity("en", []), "names must have at least one, got none"),
        (lambda writer: writer.perplexity("fr", ["Rome"]), "language must be one of en, .*'fr'"),
    ],
)
def test_bad_input_is_refused(writer, call, message):
    with pytest.raises(ValueError, match=message):
        call(writer)


def test_each_language_is_written_in_its_own_script(writer):
    generator = torch.Generator().manual_seed(0)
    for language, script in (("en", "Az"), ("zh-TW", "一鿿"), ("zh-CN", "一鿿"), ("ko", "가힣")):
        text = "".join(writer.write(language, 50, temperature=0.7, generator=generator))
        letters = Counter(script[0] <= c <= script[1] for c in text if c.isalpha())
        assert letters[True] > 20 * letters[False]
