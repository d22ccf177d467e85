"""What exercises say about right answers, about every known mistake, and about anything else."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import torch

import polyhead
from attention_clinic import diagnose
from attention_clinic.cases import Case, same
from attention_clinic.diagnosis import SENTENCES
from attention_clinic.trial import Trial
from polyhead_course.exercises import checks
from polyhead_course.exercises.checks import verdict
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, terminology, text
from tests.polyhead_course.exercise_answers import (
    LATE,
    RIGHT,
    WRONG,
    attend,
    layer,
    ones,
    outputs,
    overwriting,
    sdpa,
    split,
)
from tests.polyhead_course.rotary_answers import rotary

CALLS = {  # of a right answer; else one
    checks.cached_mask: 3, checks.cross_attention: 2, checks.greedy: 2, checks.sees_future: 7,
    checks.window_mask: 2,
}  # fmt: skip
EVERY_WRONG = [(check, *mistake) for check, several in WRONG.items() for mistake in several] + LATE
named = pytest.mark.parametrize("check", WRONG, ids=lambda check: check.__name__)


def test_every_check_has_right_and_wrong_answers():
    names = set(checks.__all__) - {"choices", "patient", "probe"}  # these judge no answer
    for answers in (RIGHT, WRONG):
        assert {check.__name__ for check in answers} == names
        assert all(answers.values())


@named
def test_a_right_function_is_called_no_more_than_needed(check, capsys):
    for candidate in RIGHT[check]:
        called = []
        check(lambda *inputs, f=candidate, called=called: called.append(1) or f(*inputs))
        assert capsys.readouterr().out == text("check.agrees") + "\n"
        assert len(called) == CALLS.get(check, 1)


@pytest.mark.parametrize(("check", "key", "candidate"), EVERY_WRONG)
def test_a_known_mistake_is_named_in_the_language_of_the_reader(check, key, candidate, capsys):
    set_language("ko")
    check(candidate)
    assert capsys.readouterr().out == text(f"check.{key}") + "\n"


@named
def test_a_wrong_answer_is_called_once_or_where_its_heads_do_not_fit_twice(check, capsys):
    for _, candidate in WRONG[check]:
        called = []
        check(lambda *inputs, f=candidate, called=called: called.append(1) or f(*inputs))
        several = {checks.multi_head: 2, checks.sees_future: 7}.get(check, 1)
        assert len(called) in (1, several)


@named
def test_every_name_that_a_check_knows_is_given_to_a_wrong_answer_and_to_no_other(check, monkeypatch, capsys):
    patterns, names = {}, Case.names

    def noting(case, result):
        if found := names(case, result):
            patterns.update({(one, str(mistake.tolist())): mistake for one, mistake in case.mistakes()})
        return found

    monkeypatch.setattr(Case, "names", noting)
    for _, candidate in [("agrees", RIGHT[check][0]), *WRONG[check]]:
        check(candidate)
    alone = {(one[0], numbers): mistake for (one, numbers), mistake in patterns.items() if len(one) == 1}
    assert alone
    for (name, _), mistake in alone.items():
        assert {other for (other, _), each in alone.items() if same(mistake, each)} == {name}


def test_every_label_of_a_check_is_a_mistake_or_says_what_is_odd():
    labels = {key: label for key, label in terminology()["labels"].items() if key.startswith("check.")}
    general = {"check.agrees", "check.no_bool", *(key for key in SENTENCES if key.startswith("check."))}
    assert general | {f"check.{name}" for _, name, _ in EVERY_WRONG} == set(labels)
    for code in LANGUAGES:
        assert len({label[code] for label in labels.values()}) == len(labels)


def test_a_reader_gets_a_code_for_a_right_answer_and_none_for_a_wrong_one(monkeypatch, capsys):
    assert verdict.code_of("attention") == "FLPD"  # readers keep theirs
    assert len({verdict.code_of(name) for name in checks.__all__}) == len(checks.__all__)
    monkeypatch.delenv("PYTEST_VERSION")
    for code in LANGUAGES:
        set_language(code)
        checks.attention(RIGHT[checks.attention][0])
        assert capsys.readouterr().out == f"{text('check.agrees')}\n{text('solved.code', code='FLPD')}\n"
        checks.attention(WRONG[checks.attention][0][1])
        assert "FLPD" not in capsys.readouterr().out
    monkeypatch.setenv("POLYGLOT_TERMS", "")
    checks.attention(RIGHT[checks.attention][0])
    assert capsys.readouterr().out == text("check.agrees") + "\n"


def test_the_right_choices_are_printed_and_one_must_be_right(capsys):
    rows = torch.tensor([[1.0, 0.0], [0.5, 0.5], [2.0, -1.0]])
    checks.choices([row.min() < 0 for row in rows], [1 == 1, False], [False] * 4 + [rows[0, 0] == 1])
    assert capsys.readouterr().out == "Right answers: 3, 1, 5\n"
    for wrong in ([False, False], [True, False, True]):
        with pytest.raises(ValueError, match="question 2 must have exactly one right choice"):
            checks.choices([True], wrong)


def test_two_mistakes_at_once_are_both_named(capsys):
    checks.attention(lambda q, k, v: (q @ k.mT).softmax(1) @ v)
    checks.rotary_positions(rotary(sign=-1, start=1))
    said = [text(f"check.{name}") for name in ("unscaled", "wrong_axis", "rotary_from_one", "rotary_sign")]
    assert capsys.readouterr().out.splitlines() == said


def test_an_answer_that_never_ends_is_stopped(monkeypatch, capsys):
    monkeypatch.setattr(verdict, "Trial", functools.partial(Trial, seconds=0.05))

    def endless(query, key, value):
        while True:
            key = key + 1

    checks.attention(endless)
    assert capsys.readouterr().out == text("check.never_ends", seconds=0.05) + "\n"


def test_what_an_answer_prints_is_left_to_its_writer(capsys):
    checks.causal_mask(lambda n: print("rows:", n) or polyhead.causal_mask(n))
    assert capsys.readouterr().out == f"rows: 5\n{text('check.agrees')}\n"


# ---- anything else: survived, and told

ODD = {
    "raises": (checks.attention, lambda q, k, v: {}["mat1 {shapes}"], "KeyError: 'mat1 {shapes}'"),
    "takes too few": (checks.attention, lambda q: q, "TypeError"),
    "is no function": (checks.multi_head, 3, "TypeError: 'int' object is not callable"),
    "is None": (checks.sinusoidal_positions, None, "TypeError: 'NoneType' object"),
    "forgets return": (checks.encoder_layer, lambda *inputs: None, "NoneType"),
    "returns a list": (checks.attention, lambda *inputs: attend(*inputs).tolist(), "list"),
    "returns an empty tuple": (checks.masked_attention, lambda *inputs: (), "tuple"),
    "returns an array": (checks.attention, lambda *inputs: attend(*inputs).numpy(), "ndarray"),
    "returns ints": (checks.multi_head, lambda x, heads, W_O: x.long(), "torch.int64"),
    "returns complex": (checks.attention, lambda *inputs: attend(*inputs) + 0j, "torch.complex64"),
    "returns sparse": (checks.attention, lambda *inputs: attend(*inputs).to_sparse(), "torch.sparse"),
    "returns meta": (checks.multi_head, lambda x, heads, W_O: x.to("meta"), "meta"),
    "returns floats": (checks.cached_mask, lambda old, new: ones(old, new).float(), "torch.float32"),
    "is a blank rotation": (checks.rotary_positions, lambda x, positions: None, "NoneType"),
    "is a blank mask": (checks.causal_mask, lambda n: None, "NoneType"),
    "returns a mask of ints": (checks.causal_mask, lambda n: torch.ones(n, n).tril().long(), "torch.int64"),
    "returns another triangle": (checks.causal_mask, lambda n: polyhead.causal_mask(3), "(5, 5)", "(3, 3)"),
    "is a blank attention": (checks.multi_head_attention, lambda *inputs: None, "NoneType"),
    "returns folded heads": (checks.multi_head_attention, lambda X, *rest: X[..., :5].repeat(3, 1, 1),
        "(2, 7, 15)", "(6, 7, 5)"),
    "says nothing": (checks.sees_future, lambda *inputs: None, "NoneType"),
    "says yes": (checks.sees_future, lambda *inputs: "yes", "str"),
    "writes nothing": (checks.greedy, lambda *inputs: None, "NoneType"),
    "writes a list": (checks.greedy, lambda *inputs: [1, 2], "list"),
    "writes floats": (checks.greedy, lambda m, ids, *rest: ids.double(), "float64"),
    "stops with an error": (checks.sees_future, lambda m, ids: m(ids), "TypeError"),
    "returns no mask": (checks.cached_mask, lambda old, new: None, "NoneType"),
    "returns weights first": (checks.attention, lambda q, k, v: polyhead.scaled_dot_product_attention(q, k,
        v)[::-1], "(2, 3, 11)", "(2, 3, 5)"),
    "returns a number": (checks.attention, lambda *inputs: attend(*inputs).sum(), "(2, 3, 11)", "()"),
    "leaves a dimension": (checks.transpose_qkv, lambda X, h: split(X, h).transpose(1, 2), "(6, 5, 7)",
        "(2, 3, 5, 7)"),
    "all tokens": (checks.cached_mask, lambda old, new: polyhead.causal_mask(old + new), "(3, 8)", "(8, 8)"),
    "first head alone": (checks.multi_head, lambda x, heads, W_O: outputs(x, heads)[0], "(2, 5, 12)",
        "(2, 5, 4)"),
    "one more": (checks.attention, lambda *inputs: attend(*inputs) + 1, "by up to 1."),
    "NaN": (checks.attention, lambda *inputs: attend(*inputs) * math.nan, "is NaN."),
    "another layer": (checks.encoder_layer, lambda *inputs: layer()(*inputs) - 2, "by up to 2."),
    "ones for a row that sees nothing": (checks.masked_attention, lambda q, k, v, mask: sdpa(q, k, v, mask)
        + ~mask.any(-1, keepdim=True), "by up to 1."),
    "no gradient": (checks.masked_attention, overwriting, "RuntimeError", "inplace"),
    "equal lengths alone": (checks.cross_attention, lambda x, m, seen, a: a(x, m[:, : x.shape[1]],
        mask=seen[:, None, : x.shape[1]]), "by up to"),
    "mask without a dimension for the queries": (checks.cross_attention, lambda x, m, seen, a: a(x, m,
        mask=seen), "ValueError: mask"),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ODD)
def test_anything_else_is_survived_and_told(name, capsys):
    check, candidate, *expected = ODD[name]
    check(candidate)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("✗")
    assert [part for part in expected if part not in line] == []


def test_an_interrupt_goes_through():
    def interrupted(query, key, value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checks.attention(interrupted)


@named
def test_the_random_numbers_of_a_chapter_are_left_alone(check, capsys):
    before = torch.get_rng_state()
    check(RIGHT[check][0])
    assert torch.equal(torch.get_rng_state(), before)


# ---- answers that are right in another type


def test_integers_of_any_width_are_integers_and_other_dtypes_are_said_to_be_others(capsys):
    (greedy, *_), (attention, *_) = RIGHT[checks.greedy], RIGHT[checks.attention]
    checks.greedy(lambda *inputs: greedy(*inputs).int())
    assert capsys.readouterr().out == text("check.agrees") + "\n"
    checks.greedy(lambda *inputs: greedy(*inputs).double())
    expected = text("check.dtype", expected=torch.int64, actual=torch.float64)
    assert capsys.readouterr().out == expected + "\n"
    checks.attention(lambda *inputs: attention(*inputs).long())
    expected = text("check.dtype", expected=torch.float32, actual=torch.int64)
    assert capsys.readouterr().out == expected + "\n"


@pytest.mark.parametrize("kind", [np.bool_, torch.tensor, lambda truth: (truth, "why")])
def test_truth_values_of_numpy_and_torch_are_as_good(kind, capsys):
    (right, *_) = RIGHT[checks.sees_future]
    checks.sees_future(lambda *inputs: kind(bool(right(*inputs))))
    assert capsys.readouterr().out == text("check.agrees") + "\n"


@pytest.mark.parametrize("check", [checks.exact_match, checks.mean_reciprocal_rank])
def test_numbers_of_numpy_are_as_good(check, capsys):
    check(lambda *inputs: np.float32(RIGHT[check][0](*inputs)))
    assert capsys.readouterr().out == text("check.agrees") + "\n"


def test_checks_and_diagnose_take_the_first_of_a_tuple_and_of_a_list(capsys):
    for several in (tuple, list):

        def candidate(query, key, value, several=several):
            return several((attend(query, key, value), None))

        checks.attention(candidate)
        assert capsys.readouterr().out == text("check.agrees") + "\n"
        assert diagnose(candidate)
