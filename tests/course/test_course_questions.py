"""The page of questions: each has a short answer, a link, and numbers that a cell has computed."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import pytest

from polyglot_book.chapters import Chapter

BOOK = Path(__file__).parents[2] / "book/en"
_LINK = re.compile(r"\]\(((?:\d\d|A)-[\w-]+)\.ipynb#([\w-]+)\)")
# What could only have been computed: decimals, and thousands with a comma.
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w.]*\d)")
_FROM = 35  # as many questions at least


@pytest.fixture(scope="module")
def answers(chapters: dict[tuple[str, str], Chapter]) -> dict[str, str]:
    """The answers by their questions."""
    found: dict[str, str] = {}
    for cell in chapters["en", "questions"].cells:
        if heading := re.match(r"### (.+)\n", cell.source):
            question = heading[1]
            found[question] = cell.source[heading.end() :]
        elif cell.id.endswith("-read"):
            found[question] += "\n" + cell.source
    return found


@functools.cache
def outputs(stem: str) -> str:
    """All that the cells of a page print and draw, without commas in numbers."""
    cells = json.loads((BOOK / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
    shown = json.dumps([cell["outputs"] for cell in cells if cell["cell_type"] == "code"])
    return re.sub(r"(?<=\d),(?=\d{3})", "", shown)


def test_a_question_has_a_short_answer_with_a_number_and_a_link(answers: dict[str, str]) -> None:
    assert len(answers) >= _FROM
    for question, answer in answers.items():
        assert question.endswith("?"), question
        assert _LINK.search(answer), question
        assert re.search(r"\d", re.sub(r"\]\([^)]*\)|chapter \d+", "", answer)), question
        assert 2 <= len(re.findall(r"[.?:](?=\s|$)", answer)) <= 5, question


def test_its_numbers_are_those_that_a_linked_page_shows(answers: dict[str, str]) -> None:
    missing = []
    for question, answer in answers.items():
        shown = "".join(outputs(stem) for stem in {"questions", *(link[0] for link in _LINK.findall(answer))})
        for number in _NUMBER.findall(re.sub(r"\]\([^)]*\)", "]", answer)):
            computed = "," in number or "." in number
            if computed and not re.search(rf"(?<![\d.]){re.escape(number.replace(',', ''))}(?!\d)", shown):
                missing.append((question, number))
    assert missing == []
