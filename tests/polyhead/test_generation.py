from __future__ import annotations

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import beam_search, greedy_decode, sample
from polyhead.pretrained import load_gpt2
from tests.polyhead.models import TableModel, decoder_only, encoder_decoder
from tests.polyhead.prompts import BATCH, CHAIN, END, PROMPTS, SIDES, SOURCE, VOCAB, ids, padded, text

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
def test_it_runs_in_evaluation_mode(decode):
    model = decoder_only(VOCAB, dropout=0.5)
    expected = decode(model, ids([1, 3]), end_id=END, max_new_tokens=7)
    got = decode(model.train(), ids([1, 3]), end_id=END, max_new_tokens=7)
    assert_close(tuple(got), tuple(expected), rtol=0, atol=0)


COMPILED = [(greedy_decode, decoder_only, True), (greedy_decode, decoder_only, False)]
COMPILED += [(decode, encoder_decoder, True) for decode in (greedy_decode, beam_search, sample)]


@pytest.mark.parametrize(("decode", "make", "use_cache"), COMPILED)
def test_a_compiled_model_writes_the_same(decode, make, use_cache, unchecked):
    model, options = make(VOCAB), {"end_id": END, "max_new_tokens": 4, "use_cache": use_cache}
    options["source_ids"] = torch.arange(SOURCE).repeat(2, 1) if make is encoder_decoder else None
    written = []
    for each in (model, torch.compile(model, backend="eager")):
        torch.manual_seed(0)
        written.append(tuple(decode(each, ids([1, 3], [4, 0]), **options)))
    assert_close(*written, rtol=0, atol=0)


def test_a_compiled_module_that_is_no_language_model_is_refused(unchecked):
    linear = torch.compile(torch.nn.Linear(2, 2), backend="eager")
    with pytest.raises(TypeError, match=r"\bmodel.*DecoderOnly.*Linear"):
        greedy_decode(linear, ids([0]), end_id=0, max_new_tokens=1)


@pytest.mark.parametrize("decode", [greedy_decode, beam_search, sample])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("prompt", [[0], [1]])  # the second prompt leads to the first after a token
def test_logits_without_a_softmax_are_refused(decode, number, prompt):
    model = TableModel([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    model.table[0, 0] = number
    with pytest.raises(FloatingPointError, match=rf"\blogits.*finite maximum, got {number}"):
        decode(model, ids([2], prompt), end_id=2, max_new_tokens=3)


def test_nothing_has_gradients_and_the_prompt_stays_as_it_is():
    model, prompt = decoder_only(VOCAB), ids([1, 3], [4, 5])
    kept = prompt.clone()
    scores = beam_search(model, prompt, end_id=END, max_new_tokens=3).scores
    assert not scores.requires_grad
    assert torch.is_grad_enabled()
    assert torch.equal(prompt, kept)


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
    options = {"end_id": END, "max_new_tokens": 6, "prompt_mask": mask, "use_cache": use_cache}
    got = greedy_decode(model, tokens, source_ids=source, source_mask=source_mask, **options)
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


# ---- logits of the last tokens alone


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_logits_at_are_those_of_all(kind):
    ids, at = torch.randint(0, 11, (3, 7)), torch.tensor([6, 0, 4])
    if kind == "decoder":
        call = decoder_only(11)
    else:
        model = encoder_decoder(11)
        memory = model.encode(torch.randint(0, 13, (3, 5)))
        call = functools.partial(model.decode, memory=memory)
    every, some = call(ids), call(ids, logits_at=at)
    assert some.shape == (3, 1, 11)
    assert_close(some[:, 0], every[range(3), at])


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_step_computes_the_logits_of_one_token(use_cache):
    model, lengths = decoder_only(11), []
    model.output.register_forward_pre_hook(lambda _, args: lengths.append(args[0].shape[:2]))
    greedy_decode(model, torch.randint(0, 11, (2, 5)), end_id=END, max_new_tokens=3, use_cache=use_cache)
    assert set(lengths) == {(2, 1)}
