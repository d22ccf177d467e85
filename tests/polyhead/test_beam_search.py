"""Beam search against brute force, and what both ways to generate refuse."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import beam_search, greedy_decode
from polyhead.generation.beams import _Best
from tests.polyhead.models import TableModel, decoder_only, encoder_decoder
from tests.polyhead.prompts import BATCH, CHAIN, END, PROMPTS, SIDES, SOURCE, VOCAB, ids, padded, text

PENALTIES = [0.0, 0.6, 1.0, 2.5]
search = partial(beam_search, end_id=END)

# ---- beam search


def penalised(log_prob: float, length: int, alpha: float) -> float:
    return log_prob / ((5 + length) / 6) ** alpha


@torch.no_grad()
def every_sequence(model, prompt, vocab_size, max_new_tokens, alpha):
    """All that can be written, with their scores, best first."""
    others = [token for token in range(vocab_size) if token != END]
    found = []
    for length in range(1, max_new_tokens + 1):
        last = range(vocab_size) if length == max_new_tokens else [END]
        texts = list(itertools.product(*[others] * (length - 1), last))
        logits = model(ids(*(prompt + list(new) for new in texts)))[:, len(prompt) - 1 : -1]
        totals = logits.double().log_softmax(dim=-1).gather(2, ids(*texts)[..., None]).sum(dim=(1, 2))
        found += [
            (penalised(total, length, alpha), new) for total, new in zip(totals.tolist(), texts, strict=True)
        ]
    return sorted(found, reverse=True)


@torch.no_grad()
def beams_by_hand(logits, prompt, beam_size, max_new_tokens, alpha):
    """The same search, one sequence at a time, without a cache, and never stopped early."""
    live, ended = [(0.0, ())], []
    for length in range(1, max_new_tokens + 1):
        candidates = []
        for total, new in live:
            log_probs = logits(ids(prompt + list(new)))[0, -1].double().log_softmax(dim=-1)
            candidates += [(total + float(p), (*new, token)) for token, p in enumerate(log_probs)]
        candidates = sorted(candidates, reverse=True)[: 2 * beam_size]
        live = [each for each in candidates if each[1][-1] != END][:beam_size]
        stop = [each for each in candidates[:beam_size] if each[1][-1] == END]
        stop += live if length == max_new_tokens else []
        ended += [(penalised(total, length, alpha), new) for total, new in stop]
    return sorted(ended, reverse=True)[:beam_size]


def assert_same_beams(got, row, expected):
    scores, texts = zip(*expected, strict=True)
    assert_close(got.scores[row, : len(scores)].double(), torch.tensor(scores).double(), rtol=1e-5, atol=1e-5)
    assert [text(tokens) for tokens in got.token_ids[row, : len(texts)]] == list(texts)


@pytest.mark.parametrize("alpha", PENALTIES)
@pytest.mark.parametrize(("vocab_size", "beams"), [(3, 16), (4, 100)])
def test_wide_enough_it_finds_the_best_of_all_sequences(vocab_size, beams, alpha):
    model, prompts = decoder_only(vocab_size, seed=4), [[1, 0], [0, 1], [2, 1]]
    got = search(model, ids(*prompts), max_new_tokens=4, beam_size=beams, length_penalty=alpha)
    for row, prompt in enumerate(prompts):
        expected = every_sequence(model, prompt, vocab_size, 4, alpha)
        assert_same_beams(got, row, expected[:beams])


def test_fewer_sequences_than_beams_score_minus_infinity():
    model = decoder_only(3)
    got = search(model, ids([1]), max_new_tokens=2, beam_size=9)
    assert torch.isneginf(got.scores).tolist() == [[False] * 7 + [True] * 2]  # the end, or 2 · 3 pairs
    assert (got.token_ids[0, 7:] == END).all()


def test_a_million_beams_of_few_sequences_cost_little():
    model, batches = decoder_only(3), []
    model.embedding.register_forward_hook(lambda module, args, output: batches.append(len(output)))
    got = search(model, ids([1], [0]), max_new_tokens=3, beam_size=1_000_000)
    assert got.scores.shape == (2, 1_000_000)
    ended_and_cut_off = [1 + 2 + 2 * 2 * 3] * 2  # ended after 1, 2; cut off at 3
    assert got.scores.isfinite().sum(dim=1).tolist() == ended_and_cut_off
    assert max(batches) <= 2 * 3 * 3


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, (2,)), (0.6, (2,)), (1.0, (1, 2)), (2.5, (1, 2))])
def test_penalties_choose_between_short_and_long(alpha, expected):
    """log 0.4 = -0.916 against log (0.6 · 0.6) / (7 / 6)^alpha = -1.022, -0.931, -0.876, -0.695."""
    model = TableModel([[0.0, 0.6, 0.4], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])
    found = search(model, ids([0]), max_new_tokens=2, beam_size=2, length_penalty=alpha)
    assert text(found.token_ids[0, 0]) == expected


@pytest.mark.parametrize("alpha", PENALTIES)
@given(prompts=PROMPTS, sides=SIDES, seed=st.integers(0, 9), beams=st.integers(1, 4), use_cache=st.booleans())
@settings(max_examples=6)
def test_stopping_early_is_never_wrong_and_rows_do_not_mix(alpha, prompts, sides, seed, beams, use_cache):
    model = decoder_only(VOCAB, seed)
    tokens, mask = padded(prompts, sides, filler=seed)
    options = {"max_new_tokens": 6, "beam_size": beams, "length_penalty": alpha, "use_cache": use_cache}
    got = search(model, tokens, prompt_mask=mask, **options)
    for row, prompt in enumerate(prompts):
        assert_same_beams(got, row, beams_by_hand(model, prompt, beams, 6, alpha))


def test_a_prompt_s_search_ends_by_its_own_sequences():
    """Without a penalty -e^-r has rank r: the first prompt has one of 5, the second one of 1."""
    best = _Best(torch.zeros(2, 1, 0, dtype=torch.long), END, 0.0)
    best.offer(torch.zeros(2, 1, 1, dtype=torch.long), -torch.tensor([[5.0], [1.0]]).neg().exp())
    assert not best.can_improve(-torch.tensor([[3.0], [0.0]]).neg().exp(), 6)
    assert best.can_improve(-torch.tensor([[3.0], [2.0]]).neg().exp(), 6)


@given(seed=st.integers(0, 9), beams=st.integers(1, 4), sides=SIDES, use_cache=st.booleans())
@settings(max_examples=4)
def test_beams_with_an_encoder(seed, beams, sides, use_cache):
    model, prompts = encoder_decoder(VOCAB, seed), [[1], [4, 3, 5], [6, 1]]
    tokens, mask = padded(prompts, sides, filler=seed)
    source, source_lens = torch.randint(13, (BATCH, SOURCE)), [4, 7, 1]
    source_mask = torch.arange(SOURCE) < torch.tensor(source_lens)[:, None]
    options = {"max_new_tokens": 6, "beam_size": beams, "use_cache": use_cache, "prompt_mask": mask}
    got = search(model, tokens, source_ids=source, source_mask=source_mask, **options)
    for row, prompt in enumerate(prompts):
        own = source[row : row + 1, : source_lens[row]]

        def logits(so_far, own=own):
            return model(own, so_far)

        assert_same_beams(got, row, beams_by_hand(logits, prompt, beams, 6, 0.6))


# From either token the end has 0.6, and the other tokens 0.3 and 0.1.
SURE = [[0.1, 0.3, 0.6]] * 3


@pytest.mark.parametrize(
    ("beams", "alpha", "calls"),
    [
        (1, 0.0, 1),  # log 0.6 = -0.51 against log 0.3 = -1.20: nothing that follows gets better
        (1, 1.0, 4),  # n · log 0.3 / (55 / 6) = n · -0.131 is the best in reach: below -0.51 from n = 4 on
        (2, 0.0, 2),  # ends: 0.6, then 0.3 · 0.6 = 0.18; live 0.09
    ],
)
def test_it_stops_as_soon_as_nothing_can_get_better(beams, alpha, calls):
    model = TableModel(SURE)
    found = search(model, ids([0]), max_new_tokens=50, beam_size=beams, length_penalty=alpha)
    assert text(found.token_ids[0, 0]) == (END,)
    assert model.calls == calls


def test_it_stops_when_the_last_of_the_batch_is_done():
    ends, goes_on = [0.01, 0.01, 0.97, 0.01], [0.01, 0.01, 0.01, 0.97]
    model = TableModel([ends, goes_on, [0.25] * 4, ends])
    found = search(model, ids([0], [1]), max_new_tokens=50, beam_size=1, length_penalty=0.0)
    assert found.token_ids.tolist() == [[[2, 2]], [[3, 2]]]
    assert model.calls == 2


def test_more_beams_find_what_greedy_decoding_misses():
    """0.5 · 0.4 = 0.2 is where greedy decoding goes; 0.4 · 0.9 = 0.36 is better."""
    model = TableModel([[0.0, 0.5, 0.1, 0.4], [0.3, 0.3, 0.4, 0.0], [0.25] * 4, [0.05, 0.05, 0.9, 0.0]])
    assert greedy_decode(model, ids([0]), end_id=END, max_new_tokens=2).tolist() == [[1, 2]]
    found = search(model, ids([0]), max_new_tokens=2, beam_size=2, length_penalty=0.0)
    assert found.token_ids.tolist() == [[[3, 2], [1, 2]]]
    assert_close(found.scores, torch.tensor([[0.36, 0.2]]).log())


@given(seed=st.integers(0, 50), use_cache=st.booleans())
@settings(max_examples=20)
def test_one_beam_without_a_penalty_is_greedy_decoding(seed, use_cache):
    model, options = decoder_only(5, seed), {"max_new_tokens": 6, "use_cache": use_cache}
    greedy = greedy_decode(model, ids([1]), end_id=END, **options)
    found = search(model, ids([1]), beam_size=1, length_penalty=0.0, **options)
    assert text(found.token_ids[0, 0]) == text(greedy[0])


def test_an_end_counts_only_among_the_best():
    """0.5 goes on, and each way from there has 0.25 of it; the end at once had 0.4, and came second."""
    model = TableModel([[0.05, 0.5, 0.4, 0.05], [0.25] * 4, [0.25] * 4, [0.25] * 4])
    for beams, best in ((1, 1), (2, END)):
        found = search(model, ids([0]), max_new_tokens=2, beam_size=beams, length_penalty=0.0)
        assert found.token_ids[0, 0, 0] == best


# ---- numbers


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("use_cache", [True, False])
def test_prompts_of_any_integer_dtype(dtype, use_cache):
    """The new tokens come in 64 bits: 8 have no room for the 199 others of this vocabulary."""
    model, source = encoder_decoder(200, seed=5), torch.randint(13, (2, SOURCE))
    options = {"end_id": 199, "max_new_tokens": 6, "use_cache": use_cache}
    expected = greedy_decode(model, ids([3], [4]), source_ids=source, **options)
    assert expected.max() > 127
    got = greedy_decode(model, ids([3], [4]).to(dtype), source_ids=source.to(dtype), **options)
    assert got.dtype == torch.int64
    assert got.tolist() == expected.tolist()
    beams = beam_search(model, ids([3], [4]), source_ids=source, **options)
    found = beam_search(model, ids([3], [4]).to(dtype), source_ids=source.to(dtype), **options)
    assert found.token_ids.dtype == torch.int64
    assert found.token_ids.tolist() == beams.token_ids.tolist()


@pytest.mark.parametrize("alpha", [40.0, 1000.0])
def test_a_penalty_beyond_what_a_number_can_be_lets_the_longest_win(alpha):
    """(7 / 6)^1000 is 10^67, ((5 + 50) / 6)^1000 no float at all; of two as long the more probable wins."""
    after = [[0.0, 0.3, 0.4, 0.3], [0.1, 0.4, 0.2, 0.3], [1.0, 0.0, 0.0, 0.0], [0.0, 0.3, 0.1, 0.6]]
    model = TableModel(after)
    options = {"beam_size": 64, "length_penalty": alpha}
    found = search(model, ids([0]), max_new_tokens=3, **options)
    lengths = [len(text(row)) for row in found.token_ids[0][~found.scores[0].isneginf()]]
    assert lengths == sorted(lengths, reverse=True)
    assert text(found.token_ids[0, 0]) == (3, 3, 3)
    assert not found.scores.isnan().any()
    assert text(search(model, ids([0]), max_new_tokens=50, **options).token_ids[0, 0]) == (3,) * 50


# ---- what generation refuses

WITH, SOURCES = encoder_decoder(5), ids([1, 2, 3], [4, 5, 6])
HIDDEN = encoder_decoder(5)
HIDDEN.output = torch.nn.Identity()  # as of load_bart: the largest of its numbers is no token
BAD = {
    "a model without logits": ({"model": HIDDEN, "source_ids": SOURCES}, "logits.*hidden states"),
    "an empty prompt": ({"prompt_ids": ids([], []).long()}, "prompt_ids.*token"),
    "a prompt of padding": ({"prompt_mask": ids([1], [0]).bool()}, "prompt_ids.*padding"),
    "an end beyond": ({"end_id": 5}, "end_id.*5, got 5"),
    "a source for no encoder": ({"source_ids": SOURCES}, "source_ids.*without encoder"),
    "a mask for no encoder": ({"source_mask": SOURCES > 1}, "source_mask.*without encoder"),
    "no source": ({"model": WITH}, "source_ids.*None"),
    "a source of another batch": ({"model": WITH, "source_ids": SOURCES[:1]}, r"source_ids.*2.*\(1, 3\)"),
    "unknown tokens": (
        {"model": WITH, "source_ids": SOURCES, "prompt_ids": ids([0], [5])},
        "token_ids.*5, got 5",
    ),
    "too long for the positions": (
        {"model": decoder_only(5), "prompt_ids": torch.ones(2, 41).long()},
        "positions.*40, got 40",
    ),
}


OF_BEAMS = {
    "no beam": ({"beam_size": 0}, "beam_size.*0"),
    "a reward": ({"length_penalty": -0.5}, "length_penalty.*-0.5"),
}
CASES = [(decode, *case) for case in BAD.values() for decode in (greedy_decode, beam_search)]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("decode", "changes", "message"), [*CASES, *((beam_search, *case) for case in OF_BEAMS.values())]
)
def test_bad_input(decode, changes, message):
    arguments = {"model": CHAIN, "prompt_ids": ids([0], [1]), "end_id": END, "max_new_tokens": 3} | changes
    with pytest.raises(ValueError, match=rf"\b({message})"):
        decode(**arguments)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "model must be a Module, got NoneType None"),
        (torch.nn.Linear(2, 2), r"model must be a decoder.*new_cache\(\), as DecoderOnly, got Linear"),
        (CHAIN.decoder, "model must be a decoder that gives logits.*, got Decoder"),
    ],
)
def test_what_is_no_model(unchecked, model, message):
    with pytest.raises(TypeError, match=rf"\b({message})"):
        greedy_decode(model, ids([0]), end_id=END, max_new_tokens=3)
