"""Compares every language with the reference: which cell is current, stale or missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product, zip_longest
from pathlib import Path
from typing import Any

from polyglot_book.chapters import Cell, Chapter, read_all, text_hash
from polyglot_book.config import Book, Language
from polyglot_book.violations import Violation

Chapters = Mapping[tuple[str, str], Chapter]
# A cell's id, what is wrong, and what to do.
Finding = tuple[str, str, str]
_SET_LANGUAGE = re.compile(r"""(\bset_language\(\s*)(["'])([^"'\n]*)\2(\s*\))""")


def code_for(source: str, language: str) -> str:
    """Give a code cell's body as it reads in a language."""
    return _SET_LANGUAGE.sub(lambda m: f"{m[1]}{m[2]}{language}{m[2]}{m[4]}", source)


def is_stale(original: Cell, cell: Cell) -> bool:
    """Whether the reference has changed since a cell was translated from it."""
    return original.live is not None and cell.of != text_hash(original.live)


def is_waiting(cell: Cell, language: Language) -> bool:
    """Whether `make sync` wrote a cell's text, and nobody has translated it since."""
    return language.untranslated in (cell.live or "")


def _every_stem(chapters: Chapters) -> list[str]:
    return sorted({stem for _, stem in chapters})


def _progress(original: Chapter | None, chapter: Chapter | None) -> str:
    """Say how far one chapter of one language is."""
    theirs = original.by_id if original else {}
    ours = chapter.by_id if chapter else {}
    stale = sum(is_stale(theirs[cell_id], ours[cell_id]) for cell_id in theirs.keys() & ours.keys())
    counts = {
        "stale": stale,
        "missing": len(theirs.keys() - ours.keys()),
        "extra": len(ours.keys() - theirs.keys()),
    }
    current = len(theirs.keys() & ours.keys()) - stale
    return ", ".join([f"{current} current", *(f"{count} {name}" for name, count in counts.items() if count)])


def table(book: Book) -> str:
    """Write the table of languages and chapters."""
    chapters, _ = read_all(book)
    codes = [language.code for language in book.translations]
    rows = [["chapter", *codes]]
    for stem in _every_stem(chapters):
        original = chapters.get((book.reference.code, stem))
        rows.append([stem, *(_progress(original, chapters.get((code, stem))) for code in codes)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def check_translations(book: Book) -> list[Violation]:
    """Report every chapter not in jupytext's form, and every cell that is not what the reference asks for."""
    chapters, violations = read_all(book)
    unreadable = {violation.where for violation in violations}
    for folder in sorted((book.root / "chapters").glob("*")):
        if folder.is_dir() and folder.name not in book.languages and any(folder.glob("*.md")):
            remedy = "name it in polyglot_languages or remove it"
            what = "a language unknown to _config.yml"
            violations.append(Violation(f"chapters/{folder.name}", "", what, remedy))
    for stem, code in product(_every_stem(chapters), book.languages):
        chapter, original = chapters.get((code, stem)), chapters.get((book.reference.code, stem))
        where, theirs = f"chapters/{code}/{stem}.md", f"chapters/{book.reference.code}/{stem}.md"
        findings: list[Finding] = []
        if chapter is None and where not in unreadable and original is not None:
            findings = [("", "the chapter is missing", "run `make sync`")]
        elif chapter is not None:
            findings = [*_check_form(chapter)]
            if chapter is original:
                findings += _check_reference(code, chapter)
            elif original is not None:
                findings += _compare(book.languages[code], original, chapter)
            elif theirs not in unreadable:
                remedy = f"write {theirs} first, or remove this file"
                findings.append(("", "a chapter that the reference lacks", remedy))
        violations += [Violation(where, *finding) for finding in findings]
    return violations


def _check_form(chapter: Chapter) -> Iterator[Finding]:
    """Compare a chapter's text with what `make sync` would write."""
    if "\r\n" in chapter.text:
        yield "", "line ends of Windows (CRLF)", "run `make sync`"
    pairs = zip_longest(chapter.text.splitlines(), chapter.canonical().splitlines())
    differing = ((number, other) for number, (line, other) in enumerate(pairs, start=1) if line != other)
    for number, line in islice(differing, 1):
        yield "", f"line {number}: not as jupytext writes it, which is {line!r}", "run `make sync`"


def _check_reference(language: str, chapter: Chapter) -> Iterator[Finding]:
    for cell in chapter.cells:
        if cell.of is not None:
            yield cell.id, "the reference text has an `of`", "remove it"
        if cell.kind == "code" and cell.source != code_for(cell.source, language):
            yield cell.id, "set_language names another language", f'write set_language("{language}")'


def _compare(language: Language, original: Chapter, chapter: Chapter) -> Iterator[Finding]:
    theirs, ours = original.by_id, chapter.by_id
    for cell in original.cells:
        if cell.id not in ours:
            yield cell.id, "missing", "run `make sync`"
    for cell in chapter.cells:
        if cell.id not in theirs:
            yield cell.id, "the reference has no such cell", "remove it, or mend its id"
        elif cell.kind != theirs[cell.id].kind:
            kind = theirs[cell.id].kind
            yield cell.id, f"a {cell.kind} cell, {kind} in the reference", f"make it {kind}"
        else:
            for finding in _compare_cell(language, Path(chapter.where).stem, theirs[cell.id], cell):
                yield cell.id, *finding
    shared = [cell.id for cell in original.cells if cell.id in ours]
    order = [cell.id for cell in chapter.cells if cell.id in theirs]
    for expected, actual in zip(shared, order, strict=True):
        if expected != actual:
            what = f"in another order than the reference: here it has {expected!r}"
            yield actual, what, "put the cells in the reference's order"
            break


def _compare_cell(language: Language, stem: str, original: Cell, cell: Cell) -> Iterator[tuple[str, str]]:
    mark = f"`make mark CELL={language.code}/{stem}#{cell.id}`"
    if cell.kind == "code" and cell.source != code_for(original.source, language.code):
        yield "the code differs from the reference", "run `make sync`"
    if cell.tags != original.tags:
        yield f"tags {cell.tags}, in the reference {original.tags}", "run `make sync`"
    if _shape(cell.metadata) != _shape(original.metadata):
        yield "its header is not the reference's", "make them equal, but for the words that readers see"
    alt = (cell.alt or "").strip()
    if cell.kind == "code" and original.alt is None and (cell.alt is not None or cell.of is not None):
        yield "`of` or alternative text that the reference lacks", "remove it"
    elif cell.kind == "code" and original.alt is not None and not alt:
        yield "no alternative text", "describe the figure under mystnb: image: alt"
        return
    elif cell.kind == "code" and original.alt is not None and alt == original.alt.strip():
        yield "the alternative text is the reference's", "translate it"
    if is_waiting(cell, language):
        yield "not translated yet", f"translate it, remove the note, then {mark}"
    elif is_stale(original, cell):
        unmarked = "nothing says which reference text it translates"
        what = "stale: the reference has changed" if cell.of else unmarked
        yield what, f"bring it up to date, then {mark}"


def _shape(metadata: Mapping[str, Any]) -> Any:
    """Leave out of a header what another check compares, and the words below `mystnb`."""

    def without_words(value: Any) -> Any:
        if isinstance(value, Mapping):
            kept = {key: without_words(each) for key, each in value.items() if key != "alt"}
            return {key: each for key, each in kept.items() if each != {}}
        return "…" if isinstance(value, str) else value

    kept = {key: value for key, value in metadata.items() if key not in ("of", "tags", "mystnb")}
    return kept, without_words(metadata.get("mystnb") or {})
