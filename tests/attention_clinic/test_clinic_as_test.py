"""Tests that a diagnosis writes fail on the owner's code, and pass once it is mended."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attention_clinic import assert_healthy, diagnose, seeded_copy
from attention_clinic.planted import BUGS, planted_decoder, right_twin
from tests.attention_clinic import ill_attention
from tests.attention_clinic.written import written_tests

IMPORTED = "from tests.attention_clinic import ill_attention\n\ncandidate = ill_attention."
WRITTEN = [
    ("unscaled", ill_attention.attention, None, "attention"),
    ("causal_upper", ill_attention.causal, None, "causal"),
    ("model_root", ill_attention.Attention, None, "Attention"),
    ("model_root", ill_attention.Attention(20, 4), f"{IMPORTED}Attention(20, 4)", "Attention"),
    ("differs", ill_attention.Attention(20, 4, 3.3), f"{IMPORTED}Attention(20, 4, 3.3)", "Attention"),
    ("sees_ahead", planted_decoder("sees_ahead"), f"{IMPORTED}leaking()", "leaking"),
    ("raises", ill_attention.printing_loudly, None, "printing_loudly"),
]


pytestmark = pytest.mark.usefixtures("unchecked")


def right_attention(query, key, value, mask=None, ill=ill_attention.attention):
    return ill(query / query.shape[-1] ** 0.5, key, value, mask)


class RightAttention(ill_attention.Attention):
    def __init__(self, d_model, n_heads, divisor=None):
        super().__init__(d_model, n_heads, (d_model / n_heads) ** 0.5)


RIGHT = {
    "attention": right_attention,
    "causal": lambda n: torch.ones(n, n).tril().bool(),
    "Attention": RightAttention,
    "leaking": planted_decoder,
    "printing_loudly": right_attention,
}


def run(text):
    tests = written_tests(text)
    assert tests
    for test in tests:
        test()


@pytest.mark.parametrize(
    ("name", "candidate", "build", "changed"), WRITTEN, ids=lambda value: str(value)[:20]
)
def test_a_written_test_fails_until_the_bug_is_mended(name, candidate, build, changed, monkeypatch):
    diagnosis = diagnose(candidate)
    text = diagnosis.as_test(build)
    assert f"def test_{name}():" in text
    assert max(map(len, text.splitlines())) <= 110
    with pytest.raises((AssertionError, ValueError)):
        run(text)
    monkeypatch.setattr(ill_attention, changed, RIGHT[changed])
    run(text)


@pytest.mark.parametrize("bug", BUGS)
def test_a_decoders_test_fails_with_the_bug_alone(bug):
    diagnosis = diagnose(planted_decoder(bug))
    assert diagnosis.names == (bug,)
    text = diagnosis.as_test("candidate = make(bug)")
    ill_tests, right_tests = (
        written_tests(text, make=make, bug=bug) for make in (planted_decoder, right_twin)
    )
    for ill, right in zip(ill_tests, right_tests, strict=True):
        right()
        with pytest.raises(AssertionError):
            ill()


def test_it_has_the_very_numbers_of_the_diagnosis():
    text = diagnose(ill_attention.attention).as_test()
    assert text.startswith("# Each of these tests fails")
    assert "from tests.attention_clinic.ill_attention import attention\n\ncandidate = attention\n" in text
    assert "'value': torch.tensor([[[-0.6], [0.4]]], dtype=torch.float32)," in text
    assert "diagnose" not in text


def test_it_says_what_it_needs():
    with pytest.raises(ValueError, match="candidate is healthy"):
        diagnose(ill_attention.right()).as_test()
    for candidate in (lambda query, key, value: query, ill_attention.Attention(12, 3)):
        with pytest.raises(ValueError, match="say how the candidate is made"):
            diagnose(candidate).as_test()


def test_a_seeded_copy_is_the_same_each_time_and_leaves_the_module_alone():
    module = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.LazyLinear(2))
    before = module[0].weight.clone()
    torch.manual_seed(5)
    drawn = torch.get_rng_state()
    one, other, third = seeded_copy(module), seeded_copy(module), seeded_copy(module, seed=2)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert torch.equal(one[0].weight, other[0].weight)
    assert not torch.equal(one[0].weight, third[0].weight)
    assert torch.equal(module[0].weight, before)
    assert module.training and not one[1].training


def test_the_evidence_of_a_module_says_which_module_gave_it():
    (bug,) = diagnose(ill_attention.Attention(12, 3)).bugs
    assert "  module = seeded_copy(candidate)\n" in str(bug)
    (bug,) = diagnose(ill_attention.Attention).bugs
    assert "  module = seeded_copy(candidate(d_model=12, n_heads=3))\n" in str(bug)


def test_what_differs_says_where_from_what_and_what_is_near():
    (bug,) = diagnose(ill_attention.Attention(20, 4, 4.6)).bugs
    assert bug.name == "differs"
    printed = str(bug)
    assert "@ W_O" in printed
    assert "nearest = {'model_root'" in printed
    first = (bug.expected[0, 0, 0].item(), bug.actual[0, 0, 0].item())
    assert f"expected[0, 0, 0] = {first[0]:.4g}" in printed
    assert f"actual[0, 0, 0] = {first[1]:.4g}" in printed


def test_assert_healthy():
    assert assert_healthy(right_attention).kind == "attention"
    with pytest.raises(AssertionError, match="not divided by √head_dim") as failed:
        assert_healthy(ill_attention.attention)
    assert "expected = [[[" in str(failed.value)
    assert assert_healthy(ill_attention.attention, ignore=("unscaled",))


def test_what_a_configuration_makes_is_made_again():
    diagnosis = diagnose(ill_attention.Configured)
    assert diagnosis.names[0] == "model_root"
    text = diagnosis.as_test()
    assert "from attention_clinic.kinds.modules import SmallConfig\n" in text
    with pytest.raises(AssertionError, match="not close"):
        run(text)


def test_what_sleeps_in_a_fresh_decoder_is_awakened_again():
    decoder = ill_attention.leaking()
    torch.nn.init.zeros_(decoder.logits.weight)
    text = diagnose(decoder).as_test(f"{IMPORTED}leaking()\ntorch.nn.init.zeros_(candidate.logits.weight)")
    assert "    made = awakened(candidate)\n" in text
    with pytest.raises(AssertionError):
        run(text)
