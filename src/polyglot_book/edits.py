"""Writes into chapters: the reference's code, which translations are up to date, and jupytext's form."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from polyglot_book.chapters import Cell, Chapter, read_all, read_chapter, text_hash
from polyglot_book.config import Book, Language
from polyglot_book.files import write_atomically
from polyglot_book.translations import code_in, is_stale, is_waiting

Report = Callable[[str], None]


def _write(book: Book, chapter: Chapter, cells: Sequence[Cell]) -> bool:
    """Write a chapter with these cells; return whether that changed its file."""
    text = replace(chapter, cells=tuple(cells)).canonical()
    if text != chapter.text:
        write_atomically(book.root / chapter.file, text.encode())
    return text != chapter.text


def sync(book: Book, report: Report = print) -> None:
    """Bring every chapter into jupytext's form, and translations up to the reference's cells, code and tags.

    A chapter or cell that a translation lacks is added in the reference's language, with a note that it waits
    for its translation.
    """
    chapters, violations = read_all(book)
    if violations:
        raise ValueError("\n".join(map(str, violations)))
    reference = book.reference.code
    for stem in [stem for code, stem in chapters if code == reference]:
        for language in book.translations:
            empty = Chapter(f"chapters/{language.code}/{stem}.md", "", (), chapters[reference, stem].metadata)
            chapters.setdefault((language.code, stem), empty)
    for (code, stem), chapter in chapters.items():
        cells, changes = list(chapter.cells), []
        if code != reference and (original := chapters.get((reference, stem))):
            changes = [f"#{change}" for change in _copy_cells(book, original, cells, book.languages[code])]
        if not chapter.text:
            changes = [": added, it waits for its translation"]
        if _write(book, chapter, cells) and not changes:
            changes = [": brought into jupytext's form"]
        for change in changes:
            report(f"{chapter.file}{change}")


def _copy_cells(book: Book, original: Chapter, cells: list[Cell], language: Language) -> list[str]:
    """Bring a translation's cells up to the reference; return what changed in each."""
    changes = []
    after = 0
    for cell in original.cells:
        at = next((number for number, each in enumerate(cells) if each.id == cell.id), None)
        if at is None:
            cells.insert(after, _waiting_cell(book, cell, language))
            after += 1
            changes.append(f"{cell.id}: added{', it waits for its translation' if cell.translatable else ''}")
            continue
        after = at + 1
        last = cells[at]
        if cell.kind == last.kind == "code":
            cells[at] = replace(last, source=code_in(book, cell.source, language.code))
            names = ["code"] if cells[at].source != last.source else []
            if cell.tags != last.tags:
                names.append("tags")
                metadata = {**last.metadata, "tags": cell.tags}
                if not cell.tags:
                    del metadata["tags"]
                cells[at] = replace(cells[at], metadata=metadata)
            if names:
                changes.append(f"{cell.id}: {' and '.join(names)} copied")
    return changes


def _waiting_cell(book: Book, cell: Cell, language: Language) -> Cell:
    """Return a cell of the reference for a translation, with a note where there is something to translate."""
    note = language.untranslated
    if cell.kind == "markdown":
        box = f":::{{note}}\n{note}\n:::"
        if cell.source.startswith(":::"):  # an exercise is the first thing in its cell
            return replace(cell, source=f"{cell.source}\n\n{box}")
        if not cell.source.startswith("#"):
            return replace(cell, source=f"{box}\n\n{cell.source}")
        heading, _, rest = cell.source.partition("\n")
        return replace(cell, source=f"{heading}\n\n{box}\n\n{rest.lstrip()}".rstrip())
    cell = replace(cell, source=code_in(book, cell.source, language.code))
    if not cell.alt:
        return cell
    metadata = copy.deepcopy(dict(cell.metadata))
    metadata["mystnb"]["image"]["alt"] = f"{note} {cell.alt}"
    return replace(cell, metadata=metadata)


def mark(book: Book, target: str, report: Report = print) -> None:
    """Record that a translation is up to date.

    Args:
        book: The book.
        target: `ko/01-x#cell`, or `ko/01-x` for every cell of a chapter.
        report: Called with every line for the user.

    Raises:
        ValueError: The target names no cell that can be marked. Nothing is marked then.
    """
    code, stem, cell_id = _parse_target(book, target)
    original, chapter = _chapter_pair(book, code, stem)
    if cell_id and not (cell_id in chapter.by_id and cell_id in original.by_id):
        raise ValueError(f"{target}: no such cell in both languages")
    cells = [
        _mark_cell(chapter, original, cell, book.languages[code]) if cell_id in ("", cell.id) else cell
        for cell in chapter.cells
    ]
    if cell_id and not original.by_id[cell_id].translatable:
        raise ValueError(f"{target}: no alternative text in both languages, so nothing to mark")
    changed = [cell.id for cell, last in zip(cells, chapter.cells, strict=True) if cell is not last]
    if changed:
        _write(book, chapter, cells)
    for each in changed:
        report(f"{chapter.file}#{each}: marked as up to date")
    if not changed:
        report(f"{target}: up to date already")


def _parse_target(book: Book, target: str) -> tuple[str, str, str]:
    """Split a target into the language, the chapter, and the cell's id, which is "" for all cells."""
    parts = re.fullmatch(r"([^/#]+)/([^/#]+?)(?:\.md)?(?:#(.+))?", target.removeprefix("chapters/"))
    codes = [language.code for language in book.translations]
    if parts is None or parts[1] not in codes:
        example = f"expected CELL=<{' or '.join(codes)}>/<chapter>#<cell>"
        raise ValueError(f"{target}: {example}" if target else f"which cell? {example}")
    return parts[1], parts[2], parts[3] or ""


def _chapter_pair(book: Book, code: str, stem: str) -> tuple[Chapter, Chapter]:
    """Read a chapter in the reference and in a translation."""
    paths = [book.chapters_dir(each) / f"{stem}.md" for each in (book.reference.code, code)]
    if missing := [book.relative(path) for path in paths if not path.is_file()]:
        raise ValueError(f"{' and '.join(missing)}: no such chapter")
    return read_chapter(book, paths[0]), read_chapter(book, paths[1])


def _mark_cell(chapter: Chapter, original: Chapter, cell: Cell, language: Language) -> Cell:
    """Return the cell with the hash of the reference; the same cell if it is up to date."""
    source = original.by_id.get(cell.id)
    if source is None or source.kind != cell.kind:
        raise ValueError(f"{chapter.file}#{cell.id}: the reference has no such cell; nothing was marked")
    if not source.translatable or not cell.translatable or not is_stale(source, cell):
        return cell
    if is_waiting(cell, language):
        raise ValueError(f"{chapter.file}#{cell.id}: it waits for its translation; nothing was marked")
    return replace(cell, metadata={**cell.metadata, "of": text_hash(source.translatable)})
