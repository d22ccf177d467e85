"""What a diagnosis says: in which language, with which evidence, and for which kind of code."""

from __future__ import annotations

import functools
import json
import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import attention_clinic as clinic
import polyhead
from attention_clinic.bugs import BUGS
from attention_clinic.diagnosis import Diagnosis, Finding
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, terminology, text

ROOT = Path(__file__).parents[2]


def inverted(values, mask, queries, keys):
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    return scores.masked_fill(mask, -1e9).softmax(-1) @ values


def slopes(num_heads):
    """ALiBi's: those of the power of two below, then every second one of the power above."""
    below = 2 ** int(math.log2(num_heads))
    exponents = [*range(1, below + 1), *(i / 2 for i in range(1, 2 * below, 2))]
    return 2 ** (-8 * torch.tensor(exponents[:num_heads]) / below)


def test_the_evidence_is_the_smallest_input_with_what_is_right_and_what_came():
    (bug,) = (bug for bug in clinic.diagnose(inverted).bugs if bug.name == "mask_inverted")
    assert bug.input["query"].shape == (1, 1, 4)
    assert bug.input["key"].shape == (1, 2, 4)
    assert bug.input["mask"].tolist() == [[[False, True]]]
    first, second = bug.input["value"][0].tolist()
    assert bug.expected.tolist() == [[second]]
    assert torch.allclose(bug.actual, torch.tensor([[first]]))
    right, _ = polyhead.scaled_dot_product_attention(*bug.input.values())
    assert torch.equal(bug.expected, right)


def test_it_prints_in_the_language_that_is_set_when_it_is_printed():
    diagnosis = clinic.diagnose(inverted)
    for code in LANGUAGES:
        set_language(code)
        printed = str(diagnosis)
        assert printed.startswith(text("check.mask_inverted") + "\n  query = [[[")
        assert f"{text('clinic.expected')} = [[[" in printed
        assert text("clinic.section", section="02-masks.ipynb#polarity") in printed
        assert "https://github.com/rasbt/LLMs-from-scratch/issues/1061" in printed
        markdown = diagnosis._repr_markdown_()
        assert "[02-masks.ipynb#polarity](02-masks.ipynb#polarity)" in markdown
        assert markdown.count("```") == 2 * len(diagnosis.names)


def test_a_healthy_candidate_is_true_and_may_have_notes():
    diagnosis = clinic.diagnose(F.scaled_dot_product_attention, kind="attention")
    assert diagnosis
    assert diagnosis.healthy
    assert diagnosis.bugs == ()
    assert diagnosis.names == ("nan_leak",)
    first, second, *_ = str(diagnosis).splitlines()
    assert first == text("clinic.healthy")
    assert second.startswith("Note: NaN in a value")
    assert not clinic.diagnose(inverted)
    assert str(clinic.diagnose(polyhead.scaled_dot_product_attention)) == text("clinic.healthy")


def test_a_large_tensor_is_told_by_its_shape_and_small_ones_by_four_digits():
    finding = Finding("view", {"X": torch.zeros(3, 5, 7), "num_heads": 3}, torch.tensor([1 / 3, -2.0]))
    assert "X = float32 (3, 5, 7)" in str(finding)
    assert "num_heads = 3" in str(finding)
    assert "expected = [0.3333, -2]" in str(finding)
    assert "actual" not in str(finding)
    assert repr(Diagnosis("transpose_qkv", (finding,))) == str(finding)


def test_every_bug_has_a_label_and_a_section_that_exists():
    labels, cells = terminology()["labels"], {}
    for name, bug in BUGS.items():
        assert f"check.{name}" in labels
        stem, _, cell = bug.section.partition(".ipynb#")
        if stem not in cells:
            book = json.loads((ROOT / "book/en" / f"{stem}.ipynb").read_text(encoding="utf-8"))
            cells[stem] = {each["id"] for each in book["cells"]}
        assert cell in cells[stem], bug.section
        assert bug.thread is None or re.fullmatch(
            r"https://github.com/[\w.-]+/[\w.-]+/issues/\d+", bug.thread
        )
    assert len(BUGS) >= 60
    assert set(clinic.SAME.values()) <= set(BUGS)


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
@pytest.mark.usefixtures("unchecked")
def test_the_kind_is_told_from_the_signature_or_from_the_results(kind, candidate):
    diagnosis = clinic.diagnose(candidate)
    assert diagnosis.kind == kind
    assert diagnosis, str(diagnosis)


def test_any_mask_is_found_among_the_masks():
    diagnosis = clinic.diagnose(lambda a, b: torch.ones(b, a + b).tril().bool(), kind="mask")
    assert (diagnosis.kind, diagnosis.names) == ("cached_mask", ("cache_upper_left",))


def test_a_kind_that_cannot_be_told_is_asked_for():
    with pytest.raises(ValueError, match="kind must be given"):
        clinic.diagnose(lambda a, b: None)
    with pytest.raises(ValueError, match="kind must be given"):
        clinic.diagnose(lambda *inputs: F.scaled_dot_product_attention(*inputs))
    assert clinic.diagnose(lambda *inputs: F.scaled_dot_product_attention(*inputs), kind="attention")
    with pytest.raises(ValueError, match=r"kind must be one of attention, .* or mask, got 'atention'"):
        clinic.diagnose(inverted, kind="atention")
