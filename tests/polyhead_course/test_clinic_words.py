"""The course's `diagnose`: the reader's language, the cells that teach each bug, and the labels of bugs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import attention_clinic
from attention_clinic import planted
from attention_clinic.diagnosis import ENGLISH, SENTENCES
from polyhead_course import words
from polyhead_course.exercises import WORDING, diagnose
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, text

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("unchecked")  # a thousand calls


def inverted(values, mask, queries, keys):
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    return scores.masked_fill(mask, -1e9).softmax(-1) @ values


def test_it_prints_in_the_language_that_is_set_when_it_is_printed():
    diagnosis = diagnose(inverted)
    for code in LANGUAGES:
        set_language(code)
        printed = str(diagnosis)
        assert printed.startswith(text("check.mask_inverted") + "\n  query = [[[")
        assert f"\n  {text('clinic.expected')} = " in printed
        assert text("clinic.section", section="02-masks.ipynb#polarity") in printed
        assert "https://github.com/rasbt/LLMs-from-scratch/issues/1061" in printed
        assert "[02-masks.ipynb#polarity](02-masks.ipynb#polarity)" in diagnosis._repr_markdown_()


def test_sections_are_pages_of_a_site_that_is_given():
    wording = replace(WORDING, site="https://example.org/book/{language}/")
    diagnosis = attention_clinic.diagnose(inverted, mask="keeps", wording=wording)
    for code in LANGUAGES:
        set_language(code)
        page = f"https://example.org/book/{code}/02-masks.html#polarity"
        assert text("clinic.section", section=page) in str(diagnosis)


def test_the_clinics_sentences_are_translated_and_no_others():
    translated = yaml.safe_load((Path(words.__file__).parent / "clinic.yml").read_text(encoding="utf-8"))
    assert set(translated) == set(SENTENCES)
    assert all(set(phrases) >= {*LANGUAGES} - {"en"} for phrases in translated.values())
    assert text("check.shape", expected=(2,), actual=()) == ENGLISH.sentence(
        "check.shape", expected=(2,), actual=()
    )


def test_every_bug_has_a_cell_that_exists():
    cells = {}
    for bug, section in WORDING.sections.items():
        assert f"check.{bug}" in SENTENCES
        stem, _, cell = section.partition(".ipynb#")
        if stem not in cells:
            book = json.loads((ROOT / "book/en" / f"{stem}.ipynb").read_text(encoding="utf-8"))
            cells[stem] = {each["id"] for each in book["cells"]}
        assert cell in cells[stem], section
    assert set(planted.BUGS) <= set(WORDING.sections)


def test_every_planted_bug_and_probe_has_a_label():
    for code in LANGUAGES:
        set_language(code)
        for bug in planted.BUGS:
            assert text(f"check.{bug}").startswith("✗")
            assert 0 < len(text(f"bug.{bug}")) <= 26
        assert all(0 < len(text(f"law.{probe}")) <= 18 for probe in planted.PROBES)
        for law in ["left_pad", "step", "chunk", "docs", "reach", "train", "parity", "windows", "right_pad"]:
            assert "0.5" in text(f"says.{law}", difference="0.5")
        assert all(text(f"says.{law}").startswith("✗") for law in ["past", "hears"])
