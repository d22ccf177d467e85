"""Checks the words of translations: English text, script, forms to avoid, the English names of terms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyglot_book.chapters import Cell, read_all
from polyglot_book.config import Book, Language
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


Findings = Iterator[tuple[str, str]]  # problems and remedies


def check_wording(book: Book) -> list[Violation]:
    """Check the prose and the alternative texts of every chapter, and the terminology file itself."""
    chapters, _ = read_all(book)
    terms, violations = read_terms(book)
    reference = book.reference.code
    for (code, stem), chapter in chapters.items():
        language, original = book.languages[code], chapters.get((reference, stem))
        cells = {cell: _prose(cell, code, book) for cell in chapter.cells if not is_waiting(cell, language)}
        for cell, prose in cells.items():
            if cell.metadata.get("script") == "any":
                continue
            findings = [*_script(code, prose), *_avoided(code, prose, terms)]
            if code != reference:
                other = original.by_id.get(cell.id) if original else None
                findings += _untranslated(language, prose, _prose(other, reference, book) if other else [])
            violations += [Violation(chapter.file, cell.id, *finding) for finding in findings]
        if "needs" in chapter.metadata:
            texts = {
                cell.id: "\n\n".join(each.text for each in prose if not each.heading)
                for cell, prose in cells.items()
                if cell.kind == "markdown"
            }
            for cell_id, *finding in _unglossed(code, texts, terms):
                violations.append(Violation(chapter.file, cell_id, *finding))
    return violations


def _prose(cell: Cell, language: str, book: Book) -> list[Prose]:
    """Return the words of a cell that readers read."""
    if cell.kind == "code":
        return [Prose(cell.alt)] if cell.alt else []
    return anatomy(cell.source, language, book.extensions).prose


def _untranslated(language: Language, prose: list[Prose], original: list[Prose]) -> Findings:
    # A language that is written in Latin letters too is like English but for equal paragraphs.
    latin, same = _LATIN_WORD.search(language.name), {each.text for each in original}
    for each in prose:
        foreign = each.text in same if latin else not _OTHER_LETTER.search(each.text)
        source = _YEAR.search(each.text) and (each.marked or _BIBLIOGRAPHY_WORDS.search(each.text))
        if foreign and not source and len(_LATIN_WORD.findall(each.text)) >= _MANY_WORDS:
            start = " ".join(each.text.split())[:60]
            remedy = 'translate it, or mark a quotation as <span lang="en">…</span>'
            yield f"not translated: “{start}…”", remedy


def _script(code: str, prose: list[Prose]) -> Findings:
    if not (script := script_of(code)):
        return
    find, name = (simplified_in, "Simplified") if script == "Hant" else (traditional_in, "Traditional")
    for problem, search in (
        (f"{name} characters", find),
        ("characters of another script", _NOT_CHINESE.findall),
    ):
        if characters := dict.fromkeys(char for each in prose for char in search(each.text)):
            remedy = "replace them, or mark the words with the lang that they are in"
            yield f"{problem} {''.join(characters)}", remedy


def _avoided(code: str, prose: list[Prose], terms: Terms) -> Findings:
    # A line break between two Han characters is no space for readers.
    text = "\n\n".join(re.sub(r"(?<=[\u3400-\u9fff])\n(?=[\u3400-\u9fff])", "", each.text) for each in prose)
    for form, term in terms.avoided_in(code, text).items():
        yield f"the wording {form!r} is to be avoided", f"write {term!r}"


def _unglossed(code: str, texts: dict[str, str], terms: Terms) -> Iterator[tuple[str, str, str]]:
    """Find the terms whose first use in a chapter, headings and figures aside, lacks the English name."""
    for term, name in terms.gloss.get(code, {}).items():
        for cell_id, text in texts.items():
            if (end := terms.first_use(code, term, text)) is None:
                continue
            if not re.match(rf"\s?[（(][^（）()]*{re.escape(name)}", text[end:], re.IGNORECASE):
                yield cell_id, f"the first use of {term}, without its name", f"write {term}（{name}）"
            break
