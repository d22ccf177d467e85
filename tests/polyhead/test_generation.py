# ruff: noqa: E501  in the table of bad input, each case is one line
from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import beam_search, greedy_decode
from polyhead.pretrained import load_gpt2
from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.models import TableModel, decoder_only, encoder_decoder

BATCH, LENGTH, SOURCE, VOCAB, END = 3, 5, 7, 11, 2
NAN, INF = math.nan, math.inf
PENALTIES = [0.0, 0.6, 1.0, 2.5]

# 0 → 1 → 3 → 4 → end, and the end leads to 0: whoever goes on after the end is found out.
CHAIN = TableModel(
    [
        [0.1, 0.6, 0.1, 0.1, 0.1],
        [0.1, 0.1, 0.2, 0.5, 0.1],
        [0.9, 0.025, 0.025, 0.025, 0.025],
        [0.1, 0.1, 0.1, 0.0, 0.7],
        [0.0, 0.1, 0.8, 0.1, 0.0],
    ]
)


def ids(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


def text(tokens: torch.Tensor) -> tuple[int, ...]:
    """Up to the end, which is included; after it there is nothing else."""
    row = tokens.tolist()
    if END not in row:
        return tuple(row)
    length = row.index(END) + 1
    assert set(row[length:]) <= {END}
    return tuple(row[:length])


def padded(prompts: list[list[int]], sides: str, filler: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of prompts of several lengths; each row's padding is on the side that its letter says."""
    longest = max(map(len, prompts))
    tokens = torch.full((len(prompts), longest), filler)
    mask = torch.zeros(len(prompts), longest, dtype=torch.bool)
    for row, (prompt, side) in enumerate(zip(prompts, sides, strict=True)):
        at = slice(longest - len(prompt), None) if side == "l" else slice(len(prompt))
        tokens[row, at], mask[row, at] = torch.tensor(prompt), True
    return tokens, mask


# ---- greedy decoding


def test_each_sequence_ends_on_its_own_and_is_filled_up():
    CHAIN.calls = 0
    got = greedy_decode(CHAIN, ids([0], [4], [3]), end_id=END, max_new_tokens=9)
    assert got.tolist() == [[1, 3, 4, 2], [2, 2, 2, 2], [4, 2, 2, 2]]
    assert CHAIN.calls == 4  # and no fifth: all have ended


def test_it_stops_at_max_new_tokens():
    CHAIN.calls = 0
    got = greedy_decode(CHAIN, ids([0], [3]), end_id=END, max_new_tokens=3)
    assert got.tolist() == [[1, 3, 4], [4, 2, 2]]
    assert CHAIN.calls == 3
    assert greedy_decode(CHAIN, ids([1, 1, 0]), end_id=END, max_new_tokens=1).tolist() == [[1]]


@pytest.mark.parametrize(("use_cache", "lengths"), [(True, [3, 1, 1, 1]), (False, [3, 4, 5, 6])])
@pytest.mark.parametrize("decode", [greedy_decode, beam_search])
def test_with_a_cache_only_new_tokens_pass_the_model(decode, use_cache, lengths):
    model, seen = decoder_only(VOCAB), []
    model.embedding.register_forward_hook(lambda module, args, output: seen.append(output.shape[1]))
    with torch.no_grad():
        model.embedding.tokens.weight[END] = 0.0  # its logit is 0: it never wins, nor ends anything
    decode(model, ids([1, 3, 1]), end_id=END, max_new_tokens=4, use_cache=use_cache)
    assert seen == lengths


def test_the_prompt_may_hold_the_end_token():
    assert greedy_decode(CHAIN, ids([END, END]), end_id=END, max_new_tokens=3).tolist() == [[0, 1, 3]]


@pytest.mark.parametrize("decode", [greedy_decode, beam_search])
def test_the_last_token_of_the_prompt_is_the_last_that_is_no_padding(decode):
    prompts, mask = padded([[4, 0, 3], [3, 4], [1]], "rrl", filler=2)
    got = decode(CHAIN, prompts, end_id=END, max_new_tokens=1, prompt_mask=mask)
    first = got if decode is greedy_decode else got.token_ids[:, 0]
    assert first.tolist() == [[4], [2], [3]]


@pytest.mark.parametrize("decode", [greedy_decode, beam_search])
@pytest.mark.parametrize("fails", [False, True])
def test_it_evaluates_and_leaves_each_module_in_its_mode(decode, fails):
    model = decoder_only(VOCAB, dropout=0.5)
    expected = decode(model, ids([1, 3]), end_id=END, max_new_tokens=7)
    model.train()
    model.decoder.layers[0].eval()
    modes = [module.training for module in model.modules()]
    if fails:
        with pytest.raises(ValueError):
            decode(model, ids([1, 3]), end_id=VOCAB, max_new_tokens=7)
    else:
        got = decode(model, ids([1, 3]), end_id=END, max_new_tokens=7)
        assert_close(tuple(got), tuple(expected), rtol=0, atol=0)
    assert [module.training for module in model.modules()] == modes


def test_nothing_has_gradients_and_the_prompt_stays_as_it_is():
    model, prompt = decoder_only(VOCAB), ids([1, 3], [4, 5])
    kept = prompt.clone()
    scores = beam_search(model, prompt, end_id=END, max_new_tokens=3).scores
    assert not scores.requires_grad
    assert torch.is_grad_enabled()
    assert torch.equal(prompt, kept)


PROMPTS = st.lists(
    st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=6), min_size=BATCH, max_size=BATCH
)
SIDES = st.text("lr", min_size=BATCH, max_size=BATCH)


@pytest.mark.parametrize("use_cache", [True, False])
@given(prompts=PROMPTS, sides=SIDES, seed=st.integers(0, 5))
@settings(max_examples=10)
def test_greedy_takes_the_most_probable_token_each_time_however_prompts_are_padded(
    use_cache, prompts, sides, seed
):
    model = decoder_only(VOCAB, seed)
    tokens, mask = padded(prompts, sides, filler=seed)
    got = greedy_decode(model, tokens, end_id=END, max_new_tokens=6, prompt_mask=mask, use_cache=use_cache)
    for prompt, row in zip(prompts, got, strict=True):
        assert text(row) == greedy_by_hand(lambda so_far: model(so_far), prompt, 6)


@given(prompts=PROMPTS, sides=SIDES, seed=st.integers(0, 5), use_cache=st.booleans())
@settings(max_examples=10)
def test_greedy_with_an_encoder(prompts, sides, seed, use_cache):
    model = encoder_decoder(VOCAB, seed)
    tokens, mask = padded(prompts, sides, filler=seed)
    source, source_lens = torch.randint(13, (BATCH, SOURCE)), [7, 4, 1]
    source_mask = torch.arange(SOURCE) < torch.tensor(source_lens)[:, None]
    got = greedy_decode(
        model, tokens, end_id=END, max_new_tokens=6, prompt_mask=mask, source_ids=source, source_mask=source_mask, use_cache=use_cache
    )  # fmt: skip
    for row, prompt in enumerate(prompts):
        own = source[row : row + 1, : source_lens[row]]
        assert text(got[row]) == greedy_by_hand(lambda so_far, own=own: model(own, so_far), prompt, 6)


@torch.no_grad()
def greedy_by_hand(logits, prompt, max_new_tokens):
    new: list[int] = []
    while len(new) < max_new_tokens and new[-1:] != [END]:
        new.append(int(logits(ids(prompt + new))[0, -1].argmax()))
    return tuple(new)


def test_it_writes_what_gpt2_of_transformers_writes():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=40, n_embd=12, n_layer=2, n_head=3, initializer_range=0.7,
        bos_token_id=1, eos_token_id=END, pad_token_id=0,
    )  # fmt: skip
    lengths = set()
    for seed in range(5):
        torch.manual_seed(seed)
        theirs = transformers.GPT2LMHeadModel(config).eval()
        ours = load_gpt2(theirs.state_dict(), config)
        prompts = [torch.randint(3, VOCAB, (size,)).tolist() for size in (2, 5, 3)]
        tokens, mask = padded(prompts, "lll", filler=0)
        written = theirs.generate(
            tokens, attention_mask=mask.long(), do_sample=False, max_new_tokens=17, pad_token_id=END
        )
        expected = written[:, tokens.shape[1] :]
        got = greedy_decode(ours, tokens, end_id=END, max_new_tokens=17, prompt_mask=mask)
        assert got.tolist() == expected.tolist()
        lengths |= {len(text(row)) for row in got}
    assert len(lengths) > 2  # some end, some do not


