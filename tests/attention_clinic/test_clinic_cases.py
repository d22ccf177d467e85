"""The clinic on candidates that were written without a look at it: each gets its name, and no other."""

from __future__ import annotations

import contextlib
import importlib
import io

import pytest
import torch

import attention_clinic as clinic
from tests.attention_clinic.clinic_cases.case import CASES, Case
from tests.attention_clinic.clinic_cases.oracle import ORACLES, leaks
from tests.attention_clinic.written import written_tests

WRITTEN = "attention", "heads", "modules", "masks", "positions", "decoders", "conduct", "further"
for written in (*(f"wrong_{each}" for each in WRITTEN), "right", "right_modules", "further_decoders"):
    importlib.import_module(f"tests.attention_clinic.clinic_cases.{written}")

# Hundreds of diagnoses, as users have them; those of other files are under the tests' checks of every call.
pytestmark = pytest.mark.usefixtures("unchecked")

CONDUCT = {"raises", "no_tensor", "dtype", "shape", "prints", "mutates", "never_ends"}
RIGHT = [case for case in CASES if not case.names]
WRONG = [case for case in CASES if case.names]
# True beside another mistake: what a query gets that may attend to nothing.
BLIND = {"mask_nan", "mask_uniform", "mask_nan_gradient"}


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=str)


@each(RIGHT)
def test_right_candidates_are_right(case):
    assert all(ORACLES[case.kind](case.candidate()))


@each([case for case in WRONG if not case.names & CONDUCT])
def test_wrong_candidates_are_wrong(case):
    if case.names == {"nan_leak"}:
        assert leaks(case.candidate())
        return
    if case.title in ("summed", "averaged"):  # these stop the output projection
        with pytest.raises(RuntimeError, match="shapes"):
            all(ORACLES[case.kind](case.candidate()))
        return
    assert not all(ORACLES[case.kind](case.candidate()))


@each(RIGHT)
def test_right_candidates_are_healthy_and_their_kind_is_found(case):
    candidate = case.candidate()
    kind = case.kind if candidate is torch.nn.functional.scaled_dot_product_attention else None
    diagnosis = clinic.diagnose(candidate, kind=kind)
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == case.kind


@each(WRONG)
def test_each_bug_gets_its_name_and_a_test_that_fails(case):
    seconds = 0.5 if "never_ends" in case.names else 2.0
    meant = {"mask": "keeps"} if case.kind in ("attention", "multi_head", "causal_mask") else {}
    diagnosis = clinic.diagnose(case.candidate(), kind=case.kind, seconds=seconds, **meant)
    found = set(diagnosis.names)
    allowed = {name for names in case.names for name in names.split("|")} | case.also | {"nan_leak"}
    allowed |= BLIND if case.kind == "attention" else set()
    assert all(found & set(names.split("|")) for names in case.names), f"{sorted(found)}: {diagnosis}"
    assert found <= allowed, f"{sorted(found)}: {diagnosis}"
    if not diagnosis.bugs or "never_ends" in found:
        return
    errors = (AssertionError, ValueError)
    for test in written_tests(diagnosis.as_test("candidate = injected"), injected=case.candidate()):
        with pytest.raises(errors), contextlib.redirect_stdout(io.StringIO()):
            test()
