"""Exchanges texts with translators' programs as PO files of gettext: one for each chapter and language.

An entry is a cell: `msgctxt` is its page and id, `msgid` the reference's text; a fuzzy entry is stale. What
comes back has the hash of its `msgid`, so it is stale where the reference has changed since.
"""

from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.pofile import PoFileError, normalize, read_po, write_po

from polyglot_book.chapters import Cell, Chapter, read_all
from polyglot_book.config import Book, Language
from polyglot_book.ipynb import write_atomically
from polyglot_book.translations import is_stale, is_untranslated, sync_cells, write_cells
from polyglot_book.violations import Report

_HEADER = "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"


class Entry(NamedTuple):
    """An entry of a PO file."""

    context: str
    original: str
    translation: str
    fuzzy: bool = False


def format_po(entries: Iterable[Entry], language: Language, title: str) -> str:
    """Return the text of a PO file, with a header that names the language."""
    catalog = Catalog()
    for entry in entries:
        flags = ["fuzzy"] * entry.fuzzy
        catalog.add(entry.original, entry.translation, context=entry.context, flags=flags)
    file = BytesIO()
    write_po(file, catalog, width=0, omit_header=True)
    # Babel's header has the time: the same texts give the same file.
    header = f"Project-Id-Version: {title}\nLanguage: {language.locale}\n{_HEADER}"
    return f'msgid ""\nmsgstr {normalize(header)}\n\n{file.getvalue().decode()}'


def parse_po(content: str, file: str) -> list[Entry]:
    """Read the text of a PO file.

    Raises:
        ValueError: It is not of this form.
    """
    try:
        catalog = read_po(StringIO(content), abort_invalid=True)
    except (PoFileError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None
    if plural := next((each.id for each in catalog if each.pluralizable), None):
        raise ValueError(f"{file}: expected no plural forms, got {plural[0][:60]!r}")
    texts = (each for each in catalog if each.id)  # the header has none
    return [Entry(each.context or "", str(each.id), str(each.string), each.fuzzy) for each in texts]


def _entries(
    book: Book, language: Language, stem: str, original: Chapter, chapter: Chapter | None
) -> Iterator[Entry]:
    translated = chapter.by_id if chapter else {}
    for cell in original.cells:
        if not (text := (cell.translatable or "").strip()):
            continue
        other, words = translated.get(cell.id), ""
        if other and other.kind == cell.kind and not is_untranslated(other, language):
            words = (other.translatable or "").strip()
        fuzzy = bool(other and words and is_stale(cell, other))
        yield Entry(f"{stem}#{cell.id}", text, words, fuzzy)


def export_po(book: Book, folder: Path, report: Report = print) -> None:
    """Write `<folder>/<language>/<chapter>.po` for every chapter of the reference and each translation."""
    chapters, _ = read_all(book)
    for (code, stem), original in chapters.items():
        for language in book.translations if code == book.reference.code else ():
            entries = [*_entries(book, language, stem, original, chapters.get((language.code, stem)))]
            text = format_po(entries, language, book.reference.title)
            write_atomically(folder / language.code / f"{stem}.po", text.encode())
            done = sum(bool(entry.translation) and not entry.fuzzy for entry in entries)
            report(f"{language.code}/{stem}.po: {done} of {len(entries)} texts are translated")


def import_po(book: Book, folder: Path, report: Report = print) -> None:
    """Read what `export_po` wrote and translators changed.

    Raises:
        ValueError: A file is no PO file, or is of a language or cell that the book does not have.
    """
    chapters, _ = read_all(book)
    paths = [path for each in book.translations for path in sorted((folder / each.code).rglob("*.po"))]
    if not paths:
        example = f"{folder}/{book.translations[0].code}/….po"
        raise ValueError(f"{folder}: expected files such as {example}; there are none")
    for path in paths:
        code, _, stem = path.relative_to(folder).with_suffix("").as_posix().partition("/")
        original, language = chapters.get((book.reference.code, stem)), book.languages[code]
        if original is None:
            raise ValueError(f"{path}: expected the name of a chapter, got {stem}")
        empty = Chapter(book.relative(book.chapter_file(code, stem)), "", (), original.metadata)
        chapter = chapters.get((code, stem), empty)
        before = {*_entries(book, language, stem, original, chapters.get((code, stem)))}
        entries = parse_po(path.read_text(encoding="utf-8"), str(path))
        new = [each for each in entries if each.context and each.translation.strip() and each not in before]
        cells = {cell.id: cell for cell in chapter.cells}
        if any(each.context.partition("#")[2] not in cells for each in new):
            cells = {cell.id: cell for cell in sync_cells(book, language, original, chapter)[0]}
        for entry in new:
            cell_id = entry.context.removeprefix(f"{stem}#")
            if cell_id not in original.by_id:
                expected = f"expected the id of a cell of {original.file}"
                raise ValueError(f"{path}: {expected}, got {entry.context!r}")
            cells[cell_id] = _translated(cells[cell_id], entry)
        if new and write_cells(book, chapter, [*cells.values()], original):
            report(f"{chapter.file}: {len(new)} texts")


def _translated(cell: Cell, entry: Entry) -> Cell:
    """Return a cell with the text of an entry, and the hash of the text that this was translated from."""
    cell = cell if entry.fuzzy else cell.marked(entry.original)
    same = entry.translation.strip() == (cell.translatable or "").strip()
    return cell if same else cell.with_text(entry.translation.strip("\n"))
