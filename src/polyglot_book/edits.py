"""Writes into chapters: the reference's code, the marks of what is translated, and jupytext's form."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polyglot_book.chapters import Cell, Chapter, read_all, text_hash
from polyglot_book.config import Book
from polyglot_book.translations import code_for, is_stale

Say = Callable[[str], None]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(data)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _write(book: Book, chapter: Chapter, cells: Sequence[Cell]) -> bool:
    """Write a chapter with these cells, and say whether that changed its file."""
    text = replace(chapter, cells=tuple(cells)).canonical()
    if text != chapter.text:
        write_atomically(book.root / chapter.where, text.encode())
    return text != chapter.text


def sync(book: Book, say: Say = print) -> None:
    """Bring every chapter into jupytext's form, and translations up to the reference's code and tags."""
    chapters, violations = read_all(book)
    if violations:
        raise ValueError("\n".join(map(str, violations)))
    for (code, stem), chapter in chapters.items():
        original = chapters.get((book.reference.code, stem), chapter)
        cells = list(chapter.cells)
        done = [] if original is chapter else _copy_code(original, cells, code)
        for line in done:
            say(f"{chapter.where}#{line}")
        if _write(book, chapter, cells) and not done:
            say(f"{chapter.where}: brought into jupytext's form")


def _copy_code(original: Chapter, cells: list[Cell], language: str) -> list[str]:
    """Bring a translation's code cells up to the reference, and say what was done to each."""
    done = []
    after = 0
    for cell in original.cells:
        at = next((number for number, each in enumerate(cells) if each.id == cell.id), None)
        source = code_for(cell.source, language)
        if at is not None:
            after = at + 1
            here = cells[at]
            pairs = {"code": (here.source, source), "tags": (here.tags, cell.tags)}
            differing = [name for name, (old, new) in pairs.items() if old != new]
            if differing and cell.kind == here.kind == "code":
                done.append(f"{cell.id}: {' and '.join(differing)} copied")
                tagged = {**here.metadata, "tags": cell.tags}
                metadata = {key: value for key, value in tagged.items() if key != "tags" or value}
                cells[at] = replace(here, source=source, metadata=metadata)
        elif cell.kind == "code":
            wordless = {**cell.metadata, "mystnb": _without_words(cell.metadata.get("mystnb"))}
            metadata = {key: value for key, value in wordless.items() if value}
            cells.insert(after, replace(cell, source=source, metadata=metadata))
            after += 1
            done.append(f"{cell.id}: added{', its alternative text is yours to write' if cell.alt else ''}")
    return done


def _without_words(value: Any) -> Any:
    """Leave out every text of a mapping: it is in the reference's language."""
    if not isinstance(value, Mapping):
        return value
    kept = {key: _without_words(each) for key, each in value.items() if not isinstance(each, str)}
    return {key: each for key, each in kept.items() if each != {}}


def mark(book: Book, target: str, say: Say = print) -> None:
    """Record that a translation is up to date.

    Args:
        book: The book.
        target: `ko/01-x#cell`, or `ko/01-x` for every cell of a chapter.
        say: Gets every line for the user.
    """
    found = re.fullmatch(r"([^/#]+)/([^/#]+?)(?:\.md)?(?:#(.+))?", target.removeprefix("chapters/"))
    translations = [language.code for language in book.translations]
    if found is None or found[1] not in translations:
        raise ValueError(f"{target}: expected <{' or '.join(translations)}>/<chapter>#<cell>")
    code, stem, wanted = found.groups()
    chapters, violations = read_all(book)
    original, chapter = chapters.get((book.reference.code, stem)), chapters.get((code, stem))
    if original is None or chapter is None:
        reasons = [str(each) for each in violations if each.where.endswith(f"/{stem}.md")]
        raise ValueError(
            "\n".join(reasons) or f"{target}: no such chapter in both {book.reference.code} and {code}"
        )
    if wanted is not None and (wanted not in chapter.by_id or wanted not in original.by_id):
        raise ValueError(f"{target}: no such cell in both languages")
    cells = list(chapter.cells)
    marked = []
    for number, cell in enumerate(cells):
        if wanted not in (None, cell.id):
            continue
        theirs = original.by_id.get(cell.id)
        if theirs is None or theirs.kind != cell.kind:
            raise ValueError(f"{chapter.where}#{cell.id}: the reference has no such cell; nothing was marked")
        if theirs.live is None or cell.live is None:
            if wanted is not None:
                raise ValueError(f"{target}: no alternative text in both languages, so nothing to mark")
        elif is_stale(theirs, cell):
            cells[number] = replace(cell, metadata={**cell.metadata, "of": text_hash(theirs.live)})
            marked.append(cell.id)
    if marked:
        _write(book, chapter, cells)
    for cell_id in marked:
        say(f"{chapter.where}#{cell_id}: marked as up to date")
