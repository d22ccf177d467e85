"""Checks a translation's words: nothing left in English, one script, no form to avoid, terms glossed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyglot_book.chapters import Cell, Chapter, read_all
from polyglot_book.config import Book
from polyglot_book.markdown import Prose, anatomy
from polyglot_book.script import script_of, simplified_in, traditional_in
from polyglot_book.terms import Terms, read_terms
from polyglot_book.translations import is_waiting
from polyglot_book.violations import Violation

_LATIN_WORD = re.compile(r"[A-Za-z]{3,}")
# A letter that is neither Latin nor Greek, which formulas and code bring into any text.
_OTHER_LETTER = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f\u0370-\u03ff]")
_NOT_CHINESE = re.compile(r"[\u3040-\u30ff\uac00-\ud7a3]")
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
            if cell.metadata.get("script") == "any" or is_waiting(cell, book.languages[code]):
                continue
            prose = _prose(cell, code, book)
            theirs = original.by_id.get(cell.id) if original is not None else None
            same = {each.text for each in _prose(theirs, reference, book)} if theirs is not None else set()
            if code != reference:
                latin = _LATIN_WORD.search(book.languages[code].name) is not None
                violations += _untranslated(chapter.where, cell.id, prose, same if latin else None)
            violations += _script(chapter.where, cell.id, code, prose)
            violations += _avoided(chapter.where, cell.id, code, prose, terms)
        if "needs" in chapter.metadata:
            violations += _unglossed(chapter, code, book, terms)
    return violations


def _prose(cell: Cell, language: str, book: Book) -> list[Prose]:
    """Give what a cell says to readers."""
    if cell.kind == "code":
        return [Prose(cell.alt)] if cell.alt else []
    return anatomy(cell.source, language, book.config).prose


def _untranslated(where: str, cell: str, prose: list[Prose], same: set[str] | None) -> Iterator[Violation]:
    for each in prose:
        # In a language that is written in Latin letters too, only a paragraph that is the same tells.
        foreign = not _OTHER_LETTER.search(each.text) if same is None else each.text in same
        source = _YEAR.search(each.text) and (each.marked or _BIBLIOGRAPHY_WORDS.search(each.text))
        if foreign and not source and len(_LATIN_WORD.findall(each.text)) >= _MANY_WORDS:
            start = " ".join(each.text.split())[:60]
            remedy = 'translate it, or mark a quotation as <span lang="en">…</span>'
            yield Violation(where, cell, f"not translated: “{start}…”", remedy)


def _script(where: str, cell: str, code: str, prose: list[Prose]) -> Iterator[Violation]:
    if not (script := script_of(code)):
        return
    find, name = (simplified_in, "Simplified") if script == "Hant" else (traditional_in, "Traditional")
    found = dict.fromkeys(char for each in prose for char in find(each.text))
    if found:
        remedy = "write the other ones, or mark the words with the lang that they are in"
        yield Violation(where, cell, f"{name} characters {''.join(found)}", remedy)
    if stray := dict.fromkeys(char for each in prose for char in _NOT_CHINESE.findall(each.text)):
        remedy = "translate them, or mark the words with the lang that they are in"
        yield Violation(where, cell, f"characters of another script {''.join(stray)}", remedy)


def _avoided(where: str, cell: str, code: str, prose: list[Prose], terms: Terms) -> Iterator[Violation]:
    # A line break between two Han characters is no space for readers.
    text = "\n\n".join(re.sub(r"(?<=[\u3400-\u9fff])\n(?=[\u3400-\u9fff])", "", each.text) for each in prose)
    for form, term in terms.avoided_in(code, text).items():
        yield Violation(where, cell, f"the wording {form!r} is to be avoided", f"write {term!r}")


def _unglossed(chapter: Chapter, code: str, book: Book, terms: Terms) -> Iterator[Violation]:
    """Find terms whose first use in a chapter, headings and figures aside, goes without the English name."""
    cells = [
        cell
        for cell in chapter.cells
        if cell.kind == "markdown" and not is_waiting(cell, book.languages[code])
    ]
    texts = {
        cell.id: "\n\n".join(each.text for each in _prose(cell, code, book) if not each.heading)
        for cell in cells
    }
    for term, name in terms.gloss.get(code, {}).items():
        for cell, text in texts.items():
            if (end := terms.first_use(code, term, text)) is None:
                continue
            if not re.match(rf"\s?[（(][^（）()]*{re.escape(name)}", text[end:], re.IGNORECASE):
                yield Violation(chapter.where, cell, f"{term} is used first here", f"write {term}（{name}）")
            break
