"""Compares every language with the reference: which cell is current, stale or missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

from polyglot_book.chapters import Cell, Chapter, read_all, text_hash
from polyglot_book.commands import MARK, SYNC
from polyglot_book.config import Book, Language
from polyglot_book.violations import Violation

_RUN_SYNC = f"run `{SYNC}`"
# A cell's id, the problem and the remedy.
Finding = tuple[str, str, str]


def code_in(book: Book, source: str, language: str) -> str:
    """Return the source of a code cell as it is in a language: the argument of `language_call` differs."""
    if not book.language_call:
        return source
    call = rf"""(\b{re.escape(book.language_call)}\(\s*)(["'])[^"'\n]*\2(\s*\))"""
    return re.sub(call, rf"\g<1>\g<2>{language}\2\3", source)


def is_stale(original: Cell, cell: Cell) -> bool:
    """Whether the reference has changed since a cell was translated from it."""
    return original.translatable is not None and cell.of != text_hash(original.translatable)


def is_waiting(cell: Cell, language: Language) -> bool:
    """Whether a cell has the note of a text that is not translated yet."""
    return language.untranslated in (cell.translatable or "")


def _progress(original: Chapter | None, chapter: Chapter | None) -> str:
    """Count the cells of one chapter in one language."""
    expected, actual = (each.by_id if each else {} for each in (original, chapter))
    counts = Counter(missing=len(expected.keys() - actual.keys()))
    for cell_id, cell in actual.items():
        other = expected.get(cell_id)
        counts["extra" if other is None else "stale" if is_stale(other, cell) else "current"] += 1
    shown = [name for name in ("stale", "missing", "extra") if counts[name]]
    return ", ".join(f"{counts[name]} {name}" for name in ("current", *shown))


def table(book: Book) -> str:
    """Format the table of languages and chapters."""
    chapters, _ = read_all(book)
    codes = [language.code for language in book.translations]
    rows = [["chapter", *codes]]
    for stem in sorted({stem for _, stem in chapters}):
        original = chapters.get((book.reference.code, stem))
        rows.append([stem, *(_progress(original, chapters.get((code, stem))) for code in codes)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def check_translations(book: Book) -> list[Violation]:
    """Report each chapter that is not in jupytext's form, and each cell that differs from the reference's."""
    chapters, violations = read_all(book)
    unreadable = {violation.file for violation in violations}
    for folder in sorted((book.root / "chapters").glob("*")):
        if folder.is_dir() and folder.name not in book.languages and any(folder.glob("*.md")):
            remedy = "add it to polyglot_languages or remove it"
            problem = "a language unknown to _config.yml"
            violations.append(Violation(f"chapters/{folder.name}", "", problem, remedy))
    for stem, code in product(sorted({stem for _, stem in chapters}), book.languages):
        chapter, original = chapters.get((code, stem)), chapters.get((book.reference.code, stem))
        file, reference = (f"chapters/{each}/{stem}.md" for each in (code, book.reference.code))
        findings: list[Finding] = []
        if chapter is None and file not in unreadable and original is not None:
            findings = [("", "the chapter is missing", _RUN_SYNC)]
        elif chapter is not None:
            findings = [*_check_form(chapter)]
            if chapter is original:
                findings += _check_reference(book, chapter)
            elif original is not None:
                findings += _compare(book, book.languages[code], original, chapter)
            elif reference not in unreadable:
                remedy = f"write {reference} first, or remove this file"
                findings.append(("", "a chapter that the reference lacks", remedy))
        violations += [Violation(file, *finding) for finding in findings]
    return violations


def _check_form(chapter: Chapter) -> Iterator[Finding]:
    """Compare a chapter's text with its canonical form."""
    if "\r\n" in chapter.text:
        yield "", "line ends of Windows (CRLF)", _RUN_SYNC
    pairs = zip_longest(chapter.text.splitlines(), chapter.canonical().splitlines())
    for number, (line, expected) in enumerate(pairs, start=1):
        if line != expected:
            yield "", f"line {number}: not as jupytext writes it, which is {expected!r}", _RUN_SYNC
            break


def _check_reference(book: Book, chapter: Chapter) -> Iterator[Finding]:
    for cell in chapter.cells:
        if cell.of is not None:
            yield cell.id, "the reference text has an `of`", "remove it"
        if cell.kind == "code" and cell.source != code_in(book, cell.source, book.reference.code):
            call = f'{book.language_call}("{book.reference.code}")'
            yield cell.id, f"{book.language_call} names another language", f"write {call}"


def _compare(book: Book, language: Language, original: Chapter, chapter: Chapter) -> Iterator[Finding]:
    expected, actual = original.by_id, chapter.by_id
    for cell_id in expected:
        if cell_id not in actual:
            yield cell_id, "missing", _RUN_SYNC
    for cell in chapter.cells:
        other = expected.get(cell.id)
        if other is None:
            yield cell.id, "the reference has no such cell", "remove it, or correct its id"
        elif cell.kind != other.kind:
            yield cell.id, f"a {cell.kind} cell, {other.kind} in the reference", f"make it {other.kind}"
        else:
            for finding in _compare_cell(book, language, Path(chapter.file).stem, other, cell):
                yield cell.id, *finding
    order = [cell_id for cell_id in actual if cell_id in expected]
    for first, second in zip((each for each in expected if each in actual), order, strict=True):
        if first != second:
            problem = f"in another order than the reference: here it has {first!r}"
            yield second, problem, "put the cells in the reference's order"
            break


def _compare_cell(
    book: Book, language: Language, stem: str, original: Cell, cell: Cell
) -> Iterator[tuple[str, str]]:
    mark = f"`{MARK}{language.code}/{stem}#{cell.id}`"
    if cell.kind == "code" and cell.source != code_in(book, original.source, language.code):
        yield "the code differs from the reference", _RUN_SYNC
    if cell.tags != original.tags:
        yield f"tags {cell.tags}, in the reference {original.tags}", _RUN_SYNC
    if _shape(cell.metadata) != _shape(original.metadata):
        yield "its header is not the reference's", "make them equal, but for the words that readers see"
    if cell.kind == "code" and original.alt is None:
        if cell.alt is not None or cell.of is not None:
            yield "`of` or alternative text that the reference lacks", "remove it"
    elif cell.kind == "code":
        if not (cell.alt or "").strip():
            yield "no alternative text", "describe the figure under mystnb: image: alt"
            return
        if (cell.alt or "").strip() == (original.alt or "").strip():
            yield "the alternative text is the reference's", "translate it"
    if is_waiting(cell, language):
        yield "not translated yet", f"translate it, remove the note, then {mark}"
    elif is_stale(original, cell):
        unmarked = "it has no `of`, the hash of the reference text"
        yield "stale: the reference has changed" if cell.of else unmarked, f"bring it up to date, then {mark}"


def _shape(metadata: Mapping[str, Any]) -> Any:
    """Return a header without what another check compares, and without the words below `mystnb`."""

    def without_words(value: Any) -> Any:
        if isinstance(value, Mapping):
            others = {key: without_words(each) for key, each in value.items() if key != "alt"}
            return {key: each for key, each in others.items() if each != {}}
        return "…" if isinstance(value, str) else value

    others = {key: value for key, value in metadata.items() if key not in ("of", "tags", "mystnb")}
    return others, without_words(metadata.get("mystnb") or {})
