"""What a diagnosis prints: in which words, with which evidence, and for which kind of code."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import attention_clinic as clinic
import polyhead
from attention_clinic import planted
from attention_clinic.diagnosis import ENGLISH, SENTENCES, Diagnosis, Finding

pytestmark = pytest.mark.usefixtures("unchecked")  # those of the kinds are under the tests' checks

HEALTHY = SENTENCES["clinic.healthy"]


def inverted(values, mask, queries, keys):
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    return scores.masked_fill(mask, -1e9).softmax(-1) @ values


def slopes(num_heads):
    """ALiBi's: those of the power of two below, then every second one of the power above."""
    below = 2 ** int(math.log2(num_heads))
    exponents = [*range(1, below + 1), *(i / 2 for i in range(1, 2 * below, 2))]
    return 2 ** (-8 * torch.tensor(exponents[:num_heads]) / below)


def test_the_evidence_is_the_smallest_input_with_what_is_right_and_what_came():
    (bug,) = (
        bug
        for bug in clinic.diagnose(inverted, mask="keeps", seconds=60.0).bugs
        if bug.name == "mask_inverted"
    )
    assert bug.input["query"].shape == (1, 1, 4)
    assert bug.input["key"].shape == (1, 2, 4)
    assert bug.input["mask"].tolist() == [[[False, True]]]
    first, second = bug.input["value"][0].tolist()
    assert bug.expected.tolist() == [[second]]
    assert torch.allclose(bug.actual, torch.tensor([[first]]))
    right, _ = polyhead.scaled_dot_product_attention(*bug.input.values())
    assert torch.equal(bug.expected, right)


def test_it_prints_english_with_a_public_thread_and_no_address_of_anybodys_text():
    diagnosis = clinic.diagnose(inverted, mask="keeps", seconds=60.0)
    first, second, *_ = str(diagnosis).splitlines()
    assert first == SENTENCES["check.mask_inverted"]
    assert second.startswith("  query = [[[")
    assert "  expected = [[[" in str(diagnosis)
    assert "  In public: https://github.com/rasbt/LLMs-from-scratch/issues/1061" in str(diagnosis)
    assert "Read" not in str(diagnosis) and diagnosis.bugs[0].section is None
    assert diagnosis._repr_markdown_().count("```") == 2 * len(diagnosis.names)


def test_a_table_of_addresses_and_other_sentences_can_be_given():
    class Shouted(clinic.Wording):
        def sentence(self, key, **details):
            return super().sentence(key, **details).upper()

    diagnosis = clinic.diagnose(
        inverted, mask="keeps", wording=Shouted({"mask_inverted": "guide.html#masks"})
    )
    assert str(diagnosis).startswith(SENTENCES["check.mask_inverted"].upper())
    assert "  READ: GUIDE.HTML#MASKS" in str(diagnosis)
    assert "[GUIDE.HTML#MASKS](GUIDE.HTML#MASKS)" in diagnosis._repr_markdown_()
    assert diagnosis.bugs[0].section == "guide.html#masks"
    assert str(clinic.diagnose(polyhead.causal_mask, wording=Shouted())) == "✓ NOTHING WRONG WAS FOUND."


def test_every_sentence_has_a_finding_and_every_name_in_the_code_a_sentence():
    code = "".join(each.read_text(encoding="utf-8") for each in Path(clinic.__file__).parent.rglob("*.py"))
    names = [key.removeprefix("check.") for key in SENTENCES if key.startswith("check.")]
    assert [name for name in names if f'"{name}"' not in code and name not in planted.BUGS] == []
    made = set(re.findall(r'Finding\("(\w+)"|\("(\w+)",\), ', code)) | {(bug,) for bug in planted.BUGS}
    assert {name for group in made for name in group if name} <= {*names}
    for name in names:
        issue = ENGLISH.issue(name)
        assert issue is None or re.fullmatch(r"https://github.com/[\w.-]+/[\w.-]+/issues/\d+", issue)


def test_a_healthy_candidate_is_true_and_may_have_notes():
    diagnosis = clinic.diagnose(F.scaled_dot_product_attention, kind="attention")
    assert diagnosis
    assert diagnosis.healthy
    assert diagnosis.bugs == ()
    assert diagnosis.names == ("nan_leak",)
    first, second, third, *_ = str(diagnosis).splitlines()
    assert first == HEALTHY
    assert second == "  Examined: the numbers, masks, queries without a key."
    assert third.startswith("Note: NaN in a value")
    assert not clinic.diagnose(inverted, mask="keeps")
    assert "mask_hides" in clinic.diagnose(inverted).names
    assert str(clinic.diagnose(polyhead.scaled_dot_product_attention)).startswith(f"{HEALTHY}\n  Examined")


