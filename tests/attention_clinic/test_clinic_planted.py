"""Planted bugs: which probe sees which, the picture of it, and the names that `diagnose` gives them."""

from __future__ import annotations

import pytest
import torch

from attention_clinic import diagnose, planted
from attention_clinic.diagnosis import SENTENCES
from attention_clinic.planted import BUGS, CLASSES, PROBES, build
from attention_clinic.small import SmallDecoder
from tests.attention_clinic.clinic_cases.decoders import AttentionAlone, Nano, TinyLlama
from tests.attention_clinic.clinic_cases.right_modules import books

SEEN = {  # by what
    "none": "",
    "causal_inverted": "causality past step chunk reach parity",
    "sees_ahead": "causality step chunk parity",
    "causal_strict": "parity",
    "window_one_more": "reach parity",
    "causal_train_only": "causality step chunk reach train parity",
    "causal_eval_only": "train",
    "cache_upper_left": "step chunk",
    "cache_open": "chunk",
    "cache_trimmed": "chunk",
    "cache_positions": "step chunk",
    "positions_ignore_padding": "left_pad",
    "padding_ignored": "left_pad",
    "padding_replaces_causal": "left_pad",
    "mask_nan": "left_pad",
    "weights_change_output": "look",
    "documents_leak": "docs",
    "batch_mixed": "batch",
    "dropout_in_eval": "twice causality left_pad step chunk look docs reach batch train parity",
    "rotary_queries_only": "shift parity",
    "positions_low_precision": "shift",
    "rotary_layout": "parity",
    "kv_tiled": "parity",
    "unscaled": "parity",
    "model_root": "parity",
    "softcap_missing": "parity",
    "sinks_missing": "parity",
    "query_bias_missing": "parity",
}


pytestmark = pytest.mark.usefixtures("unchecked")  # a thousand calls


@pytest.fixture
def matrix():
    return planted.matrix()


def test_each_probe_sees_what_it_is_known_to_see(matrix):
    assert [*matrix] == ["none", *BUGS] == [*SEEN]
    assert all([*row] == [*PROBES] for row in matrix.values())
    for bug, row in matrix.items():
        assert {probe for probe, found in row.items() if found and found > 0.1} == set(SEEN[bug].split()), bug
        assert all(not found or found > 0.1 for found in row.values()), bug


def test_a_matrix_is_its_own(matrix):
    planted.matrix()["none"]["twice"] = 1.0
    assert planted.matrix()["none"]["twice"] == 0


def test_all_planted_decoders_have_the_same_weights():
    weights = planted.planted_decoder().state_dict()
    for bug in BUGS:
        own = planted.planted_decoder(bug).state_dict()
        assert all(torch.equal(own[name], weight) for name, weight in weights.items())
        assert not planted.planted_decoder(bug).training


@pytest.mark.parametrize("make", [planted.planted_decoder, planted.right_twin])
def test_another_name_is_refused(make):
    with pytest.raises(ValueError, match=r"bug must be 'none' or one of causal_inverted, .* got 'typo'"):
        make("typo")


# ---- diagnosed


def test_diagnose_names_none_where_none_is_planted():
    """What it says of each bug stands beside the test that it writes."""
    assert diagnose(planted.planted_decoder(), "decoder").names == ()


@pytest.mark.parametrize(
    "pair",
    [
        "sees_ahead padding_ignored", "unscaled kv_tiled", "cache_trimmed unscaled",
        "causal_eval_only documents_leak", "dropout_in_eval cache_upper_left", "rotary_layout batch_mixed",
        "window_one_more query_bias_missing", "rotary_queries_only causal_strict",
    ],
)  # fmt: skip
def test_diagnose_names_two_at_once(pair):
    names = pair.split()
    kinds = tuple(CLASSES[name] for name in names)
    ill = build(type("Ill", kinds, {}))
    assert sorted(diagnose(ill, "decoder").names) == sorted(names)


