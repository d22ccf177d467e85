# ruff: noqa: E501  some calls are one line
"""Sampling: the probabilities by hand and by transformers, the draws against every text that there can be."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.testing import assert_close

from polyhead import greedy_decode, next_token_probs, sample
from tests.polyhead.models import decoder_only, encoder_decoder
from tests.polyhead.prompts import CHAIN, END, PROMPTS, SIDES, SOURCE, VOCAB, ids, padded, text
from tests.polyhead.test_beam_search import BAD

# ---- the probabilities of one step

HALVES = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625]).log()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [2, 8, 1, 4, 1]),
        ({"temperature": 0.5}, [4, 64, 1, 16, 1]),
        ({"temperature": 2}, [2**0.5, 8**0.5, 1, 2, 1]),
        ({"top_k": 1}, [0, 1, 0, 0, 0]),
        ({"top_k": 3}, [2, 8, 0, 4, 0]),
        ({"top_k": 4}, [2, 8, 1, 4, 0]),  # of two equal ones the first
        ({"top_k": 99}, [2, 8, 1, 4, 1]),
        ({"top_p": 1e-9}, [0, 1, 0, 0, 0]),
        ({"top_p": 0.5}, [0, 1, 0, 0, 0]),  # one reaches it
        ({"top_p": 0.5001}, [0, 2, 0, 1, 0]),
        ({"top_p": 0.9}, [2, 8, 1, 4, 0]),
        ({"top_p": 1}, [2, 8, 1, 4, 1]),
        ({"temperature": 0.5, "top_p": 0.8}, [0, 4, 0, 1, 0]),  # 64 of 86 do not reach it
        ({"top_k": 2, "top_p": 0.6}, [0, 1, 0, 0, 0]),  # 8 of 12, of what top_k has left
    ],
    ids=str,
)
def test_probabilities_by_hand(options, expected):
    share = torch.tensor(expected, dtype=torch.float)
    assert_close(next_token_probs(HALVES, **options), share / share.sum())


@given(
    seed=st.integers(0, 99),
    temperature=st.floats(0.05, 20),
    top_k=st.none() | st.integers(1, 15),
    top_p=st.none() | st.floats(0.01, 1),
)
@settings(max_examples=60)
def test_probabilities_are_those_of_transformers(seed, temperature, top_k, top_p):
    processors = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(2, 13, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    chain = [processors.TemperatureLogitsWarper(float(temperature))]
    chain += [] if top_k is None else [processors.TopKLogitsWarper(top_k)]
    kept = next_token_probs(logits, temperature, top_k)
    if top_p is not None:
        sums = kept.sort(dim=-1, descending=True).values.cumsum(dim=-1)
        assume((sums - top_p).abs().min() > 1e-6)  # on the edge rounding decides
        chain += [processors.TopPLogitsWarper(top_p)]
    expected = logits
    for process in chain:
        expected = process(None, expected)
    assert_close(next_token_probs(logits, temperature, top_k, top_p), expected.softmax(dim=-1))


@given(
    logits=st.lists(st.integers(-4, 4), min_size=1, max_size=7),
    top_k=st.none() | st.integers(1, 8),
    top_p=st.none() | st.floats(0, 1, exclude_min=True),
)
def test_what_stays_is_the_smallest_set_of_the_best(logits, top_k, top_p):
    scores = torch.tensor(logits, dtype=torch.float64)
    probs = next_token_probs(scores, top_k=top_k, top_p=top_p)
    assert_close(probs.sum(), torch.tensor(1.0).double())
    order = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    size = int((probs > 0).sum())
    assert {token for token in range(len(logits)) if probs[token]} == set(order[:size])
    candidates = order[:top_k]
    assert 1 <= size <= len(candidates)
    if top_p is None:
        assert size == len(candidates)
    else:
        among = scores[candidates].softmax(dim=0)
        assert among[:size].sum() >= top_p - 1e-9
        assert among[: size - 1].sum() < top_p + 1e-9


def test_each_row_has_its_own_nucleus_in_any_shape():
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(3))
    got = next_token_probs(logits, 0.7, 5, 0.8)
    for row in itertools.product(range(2), range(3)):
        assert_close(got[row], next_token_probs(logits[row], 0.7, 5, 0.8))


def test_a_nucleus_of_all_keeps_what_is_too_small_to_change_a_sum():
    logits = torch.tensor([0.0, -30.0, -60.0])
    assert_close(next_token_probs(logits, top_p=1.0), logits.softmax(dim=0), rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("temperature", [1e-5, 1e-39, 5e-324])
def test_near_0_temperature_leaves_the_most_probable_tokens(temperature, dtype):
    got = next_token_probs(torch.tensor([[1.0, 2.0, -3.0], [4.0, 0.0, 4.0]], dtype=dtype), temperature)
    assert got.tolist() == [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]


# ---- the draws


@torch.no_grad()
def every_text(logits, prompt, max_new_tokens, **options):
    """The probability of each text that can be written after the prompt, one sequence at a time."""
    found, live = {}, {(): 1.0}
    while live:
        new, before = live.popitem()
        probs = next_token_probs(logits(ids(prompt + list(new)))[0, -1], **options).tolist()
        for token, prob in enumerate(probs):
            if prob:
                longer = (*new, token)
                ends = token == END or len(longer) == max_new_tokens
                (found if ends else live)[longer] = before * prob
    assert sum(found.values()) == pytest.approx(1)
    return found


def assert_drawn_from(rows, expected):
    """Chi-square, over texts that are expected at least five times, and the rest together."""
    drawn = [text(row) for row in rows]
    assert set(drawn) <= set(expected)
    often = [each for each in expected if expected[each] * len(drawn) >= 5]
    rest = 1 - sum(expected[each] for each in often)
    counts = [*(drawn.count(each) for each in often), sum(each not in often for each in drawn)]
    shares = [*(expected[each] for each in often), rest]
    cells = [(count, share * len(drawn)) for count, share in zip(counts, shares, strict=True) if share > 1e-9]
    assert len(cells) > 3
    assert stats.chisquare(*zip(*cells, strict=True)).pvalue > 1e-3


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"temperature": 1.7}, {"top_k": 3}, {"temperature": 3, "top_p": 0.8}, {"temperature": 2.5, "top_k": 4, "top_p": 0.9}], ids=str
)  # fmt: skip
def test_texts_have_their_exact_probabilities_row_by_row(options, use_cache):
    model, prompts = decoder_only(5, seed=4), [[1, 0, 3], [4]]
    tokens, mask = padded(prompts * 1500, "lr" * 1500, filler=0)
    got = sample(
        model, tokens, end_id=END, max_new_tokens=3, prompt_mask=mask, use_cache=use_cache,
        generator=torch.Generator().manual_seed(5), **options,
    )  # fmt: skip
    for row, prompt in enumerate(prompts):
        assert_drawn_from(got[row::2], every_text(model, prompt, 3, **options))


def test_rows_do_not_follow_each_other():
    """Of two equal rows each pair of tokens has the product of both probabilities."""
    got = sample(CHAIN, ids(*[[0]] * 6000), end_id=END, max_new_tokens=1, generator=torch.Generator().manual_seed(7))  # fmt: skip
    counts = torch.bincount(got[0::2, 0] * 5 + got[1::2, 0], minlength=25)
    probs = CHAIN.table[0].exp()
    expected = (probs[:, None] * probs).flatten() * 3000
    assert stats.chisquare(counts, expected).pvalue > 1e-3


def test_with_an_encoder():
    model, source = encoder_decoder(5, seed=1), torch.arange(SOURCE)[None]
    source_mask = torch.arange(SOURCE)[None] < 4
    got = sample(
        model, ids(*[[1]] * 2000), end_id=END, max_new_tokens=3, source_ids=source.repeat(2000, 1), temperature=3.0,
        source_mask=source_mask.repeat(2000, 1), generator=torch.Generator().manual_seed(2),
    )  # fmt: skip
    assert_drawn_from(got, every_text(lambda so_far: model(source[:, :4], so_far), [1], 3, temperature=3.0))


@given(prompts=PROMPTS, sides=SIDES, seed=st.integers(0, 5))
@settings(max_examples=10)
def test_one_candidate_is_greedy_decoding(prompts, sides, seed):
    model = decoder_only(VOCAB, seed)
    tokens, mask = padded(prompts, sides, filler=seed)
    options = {"end_id": END, "max_new_tokens": 6, "prompt_mask": mask}
    expected = greedy_decode(model, tokens, **options).tolist()
    for choice in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-6}):
        assert sample(model, tokens, **choice, **options).tolist() == expected


def test_the_generator_decides_and_nothing_else():
    model, prompt = decoder_only(VOCAB, seed=2, dropout=0.5).train(), ids([1, 3], [4, 5])

    def draw(seed, **options):
        generator = torch.Generator().manual_seed(seed)
        return sample(model, prompt, end_id=END, max_new_tokens=9, generator=generator, temperature=4.0, **options)  # fmt: skip

    state = torch.get_rng_state()
    first = draw(3)
    assert torch.equal(torch.get_rng_state(), state)
    assert first.dtype == torch.int64
    assert draw(3).tolist() == first.tolist() == draw(3, use_cache=False).tolist()
    assert any(draw(seed).tolist() != first.tolist() for seed in range(3))
    assert model.training

    def by_default(seed):
        torch.manual_seed(seed)
        return sample(model, prompt, end_id=END, max_new_tokens=9, temperature=4.0).tolist()

    assert by_default(3) == by_default(3)


# ---- what it refuses

OF_CHOICE = {
    "no temperature": ({"temperature": 0}, r"temperature.*above 0.*greedy_decode.*0"),
    "cold": ({"temperature": -1.0}, r"temperature.*above 0.*-1"),
    "endless": ({"temperature": float("inf")}, r"temperature.*finite.*inf"),
    "no temperature at all": ({"temperature": float("nan")}, r"temperature.*finite.*nan"),
    "none of them": ({"top_k": 0}, r"top_k.*at least 1.*0"),
    "no share": ({"top_p": 0.0}, r"top_p.*above 0.*0\.0"),
    "more than all": ({"top_p": 1.1}, r"top_p.*at most 1.*1\.1"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("changes", "message"), [*BAD.values(), *OF_CHOICE.values()])
def test_bad_input(changes, message):
    arguments = {"model": CHAIN, "prompt_ids": ids([0], [1]), "end_id": END, "max_new_tokens": 3} | changes
    with pytest.raises(ValueError, match=rf"\b({message})"):
        sample(**arguments)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("changes", "message"), OF_CHOICE.values())
def test_probabilities_of_bad_input(changes, message):
    with pytest.raises(ValueError, match=rf"\b({message})"):
        next_token_probs(HALVES, **changes)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("changes", [{"top_k": 1.5}, {"generator": 3}, {"temperature": "1"}], ids=str)
def test_wrong_types(changes):
    with pytest.raises(TypeError, match=next(iter(changes))):
        sample(CHAIN, ids([0]), end_id=END, max_new_tokens=3, **changes)
