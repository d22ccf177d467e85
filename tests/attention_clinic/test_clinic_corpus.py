"""Each bug in three styles, each kind right in three: bases that are right, and one change in each."""

from __future__ import annotations

import collections
import functools

import pytest

import attention_clinic as clinic
from attention_clinic.diagnosis import SENTENCES, Diagnosis
from attention_clinic.kinds.table import counts_as
from tests.attention_clinic.clinic_cases.changes import RIGHT, TABLE, Change
from tests.attention_clinic.clinic_cases.oracle import ORACLES
from tests.attention_clinic.test_clinic_cases import CASES, CONDUCT

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of diagnoses

SECONDS = 20.0  # on a busy machine
# Those with one signature, which the oracle calls without names.
COUNTED = {
    "causal_mask", "cached_mask", "window_mask", "document_mask", "transpose_qkv", "transpose_output",
    "repeat_kv", "alibi",
}  # fmt: skip
NAMED = ("x", "positions"), ("length", "embed_dim"), ("max_len", "d_model"), ("x", "weight", "eps")


def each(changes: list[Change]) -> pytest.MarkDecorator:
    marks = {
        change: [pytest.mark.xfail(strict=True, reason=change.reason)] if change.reason else []
        for change in changes
    }
    return pytest.mark.parametrize(
        "change", [pytest.param(change, marks=mark, id=str(change)) for change, mark in marks.items()]
    )


def without_marks(changes: list[Change]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("change", [each for each in changes if has_oracle(each)], ids=str)


def has_oracle(change: Change) -> bool:
    names = getattr(getattr(change.original, "__code__", None), "co_varnames", ())
    return change.kind in COUNTED or any(names[: len(given)] == given for given in NAMED)


@functools.cache
def diagnosis_of(right: Change) -> Diagnosis:
    return clinic.diagnose(right.candidate(), seconds=SECONDS, **dict(right.options))


def remarks(base: str) -> set[str]:
    """What is said of a base before it is changed."""
    return set(diagnosis_of(next(each for each in RIGHT if each.base == base)).names)


@each(RIGHT)
def test_bases_are_healthy_and_their_kind_is_found(change):
    diagnosis = diagnosis_of(change)
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == change.kind


@each(TABLE)
def test_each_change_gets_its_name(change):
    diagnosis = clinic.diagnose(change.candidate(), change.kind, seconds=SECONDS, **dict(change.options))
    assert change.name in diagnosis.names, str(diagnosis)
    allowed = {change.name, "nan_leak"} | change.also | remarks(change.base)
    assert {*diagnosis.names} <= allowed, str(diagnosis)


@without_marks(RIGHT)
def test_bases_are_right_without_a_clinic(change):
    assert all(ORACLES[change.kind](change.candidate()))


@without_marks([change for change in TABLE if change.name not in CONDUCT | {"rotary_not_meant"}])
def test_changes_are_wrong_without_a_clinic(change):
    assert not all(ORACLES[change.kind](change.candidate()))


def test_each_bug_and_each_kind_has_three_examples():
    names = [name for case in CASES for each in case.names for name in each.split("|")]
    wrong = collections.Counter([*names, *(change.name for change in TABLE)])
    known = [key.removeprefix("check.") for key in SENTENCES if key.startswith("check.")]
    bugs = {name for name in known if any(counts_as(name, kind) == "bugs" for kind in clinic.KINDS)}
    assert [name for name in sorted(bugs) if wrong[name] < 3] == []
    assert len(bugs) >= 110
    right = collections.Counter(case.kind for case in CASES if not case.names)
    right.update(change.kind for change in RIGHT if not change.reason)
    assert [kind for kind in clinic.KINDS if right[kind] < 3] == []
    assert sum(bool(change.reason) for change in (*TABLE, *RIGHT)) <= 20
