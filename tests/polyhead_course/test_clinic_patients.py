"""Patients behind a number, and the check of an answer."""

from __future__ import annotations

import pytest
import torch

from attention_clinic import diagnose, laws, planted
from polyhead_course.exercises import checks
from polyhead_course.exercises.patients import NUM_PATIENTS, bug_of, patient
from polyhead_course.words import set_language, show
from polyhead_course.words.language import text

NUMBERS = range(1, NUM_PATIENTS + 1)
FIRST = {bug_of(number): number for number in NUMBERS}


def test_every_bug_without_parameters_of_its_own_has_a_patient_and_one_is_healthy():
    plain = {bug for bug in planted.BUGS if not planted.CLASSES[bug].options}
    assert set(FIRST) == {"none", *plain}
    assert 1 < FIRST["none"] <= 7  # neither the first nor one that nobody gets to


@pytest.mark.parametrize("number", NUMBERS)
def test_a_patient_behaves_as_the_planted_decoder(number):
    torch.manual_seed(number)
    ids, mask = torch.randint(0, 23, (6, 9)), torch.arange(9) >= torch.arange(6)[:, None]
    own, bug = patient(number), planted.planted_decoder(bug_of(number))
    for options in ({}, {"mask": mask}, {"need_weights": True}, {"documents": ids % 2}):
        outputs = []
        for decoder in (own, bug):
            torch.manual_seed(0)
            output = decoder(ids, **options)
            outputs.append(output[0] if isinstance(output, tuple) else output)
        torch.testing.assert_close(*outputs, rtol=0, atol=0, equal_nan=True)
    assert own.training == bug.training


@pytest.mark.parametrize("number", [1, FIRST["none"]])
def test_neither_name_nor_class_tells_what_a_patient_has(number):
    decoder = patient(number)
    assert repr(decoder) == str(decoder) == f"<patient {number}>"
    assert f"{type(decoder).__module__}.{type(decoder).__qualname__}" == "patient.Patient"
    with pytest.raises(TypeError, match="show must get"):
        show(type(decoder))


def test_laws_and_diagnose_work_on_patients():
    assert laws.causality(patient(FIRST["sees_ahead"])) > 0
    assert diagnose(patient(FIRST["kv_tiled"])).names == ("kv_tiled",)
    assert diagnose(patient(FIRST["none"]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("number", [0, NUM_PATIENTS + 1, True, "1", 1.0])
def test_another_number_is_refused(number):
    with pytest.raises(ValueError, match=f"number must be from 1 to {NUM_PATIENTS}, got"):
        patient(number)


@pytest.mark.parametrize(
    ("bug", "said", "key", "law"),
    [
        ("cache_open", "cache_open", "right", None),
        ("none", "none", "right", None),
        ("cache_open", "cache_positions", "would_break", "step"),
        ("cache_open", "none", "would_hold", "chunk"),
        ("none", "documents_leak", "would_break", "docs"),
        ("kv_tiled", "unscaled", "no_law", None),
        ("kv_tiled", "none", "no_law", None),
    ],
)
def test_an_answer_is_judged_by_what_tells_the_two_apart(bug, said, key, law, capsys):
    set_language("ko")
    checks.patient(FIRST[bug], said)
    values = {"bug": text(f"bug.{said}"), "law": law, "name": said}
    assert capsys.readouterr().out == text(f"patient.{key}", **values) + "\n"


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match="name must be 'none' or one of causal_inverted"):
        checks.patient(1, "typo")
