"""Checks a translation's words: nothing left in English, one Chinese script, and no form to avoid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyglot_book.chapters import Cell, read_all
from polyglot_book.config import Book
from polyglot_book.markdown import Prose, anatomy
from polyglot_book.script import script_of, simplified_in, traditional_in
from polyglot_book.terms import Terms, read_terms
from polyglot_book.violations import Violation

_LATIN_WORD = re.compile(r"[A-Za-z]{3,}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
_LETTERS = {"zh": _CJK, "ja": _CJK, "ko": _CJK} | {
    code: re.compile(letters)
    for codes, letters in (
        ("ru uk be bg sr mk kk", r"[\u0400-\u04ff]"),
        ("el", r"[\u0370-\u03ff]"),
        ("ar fa ur he", r"[\u0590-\u06ff]"),
        ("hi mr ne bn ta te th", r"[\u0900-\u0e7f]"),
    )
    for code in codes.split()
}
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")
_BIBLIOGRAPHY_WORDS = re.compile(r"et al|arXiv|\bdoi\b", re.IGNORECASE)
# A title or a name may stay as it is; a sentence may not.
_MANY_WORDS = 8


def check_wording(book: Book) -> list[Violation]:
    """Check the prose and the alternative texts of every chapter, and the terminology file itself."""
    chapters, _ = read_all(book)
    terms, violations = read_terms(book)
    reference = book.reference.code
    for (code, stem), chapter in chapters.items():
        original = chapters.get((reference, stem)) if code != reference else None
        for cell in chapter.cells:
            if cell.metadata.get("script") == "any":
                continue
            prose = _prose(cell, code)
            theirs = original.by_id.get(cell.id) if original is not None else None
            same = {each.text for each in _prose(theirs, reference)} if theirs is not None else set()
            if code != reference:
                violations += _untranslated(chapter.where, cell.id, code, prose, same)
            violations += _script(chapter.where, cell.id, code, prose)
            violations += _avoided(chapter.where, cell.id, code, prose, terms)
    return violations


def _prose(cell: Cell, language: str) -> list[Prose]:
    """Give what a cell says to readers."""
    if cell.kind == "code":
        return [Prose(cell.alt)] if cell.alt else []
    return anatomy(cell.source, language).prose


def _untranslated(
    where: str, cell: str, code: str, prose: list[Prose], same: set[str]
) -> Iterator[Violation]:
    letters = _LETTERS.get(code.split("-")[0])
    for each in prose:
        # In a language that is written in Latin letters too, only a paragraph that is the same tells.
        foreign = not letters.search(each.text) if letters else each.text in same
        source = _YEAR.search(each.text) and (each.marked or _BIBLIOGRAPHY_WORDS.search(each.text))
        if foreign and not source and len(_LATIN_WORD.findall(each.text)) >= _MANY_WORDS:
            start = " ".join(each.text.split())[:60]
            remedy = 'translate it, or mark a quotation as <span lang="en">…</span>'
            yield Violation(where, cell, f"not translated: “{start}…”", remedy)


def _script(where: str, cell: str, code: str, prose: list[Prose]) -> Iterator[Violation]:
    script = script_of(code)
    if not script:
        return
    find, name, own = {
        "Hant": (simplified_in, "Simplified", "Traditional"),
        "Hans": (traditional_in, "Traditional", "Simplified"),
    }[script]
    found = dict.fromkeys(char for each in prose for char in find(each.text))
    if found:
        remedy = f"write {own} ones, or mark the words with the lang that they are in"
        yield Violation(where, cell, f"{name} characters {''.join(found)}", remedy)


def _avoided(where: str, cell: str, code: str, prose: list[Prose], terms: Terms) -> Iterator[Violation]:
    # A line break between two Han characters is no space for readers.
    text = "\n\n".join(re.sub(r"(?<=[\u3400-\u9fff])\n(?=[\u3400-\u9fff])", "", each.text) for each in prose)
    for form, term in terms.avoided_in(code, text).items():
        yield Violation(where, cell, f"the wording {form!r} is to be avoided", f"write {term!r}")