# ---- beam search


def penalised(log_prob: float, length: int, alpha: float) -> float:
    return log_prob / ((5 + length) / 6) ** alpha


@torch.no_grad()
def log_prob_of(logits, prompt: list[int], new: tuple[int, ...]) -> float:
    log_probs = logits(ids(prompt + list(new)))[0, len(prompt) - 1 : -1].double().log_softmax(dim=-1)
    return float(log_probs[torch.arange(len(new)), list(new)].sum())


def every_sequence(logits, prompt, vocab_size, max_new_tokens, alpha):
    """All that can be written, with their scores, best first."""
    others = [token for token in range(vocab_size) if token != END]
    found = []
    for length in range(1, max_new_tokens + 1):
        last = range(vocab_size) if length == max_new_tokens else [END]
        for new in itertools.product(*[others] * (length - 1), last):
            found.append((penalised(log_prob_of(logits, prompt, new), length, alpha), new))
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
    got = beam_search(
        model, ids(*prompts), end_id=END, max_new_tokens=4, beam_size=beams, length_penalty=alpha
    )
    for row, prompt in enumerate(prompts):
        expected = every_sequence(model, prompt, vocab_size, 4, alpha)
        assert_same_beams(got, row, expected[:beams])


def test_fewer_sequences_than_beams_score_minus_infinity():
    model = decoder_only(3)
    got = beam_search(model, ids([1]), end_id=END, max_new_tokens=2, beam_size=9)
    assert torch.isneginf(got.scores).tolist() == [[False] * 7 + [True] * 2]  # the end, or 2 · 3 pairs
    assert (got.token_ids[0, 7:] == END).all()


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, (2,)), (0.6, (2,)), (1.0, (1, 2)), (2.5, (1, 2))])
def test_penalties_choose_between_short_and_long(alpha, expected):
    """log 0.4 = -0.916 against log (0.6 · 0.6) / (7 / 6)^alpha = -1.022, -0.931, -0.876, -0.695."""
    model = TableModel([[0.0, 0.6, 0.4], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])
    found = beam_search(model, ids([0]), end_id=END, max_new_tokens=2, beam_size=2, length_penalty=alpha)
    assert text(found.token_ids[0, 0]) == expected


