"""The laws of decoders: each holds for what is right, in any style, and is broken by what it is for."""

from __future__ import annotations

import math

import pytest
import torch

from attention_clinic import laws, planted
from attention_clinic.adapter import DecoderAdapter, NoLogits
from attention_clinic.laws import LAWS, Deviation, gap
from polyhead import Decoder, DecoderOnly, SinusoidalPositions, TokenEmbedding
from polyhead_course.words import show
from tests.attention_clinic.clinic_cases import decoders, right_modules


def sinusoidal() -> DecoderOnly:
    """Post-norm and with dropout."""
    embedding = TokenEmbedding(17, 10, SinusoidalPositions(10), dropout=0.3)
    return DecoderOnly(embedding, Decoder(2, 10, 5, cross_attention=False, dropout=0.3))


RIGHT = {
    "small": planted.planted_decoder,
    "small, float32": lambda: planted.planted_decoder().float(),
    "sinks": lambda: planted.right_twin("sinks_missing"),
    "learned": lambda: planted.right_twin("positions_ignore_padding"),
    "book": right_modules.books,
    "book, sinusoidal": sinusoidal,
    "nanoGPT": decoders.Nano,
    "Llama": decoders.TinyLlama,
    "torch.nn": right_modules.TorchEncoder,
    "a function": lambda: lambda ids: torch.nn.functional.one_hot(ids.cumsum(1) % 13, 13).float(),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("make", RIGHT.values(), ids=RIGHT)
def test_every_law_holds_for_a_right_decoder_in_any_style(make):
    decoder = make()
    assert {name: float(found) for name, law in LAWS.items() if (found := law(decoder))} == {}


def test_twice_is_the_first_law():
    assert next(iter(LAWS)) == "twice"


def test_what_a_decoder_does_not_take_a_law_says_nothing_about():
    silent = {name for name, law in LAWS.items() if law(RIGHT["a function"]()) is None}
    assert silent == {"left_pad", "step", "chunk", "shift", "look", "docs", "reach", "train"}
    assert laws.shift(planted.right_twin("positions_ignore_padding")) is None  # absolute, and a short table


def test_positions_that_are_added_need_not_bear_a_shift():
    class Added(decoders.TinyLlama):
        def embed(self, ids, positions):
            return self.wte(ids) + self.wpe(positions % 256)

    assert laws.shift(Added()) is None


def test_dropout_that_cannot_be_switched_off_says_nothing_about_training():
    class Hidden(decoders.Nano):
        def residual(self, x, update):
            return x + torch.nn.functional.dropout(update, 0.4, self.training)

    assert laws.train(Hidden()) is None
    assert laws.twice(Hidden()) == 0


def test_a_deviation_keeps_what_was_compared_and_every_call():
    found = laws.causality(planted.planted_decoder("sees_ahead"), batch=1, length=2)
    before, after = (call["token_ids"] for call in found.calls)
    assert before.shape == after.shape == (1, 2)
    assert (before != after).tolist() == [[False, True]]
    assert found == pytest.approx((found.expected - found.actual).abs().max().item())
    assert found.expected.shape == (1, 1, 23)


def test_a_law_leaves_mode_gradients_and_random_numbers_as_they_were():
    decoder, before = planted.planted_decoder("dropout_in_eval").train(), torch.get_rng_state()
    for law in LAWS.values():
        law(decoder)
    assert decoder.training
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), before)


def test_what_is_left_to_chance_is_the_same_each_time():
    decoder, found = planted.planted_decoder("dropout_in_eval"), set()
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.add(float(laws.twice(decoder)))
    assert len(found) == 1


def test_laws_are_called_by_the_names_that_others_give():
    class Renamed(decoders.Nano):
        def forward(self, input_ids, attention_mask=None, kv_cache=None):
            return self.logits(input_ids, attention_mask, kv_cache)

    class Ill(Renamed):
        def visible(self, tokens, new, old):
            return self.causal(new, old)

    assert (laws.left_pad(Renamed()), laws.step(Renamed())) == (0, 0)
    assert laws.left_pad(Ill()) > 0


def test_parity_compares_with_a_right_decoder():
    right = planted.planted_decoder()
    assert laws.parity(planted.planted_decoder(), right) == 0
    assert laws.parity(planted.planted_decoder("kv_tiled"), right) > 0.1
    assert laws.parity(planted.planted_decoder("cache_open"), right) == 0


@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([1.0, 2.0], [1.0, 2.0 + 1e-6], 0.0),
        ([1.0, 200.0], [1.0 + 1e-3, 200.0], 0.0),  # of the largest
        ([1e-9, 2e-9], [1e-9, 2.5e-9], 5e-10),  # small logits are not rounding
        ([1.0, math.nan], [1.0, 2.0], math.inf),
        ([1.0, math.nan], [1.0, math.nan], 0.0),
        ([1.0, -math.inf], [1.0, -math.inf], 0.0),
        ([1.0, -math.inf], [1.0, 2.0], math.inf),
        ([math.inf], [math.inf], 0.0),
    ],
)
def test_gap_is_the_largest_difference_beyond_rounding(expected, actual, found):
    deviation = gap(torch.tensor(expected), torch.tensor(actual))
    assert isinstance(deviation, Deviation)
    assert deviation == pytest.approx(found, rel=1e-5)


def test_float32_is_rounded_less_than_bfloat16():
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.01])
    assert gap(one, two) > 0
    assert gap(one.bfloat16(), two.bfloat16()) == 0


@pytest.mark.parametrize("came", [lambda ids: "text", lambda ids: ids.float(), lambda ids: None])
def test_what_are_no_logits_is_refused(came):
    with pytest.raises(NoLogits, match=r"must give logits, \(1, 1, 'vocab_size'\), got"):
        laws.twice(came)


def test_logits_may_come_in_a_tuple_or_an_object():
    logits = torch.zeros(2, 3, 5)

    class Output:
        def __init__(self):
            self.logits = logits

    ids = torch.zeros(2, 3, dtype=torch.long)
    for decoder in (lambda ids: (logits, None), lambda ids: Output()):
        assert DecoderAdapter(decoder)(ids) is not None


def test_a_law_can_be_shown_and_is_short():
    listing = repr(show(laws.causality))
    assert "def causality(decoder: DecoderAdapter, ids: Tensor)" in listing
    assert all(len(repr(show(law)).splitlines()) <= 17 for law in LAWS.values())
    assert repr(laws.causality) == "<law causality>"