def test_a_large_tensor_is_told_by_its_shape_and_small_ones_by_four_digits():
    finding = Finding("view", {"X": torch.zeros(3, 5, 7), "num_heads": 3}, torch.tensor([1 / 3, -2.0]))
    assert "X = float32 (3, 5, 7)" in str(finding)
    assert "num_heads = 3" in str(finding)
    assert "expected = [0.3333, -2]" in str(finding)
    assert "actual" not in str(finding)
    assert repr(Diagnosis("transpose_qkv", (finding,))) == str(finding)


KINDS = [
    ("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v)),
    ("attention", functools.partial(polyhead.scaled_dot_product_attention, dropout=0.0)),
    ("attention", lambda a, b, c: F.scaled_dot_product_attention(a, b, c)),
    ("multi_head", polyhead.MultiHeadAttention),
    ("multi_head", polyhead.AnnotatedMultiHeadAttention),
    ("multi_head", polyhead.TransposedMultiHeadAttention(12, 2, 0.0)),
    ("multi_head", torch.nn.MultiheadAttention(12, 2, batch_first=True)),
    ("causal_mask", polyhead.causal_mask),
    ("causal_mask", lambda a: torch.ones(a, a).tril().bool()),
    ("cached_mask", lambda past, new: torch.ones(new, past + new).tril(past).bool()),
    ("cached_mask", lambda a, b: torch.ones(b, a + b).tril(a).bool()),
    ("window_mask", lambda a, b: torch.ones(a, a).tril().triu(1 - b).bool()),
    ("padding_mask", polyhead.padding_mask),
    ("document_mask", lambda doc_ids: (doc_ids[:, None] == doc_ids) & polyhead.causal_mask(len(doc_ids))),
    ("transpose_qkv", polyhead.transpose_qkv),
    ("transpose_output", polyhead.transpose_output),
    ("repeat_kv", lambda x, n_rep: x.repeat_interleave(n_rep, dim=1)),
    ("rotary", lambda q, pos: polyhead.RotaryPositions(q.shape[-1], pairs="halves")(q, pos)),
    ("sinusoidal", lambda n, d_model: polyhead.SinusoidalPositions(d_model)(torch.zeros(n, d_model))),
    ("rms_norm", lambda x, gamma, epsilon: F.rms_norm(x, x.shape[-1:], gamma, epsilon)),
    ("softmax", polyhead.masked_softmax),
    ("alibi", slopes),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "candidate"), KINDS)
def test_the_kind_is_told_from_the_signature_or_from_the_results(kind, candidate):
    diagnosis = clinic.diagnose(candidate)
    assert diagnosis.kind == kind
    assert diagnosis, str(diagnosis)


def test_any_mask_is_found_among_the_masks():
    diagnosis = clinic.diagnose(lambda a, b: torch.ones(b, a + b).tril().bool(), kind="mask")
    assert (diagnosis.kind, diagnosis.names) == ("cached_mask", ("cache_upper_left",))


@pytest.mark.parametrize(
    ("candidate", "doubt", "still"),
    [(lambda a, b: None, "unknown_kind", False), (lambda a, b: a.no_such_thing, "not_called", True)],
)
def test_a_kind_that_cannot_be_told_is_asked_for(candidate, doubt, still):
    diagnosis = clinic.diagnose(candidate, causal=True)
    assert (diagnosis.verdict, diagnosis.names, diagnosis.kind) == ("undecided", (doubt,), "")
    assert diagnosis.question.startswith('kind="cached_mask" or "window_mask" or ')
    assert f"diagnose(…, {diagnosis.question})" in str(diagnosis)
    assert (diagnosis.candidate, diagnosis.options) == (candidate, {"causal": True})
    assert (clinic.diagnose(candidate, kind="cached_mask").names == diagnosis.names) is still
    with pytest.raises(AssertionError, match="kind="):
        clinic.assert_healthy(candidate)


def test_a_signature_that_tells_nothing_and_an_unknown_kind_are_errors():
    with pytest.raises(ValueError, match="kind must be given"):
        clinic.diagnose(lambda *inputs: F.scaled_dot_product_attention(*inputs))
    assert clinic.diagnose(lambda *inputs: F.scaled_dot_product_attention(*inputs), kind="attention")
    with pytest.raises(ValueError, match=r"kind must be one of attention, .* or mask, got 'atention'"):
        clinic.diagnose(inverted, kind="atention")