@pytest.mark.parametrize("alpha", PENALTIES)
@given(prompts=PROMPTS, sides=SIDES, seed=st.integers(0, 9), beams=st.integers(1, 4), use_cache=st.booleans())
@settings(max_examples=6)
def test_stopping_early_is_never_wrong_and_rows_do_not_mix(alpha, prompts, sides, seed, beams, use_cache):
    model = decoder_only(VOCAB, seed)
    tokens, mask = padded(prompts, sides, filler=seed)
    got = beam_search(
        model, tokens, end_id=END, max_new_tokens=6, beam_size=beams, length_penalty=alpha, prompt_mask=mask, use_cache=use_cache
    )  # fmt: skip
    for row, prompt in enumerate(prompts):
        assert_same_beams(got, row, beams_by_hand(model, prompt, beams, 6, alpha))


@given(seed=st.integers(0, 9), beams=st.integers(1, 4), sides=SIDES, use_cache=st.booleans())
@settings(max_examples=4)
def test_beams_with_an_encoder(seed, beams, sides, use_cache):
    model, prompts = encoder_decoder(VOCAB, seed), [[1], [4, 3, 5], [6, 1]]
    tokens, mask = padded(prompts, sides, filler=seed)
    source, source_lens = torch.randint(13, (BATCH, SOURCE)), [4, 7, 1]
    source_mask = torch.arange(SOURCE) < torch.tensor(source_lens)[:, None]
    got = beam_search(
        model, tokens, end_id=END, max_new_tokens=6, beam_size=beams, prompt_mask=mask, source_ids=source, source_mask=source_mask, use_cache=use_cache
    )  # fmt: skip
    for row, prompt in enumerate(prompts):
        own = source[row : row + 1, : source_lens[row]]

        def logits(so_far, own=own):
            return model(own, so_far)

        assert_same_beams(got, row, beams_by_hand(logits, prompt, beams, 6, 0.6))


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("alpha", PENALTIES)
def test_scores_are_log_probabilities_with_the_penalty(alpha, use_cache):
    model, prompts = encoder_decoder(VOCAB, seed=3), [[1], [4], [5]]
    source = torch.randint(13, (BATCH, SOURCE))
    got = beam_search(
        model, ids(*prompts), end_id=END, max_new_tokens=7, length_penalty=alpha, source_ids=source, use_cache=use_cache
    )  # fmt: skip
    assert got.scores.shape == (BATCH, 4)
    assert (got.scores.diff(dim=1) <= 0).all()
    for row, beam in itertools.product(range(BATCH), range(4)):
        new = text(got.token_ids[row, beam])

        def logits(so_far, row=row):
            return model(source[row : row + 1], so_far)

        expected = penalised(log_prob_of(logits, prompts[row], new), len(new), alpha)
        assert got.scores[row, beam].item() == pytest.approx(expected, rel=1e-5)


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
    found = beam_search(model, ids([0]), end_id=END, max_new_tokens=50, beam_size=beams, length_penalty=alpha)
    assert text(found.token_ids[0, 0]) == (END,)
    assert model.calls == calls


