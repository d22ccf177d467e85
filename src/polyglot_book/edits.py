"""Writes into chapters: the reference's code, the marks of what is translated, and jupytext's form."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from polyglot_book.chapters import Cell, Chapter, read_all, read_chapter, text_hash
from polyglot_book.config import Book, Language
from polyglot_book.files import write_atomically
from polyglot_book.translations import code_for, is_stale, is_waiting

Say = Callable[[str], None]


def _write(book: Book, chapter: Chapter, cells: Sequence[Cell]) -> bool:
    """Write a chapter with these cells, and say whether that changed its file."""
    text = replace(chapter, cells=tuple(cells)).canonical()
    if text != chapter.text:
        write_atomically(book.root / chapter.where, text.encode())
    return text != chapter.text


def sync(book: Book, say: Say = print) -> None:
    """Bring every chapter into jupytext's form, and translations up to the reference's cells, code and tags.

    A chapter or cell that a translation lacks is added in the reference's language, with a note that it waits
    for its translation.
    """
    chapters, violations = read_all(book)
    if violations:
        raise ValueError("\n".join(map(str, violations)))
    reference = book.reference.code
    for (code, stem), original in list(chapters.items()):
        if code == reference:
            for language in book.translations:
                where = f"chapters/{language.code}/{stem}.md"
                new = Chapter(where, "", (), original.metadata)
                _sync_chapter(book, original, chapters.pop((language.code, stem), new), language, say)
    for chapter in chapters.values():
        if _write(book, chapter, chapter.cells):
            say(f"{chapter.where}: brought into jupytext's form")


def _sync_chapter(book: Book, original: Chapter, chapter: Chapter, language: Language, say: Say) -> None:
    """Bring a translation up to the reference."""
    cells = list(chapter.cells)
    if chapter.text:
        changes = _copy_cells(original, cells, language)
    else:
        cells = [_waiting_cell(cell, language) for cell in original.cells]
        changes = []
        say(f"{chapter.where}: added, it waits for its translation")
    for change in changes:
        say(f"{chapter.where}#{change}")
    if _write(book, chapter, cells) and chapter.text and not changes:
        say(f"{chapter.where}: brought into jupytext's form")


def _copy_cells(original: Chapter, cells: list[Cell], language: Language) -> list[str]:
    """Bring a translation's cells up to the reference, and say what changed in each."""
    changes = []
    after = 0
    for cell in original.cells:
        at = next((number for number, each in enumerate(cells) if each.id == cell.id), None)
        if at is None:
            cells.insert(after, _waiting_cell(cell, language))
            after += 1
            changes.append(f"{cell.id}: added{', it waits for its translation' if cell.live else ''}")
            continue
        after = at + 1
        last = cells[at]
        if cell.kind == last.kind == "code":
            source = code_for(cell.source, language.code)
            pairs = {"code": (last.source, source), "tags": (last.tags, cell.tags)}
            if differing := [name for name, (old, new) in pairs.items() if old != new]:
                changes.append(f"{cell.id}: {' and '.join(differing)} copied")
                tagged = {**last.metadata, "tags": cell.tags}
                metadata = {key: value for key, value in tagged.items() if key != "tags" or value}
                cells[at] = replace(last, source=source, metadata=metadata)
    return changes


def _waiting_cell(cell: Cell, language: Language) -> Cell:
    """Write a cell of the reference for a translation, with a note where there is something to translate."""
    note = language.untranslated
    if cell.kind == "markdown":
        box = f":::{{note}}\n{note}\n:::"
        if cell.source.startswith(":::"):  # an exercise is the first thing in its cell
            return replace(cell, source=f"{cell.source}\n\n{box}")
        if not cell.source.startswith("#"):
            return replace(cell, source=f"{box}\n\n{cell.source}")
        heading, _, rest = cell.source.partition("\n")
        return replace(cell, source=f"{heading}\n\n{box}\n\n{rest.lstrip()}".rstrip())
    cell = replace(cell, source=code_for(cell.source, language.code))
    if not cell.alt:
        return cell
    metadata = copy.deepcopy(dict(cell.metadata))
    metadata["mystnb"]["image"]["alt"] = f"{note} {cell.alt}"
    return replace(cell, metadata=metadata)


def mark(book: Book, target: str, say: Say = print) -> None:
    """Record that a translation is up to date.

    Args:
        book: The book.
        target: `ko/01-x#cell`, or `ko/01-x` for every cell of a chapter.
        say: Gets every line for the user.

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
    if cell_id and not original.by_id[cell_id].live:
        raise ValueError(f"{target}: no alternative text in both languages, so nothing to mark")
    changed = [cell.id for cell, last in zip(cells, chapter.cells, strict=True) if cell is not last]
    if changed:
        _write(book, chapter, cells)
    for each in changed:
        say(f"{chapter.where}#{each}: marked as up to date")
    if not changed:
        say(f"{target}: up to date already")


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
    """Give the cell with the hash of the reference; the same cell if it is up to date."""
    source = original.by_id.get(cell.id)
    if source is None or source.kind != cell.kind:
        raise ValueError(f"{chapter.where}#{cell.id}: the reference has no such cell; nothing was marked")
    if not source.live or not cell.live or not is_stale(source, cell):
        return cell
    if is_waiting(cell, language):
        raise ValueError(f"{chapter.where}#{cell.id}: it waits for its translation; nothing was marked")
    return replace(cell, metadata={**cell.metadata, "of": text_hash(source.live)})