# ---- what fails in every call: its own fault only where the clinic knows what the arguments are for


class FusedAttention(torch.nn.Module):
    """Queries, keys and values in one tensor, the channels before the tokens."""

    def forward(self, qkv):
        batch, width, length = qkv.shape
        if width % 9:
            raise ValueError("three heads of queries, keys and values")
        q, k, v = qkv.reshape(3 * batch, width // 3, length).chunk(3, dim=1)
        return F.scaled_dot_product_attention(q.mT, k.mT, v.mT).mT.reshape(batch, -1, length)


class Seq2Seq(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(11, 6)

    def forward(self, source, target):
        return self.embedding(source) + self.embedding(target)


def wants_more(query, key, value, flux):
    return F.scaled_dot_product_attention(query, key, value) * flux["capacitor"]


def by_position(a, b, c):
    return F.scaled_dot_product_attention(a["query"], b, c)


def of_two(x, flux):
    return torch.softmax(x, -1) * flux["capacitor"]


@pytest.mark.parametrize(
    ("candidate", "kind", "question"),
    [
        (FusedAttention(), None, "candidate=lambda query, key, value: …"),
        (wants_more, "attention", "candidate=lambda query, key, value: …"),
        (by_position, "attention", "candidate=lambda query, key, value: …"),
        (lambda *args: by_position(*args), "attention", "candidate=lambda query, key, value: …"),
        (of_two, "softmax", "candidate=lambda scores: …"),
        (Seq2Seq(), "decoder", "candidate=lambda token_ids: …"),
        (lambda token_ids, flux: token_ids + flux["capacitor"], "decoder", "candidate=lambda token_ids: …"),
    ],
)
def test_arguments_that_the_clinic_does_not_know_leave_it_undecided(candidate, kind, question):
    diagnosis = clinic.diagnose(candidate, kind)
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("not_called",)), diagnosis
    assert diagnosis.question == question
    first, *_ = diagnosis.tried
    assert first.startswith("candidate(")
    assert f"Tried: {first}\n" in str(diagnosis)


def broken(query, key, value):
    return torch.softmax(query @ key / query.shape[-1] ** 0.5, -1) @ value


def for_one_sequence(a, b, c):
    if len(a) > 1:
        raise ValueError("one sequence")
    return F.scaled_dot_product_attention(a, b, c)


def without_mask(query, key, value, shroud=None, mask=None):
    if mask is not None:
        raise NotImplementedError
    return F.scaled_dot_product_attention(query, key, value)


class BrokenDecoder(Seq2Seq):
    def forward(self, x):
        return self.embedding(x).no_such_thing


@pytest.mark.parametrize(
    ("candidate", "kind", "names"),
    [
        (broken, None, {"raises"}),
        (for_one_sequence, "attention", {"raises"}),
        (lambda: torch.ones(5, 5).tril().bool(), "causal_mask", {"raises"}),
        (BrokenDecoder(), "decoder", {"raises"}),
    ],
)
def test_what_fails_although_its_arguments_are_known_or_in_some_calls_is_ill(candidate, kind, names):
    diagnosis = clinic.diagnose(candidate, kind)
    assert (diagnosis.verdict, {*diagnosis.names}) == ("ill", names)
    assert not diagnosis.tried


def test_masks_that_are_not_implemented_are_skipped():
    assert "mask" in clinic.diagnose(without_mask).skipped


def test_it_examines_with_one_thread_and_gives_the_others_back():
    threads, before = [], torch.get_num_threads()

    def watched(query, key, value):
        threads.append(torch.get_num_threads())
        return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value

    torch.set_num_threads(3)
    try:
        assert clinic.diagnose(watched)
        assert {*threads} == {1} and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_numbers_of_which_nothing_says_what_they_are_are_no_mistake():
    diagnosis = clinic.diagnose(lambda a, b: torch.ones(a, b))
    assert diagnosis.verdict == "undecided" and diagnosis.question


def test_a_table_of_positions_is_no_decoder_that_stops():
    diagnosis = clinic.diagnose(polyhead.LearnedPositions(20, 12))
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("not_called",))
    assert "diagnose(lambda token_ids: …)" in str(diagnosis)


def test_documents_without_causality_are_asked_about():
    diagnosis = clinic.diagnose(polyhead.document_mask)
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("documents_future",))
    assert 'diagnose(…, ignore=["documents_future"])' in str(diagnosis)
    assert clinic.diagnose(polyhead.document_mask, ignore=["documents_future"])