def test_it_stops_when_the_last_of_the_batch_is_done():
    model = TableModel(SURE[:2] + [[0.05, 0.05, 0.9]] * 2)
    model.table = torch.tensor(
        [[0.01, 0.01, 0.97, 0.01], [0.01, 0.01, 0.01, 0.97], [0.25] * 4, [0.01, 0.01, 0.97, 0.01]]
    ).log()
    found = beam_search(model, ids([0], [1]), end_id=END, max_new_tokens=50, beam_size=1, length_penalty=0.0)
    assert found.token_ids.tolist() == [[[2, 2]], [[3, 2]]]
    assert model.calls == 2


def test_more_beams_find_what_greedy_decoding_misses():
    """0.5 · 0.4 = 0.2 is where greedy decoding goes; 0.4 · 0.9 = 0.36 is better."""
    model = TableModel([[0.0, 0.5, 0.1, 0.4], [0.3, 0.3, 0.4, 0.0], [0.25] * 4, [0.05, 0.05, 0.9, 0.0]])
    assert greedy_decode(model, ids([0]), end_id=END, max_new_tokens=2).tolist() == [[1, 2]]
    found = beam_search(model, ids([0]), end_id=END, max_new_tokens=2, beam_size=2, length_penalty=0.0)
    assert found.token_ids.tolist() == [[[3, 2], [1, 2]]]
    assert_close(found.scores, torch.tensor([[0.36, 0.2]]).log())


@given(seed=st.integers(0, 50), use_cache=st.booleans())
@settings(max_examples=20)
def test_one_beam_without_a_penalty_is_greedy_decoding(seed, use_cache):
    model, options = decoder_only(5, seed), {"end_id": END, "max_new_tokens": 6, "use_cache": use_cache}
    greedy = greedy_decode(model, ids([1]), **options)
    found = beam_search(model, ids([1]), beam_size=1, length_penalty=0.0, **options)
    assert text(found.token_ids[0, 0]) == text(greedy[0])


def test_an_end_counts_only_among_the_best():
    """0.5 goes on, and each way from there has 0.25 of it; the end at once had 0.4, and came second."""
    model = TableModel([[0.05, 0.5, 0.4, 0.05], [0.25] * 4, [0.25] * 4, [0.25] * 4])
    for beams, best in ((1, 1), (2, END)):
        found = beam_search(
            model, ids([0]), end_id=END, max_new_tokens=2, beam_size=beams, length_penalty=0.0
        )
        assert found.token_ids[0, 0, 0] == best


@pytest.mark.parametrize("decode", [greedy_decode, beam_search])
def test_a_model_that_gives_hidden_states_is_refused(decode):
    """What load_bart makes has no output layer: the largest of its numbers is no token."""
    model, source = encoder_decoder(VOCAB), torch.ones(1, 2, dtype=torch.long)
    model.output = torch.nn.Identity()
    with pytest.raises(ValueError, match="model must give logits, got one that gives hidden states"):
        decode(model, ids([1]), end_id=END, max_new_tokens=2, source_ids=source)


# ---- bad input

ONE, WITH = CHAIN, encoder_decoder(5)
START, SOURCES = ids([0], [1]), ids([1, 2, 3], [4, 5, 6])