def test_evidence_is_small_and_says_which_law():
    (finding,) = diagnose(planted.planted_decoder("sees_ahead"), "decoder").bugs
    assert finding.details["law"] == finding.input["law"] == "causality"
    assert finding.input["token_ids"].shape == finding.input["other_token_ids"].shape == (1, 2)
    assert finding.expected.shape == finding.actual.shape == (5,)
    (finding,) = diagnose(planted.planted_decoder("padding_ignored"), "decoder").bugs
    assert finding.input["mask"].tolist() == [[False, True]]


def test_what_is_unknown_is_told_as_a_law():
    class Drifts(Nano):
        def logits(self, ids, mask, cache, positions=None):
            out = super().logits(ids, mask, cache, positions)
            return out if cache is None else out + cache.tokens.shape[1] ** 2

    (finding,) = diagnose(Drifts(), "decoder").bugs
    assert finding.name == "differs"
    difference = finding.details["difference"]
    assert finding.explanation == SENTENCES["says.step"].format(difference=difference)


def changed(change):
    """The book's decoder, with the queries of each attention changed."""
    model = books()
    for layer in model.decoder.layers:
        change(layer.self_attention)
    return model


@pytest.mark.parametrize(("name", "factor"), [("unscaled", 7**0.5), ("no_root", 7**-0.5), (None, 1.7)])
def test_a_part_of_the_book_that_was_changed_is_compared_with_what_it_was(name, factor):
    def change(attention):
        plain = attention.forward
        attention.forward = lambda query, *args, **options: scaled(plain, attention, query, args, options)

    def scaled(plain, attention, query, args, options):
        weight, bias = (p.data[:14].clone() for p in attention.input_projection.parameters())
        for parameter in attention.input_projection.parameters():
            parameter.data[:14] *= factor
        try:
            return plain(query, *args, **options)
        finally:
            attention.input_projection.weight.data[:14] = weight
            attention.input_projection.bias.data[:14] = bias

    assert diagnose(changed(change), "decoder").names == (name or "differs",)


def test_the_book_unchanged_is_healthy():
    assert diagnose(books(), "decoder")


def test_open_masks_and_nan_and_no_past_have_names():
    class Open(Nano):
        def causal(self, new, old):
            return torch.ones(new, old + new, dtype=torch.bool)

    class Deaf(Nano):
        def attend(self, q, k, v, visible):
            return torch.zeros_like(q)

    class Strict(AttentionAlone):
        def causal(self, new, old):
            return super().causal(new, old).tril(old - 1)

        def attend(self, q, k, v, visible):
            return (q @ k.mT).masked_fill(~visible, -torch.inf).softmax(-1) @ v

    assert diagnose(Open(), "decoder").names == ("causal_open",)
    assert "differs" in diagnose(Deaf(), "decoder").names
    assert diagnose(Strict(), "decoder").bugs[0].name == "mask_nan"


def test_a_class_a_function_and_training_mode_are_fine():
    assert diagnose(TinyLlama, "decoder")
    decoder = planted.planted_decoder().train()
    assert diagnose(decoder, "decoder")
    assert decoder.training
    assert diagnose(lambda token_ids: decoder.eval()(token_ids), "decoder")


@pytest.mark.parametrize(
    ("came", "name"),
    [("text", "no_tensor"), (torch.zeros(1, 2), "shape"), (ValueError("no"), "raises")],
)
def test_what_gives_no_logits_is_told(came, name):
    def decoder(token_ids):
        if isinstance(came, Exception):
            raise came
        return came

    assert diagnose(decoder, "decoder").names == (name,)


def test_a_cache_that_raises_does_not_hide_the_rest():
    class Ill(CLASSES["padding_ignored"]):
        def new_cache(self):
            raise RuntimeError("no room")

    assert set(diagnose(build(Ill), "decoder").names) == {"padding_ignored", "raises"}
    assert isinstance(planted.planted_decoder(), SmallDecoder)