def cases(name, call):
    """What both functions say of bad input."""

    def alone(**options):
        return lambda: call(
            **({"model": ONE, "prompt_ids": START, "end_id": END, "max_new_tokens": 3} | options)
        )

    def both(**options):
        return alone(**({"model": WITH, "source_ids": SOURCES} | options))

    return [
        bad(f"{name}, model None", alone(model=None), TypeError, "model must be a DecoderOnly or EncoderDecoder", "NoneType"),
        bad(f"{name}, model a function", alone(model=len), TypeError, "model must be a DecoderOnly or EncoderDecoder", "builtin_function"),
        bad(f"{name}, model a Linear", alone(model=torch.nn.Linear(2, 2)), TypeError, "model must be a DecoderOnly or EncoderDecoder", "Linear"),
        bad(f"{name}, prompt list", alone(prompt_ids=[[0]]), TypeError, "prompt_ids must be a torch.Tensor of integers", "list"),
        bad(f"{name}, prompt float", alone(prompt_ids=START.float()), TypeError, "prompt_ids must have an integer dtype", "torch.float32"),
        bad(f"{name}, prompt rank 1", alone(prompt_ids=START[0]), ValueError, "prompt_ids must have shape (batch, length)", "(1,)"),
        bad(f"{name}, prompt empty", alone(prompt_ids=START[:, :0]), ValueError, "prompt_ids must have shape (batch, length), length at least 1", "(2, 0)"),
        bad(f"{name}, prompt of unknown tokens", both(prompt_ids=START + 4), ValueError, "prompt_ids must be below vocab_size = 5", "5"),
        bad(f"{name}, prompt negative", alone(prompt_ids=START - 1), ValueError, "prompt_ids must be at least 0", "-1"),
        bad(f"{name}, end_id too large", alone(end_id=5), ValueError, "end_id must be an int from 0 to 4", "5"),
        bad(f"{name}, end_id negative", alone(end_id=-1), ValueError, "end_id must be an int from 0 to 4", "-1"),
        bad(f"{name}, end_id bool", alone(end_id=True), ValueError, "end_id must be an int from 0 to 4", "True"),
        bad(f"{name}, end_id None", alone(end_id=None), ValueError, "end_id must be an int from 0 to 4", "None"),
        bad(f"{name}, max_new_tokens 0", alone(max_new_tokens=0), ValueError, "max_new_tokens must be at least 1", "0"),
        bad(f"{name}, max_new_tokens float", alone(max_new_tokens=3.0), TypeError, "max_new_tokens must be an int", "float 3.0"),
        bad(f"{name}, mask list", alone(prompt_mask=[[True]]), TypeError, "prompt_mask must be a boolean torch.Tensor", "list"),
        bad(f"{name}, mask int", alone(prompt_mask=START), TypeError, "prompt_mask must have dtype torch.bool", "torch.int64"),
        bad(f"{name}, mask of another shape", alone(prompt_mask=torch.ones(2, 3).bool()), ValueError, "prompt_mask must have the shape of the tokens, (2, 1)", "(2, 3)"),
        bad(f"{name}, mask of nothing", alone(prompt_mask=ids([1], [0]).bool()), ValueError, "prompt_mask must leave each sequence a token", "padding alone"),
        bad(f"{name}, a source without encoder", alone(source_ids=SOURCES), ValueError, "source_ids and source_mask must be None for a model without encoder", "one"),
        bad(f"{name}, a source mask without encoder", alone(source_mask=SOURCES > 1), ValueError, "source_ids and source_mask must be None for a model without encoder", "one"),
        bad(f"{name}, no source", both(source_ids=None), ValueError, "source_ids must be what the encoder reads", "None"),
        bad(f"{name}, source int", both(source_ids=7), TypeError, "source_ids must be a torch.Tensor of integers", "int"),
        bad(f"{name}, source of unknown tokens", both(source_ids=SOURCES + 9), ValueError, "source_ids must be below vocab_size = 13", "15"),
        bad(f"{name}, source of another batch", both(source_ids=SOURCES[:1]), ValueError, "source_ids must have the batch of prompt_ids, 2", "1"),
        bad(f"{name}, source mask list", both(source_mask=[True]), TypeError, "source_mask must be a boolean torch.Tensor", "list"),
        bad(f"{name}, source mask of another shape", both(source_mask=START > 0), ValueError, "source_mask must have the shape of the tokens, (2, 3)", "(2, 1)"),
        bad(f"{name}, use_cache int", alone(use_cache=1), TypeError, "use_cache must be True or False", "int 1"),
        bad(f"{name}, too long for the positions", alone(model=decoder_only(5), prompt_ids=torch.ones(2, 41).long()), ValueError, "positions must be below max_length = 40", "40"),
    ]  # fmt: skip


def beams(**options):
    return lambda: beam_search(CHAIN, START, end_id=END, max_new_tokens=3, **options)


BAD = [
    *cases("greedy", greedy_decode),
    *cases("beam", beam_search),
    bad("beam_size 0", beams(beam_size=0), ValueError, "beam_size must be at least 1", "0"),
    bad("beam_size bool", beams(beam_size=True), TypeError, "beam_size must be an int", "bool True"),
    bad("length_penalty negative", beams(length_penalty=-0.1), ValueError, "length_penalty must be a finite number of at least 0", "-0.1"),
    bad("length_penalty NaN", beams(length_penalty=NAN), ValueError, "length_penalty must be a finite number of at least 0", "nan"),
    bad("length_penalty string", beams(length_penalty="1"), TypeError, "length_penalty must be a number of at least 0", "str '1'"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
