"""Exchanges texts with translators' programs as PO files of gettext: one for each chapter and language.

An entry is a cell: `msgctxt` is its page and id, `msgid` the reference's text; a fuzzy entry is stale. What
comes back has the hash of its `msgid`, so it is stale where the reference has changed since.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from polyglot_book.chapters import Cell, Chapter, read_all, text_hash
from polyglot_book.config import Book, Language
from polyglot_book.ipynb import write_atomically
from polyglot_book.translations import is_stale, is_untranslated, sync_cells, write_cells

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPES = {value: key for key, value in _ESCAPES.items()}
_HEADER = "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
_LINE = re.compile(r'(?:(msgctxt|msgid|msgstr) +)?"((?:[^"\\]|\\.)*)"')
Report = Callable[[str], None]


class Entry(NamedTuple):
    """An entry of a PO file."""

    context: str
    original: str
    translation: str
    fuzzy: bool = False

    def __str__(self) -> str:
        """Format it.

        >>> print(Entry("01-one#why", "Why?", "왜?", fuzzy=True))
        #, fuzzy
        msgctxt "01-one#why"
        msgid "Why?"
        msgstr "왜?"
        <BLANKLINE>
        """
        flag = "#, fuzzy\n" * self.fuzzy
        context = f"msgctxt {_quoted(self.context)}\n" * bool(self.context)
        return f"{flag}{context}msgid {_quoted(self.original)}\nmsgstr {_quoted(self.translation)}\n"


def _quoted(text: str) -> str:
    escaped = re.sub(r'[\\"\n\t\r]', lambda each: _ESCAPES[each[0]], text)
    lines = re.findall(r"(?:[^\\]|\\[^n])*?(?:\\n|$)", escaped)[:-1] or [""]
    return "\n".join(f'"{line}"' for line in ([""] * (len(lines) > 1) + lines))


def format_po(entries: Iterable[Entry], language: Language, title: str) -> str:
    """Return the text of a PO file, with a header that names the language."""
    names = f"Project-Id-Version: {title}\nLanguage: {language.locale}\n"
    first = Entry("", "", f"{names}{_HEADER}")
    return "\n".join(map(str, (first, *entries)))


def parse_po(content: str, file: str) -> list[Entry]:
    """Read the text of a PO file; the first entry is its header.

    Raises:
        ValueError: It is not of this form.
    """
    entries: list[Entry] = []
    fields: dict[str, str] = {}
    fuzzy, key = False, ""
    for number, line in enumerate([*content.replace("\r\n", "\n").split("\n"), ""], start=1):
        match = _LINE.fullmatch(line.strip())
        if not line.strip() or line.startswith("#") or (match and match[1] and match[1] in fields):
            if "msgstr" in fields:
                entries.append(Entry(fields.get("msgctxt", ""), fields["msgid"], fields["msgstr"], fuzzy))
                fields, fuzzy = {}, False
            fuzzy |= bool(re.match(r"#,.*\bfuzzy\b", line))
        if match is None:
            if line.strip() and not line.startswith("#"):
                what = "expected msgctxt, msgid or msgstr"
                raise ValueError(f"{file}: line {number}: {what}, got {line[:60]!r}")
            continue
        key = match[1] or key
        text = re.sub(r"\\.", lambda each: _UNESCAPES.get(each[0], each[0][1]), match[2])
        fields[key] = fields.get(key, "") + text
    return entries


def _entries(
    book: Book, language: Language, stem: str, original: Chapter, chapter: Chapter | None
) -> Iterator[Entry]:
    translated = chapter.by_id if chapter else {}
    for cell in original.cells:
        if not (text := (cell.translatable or "").strip()):
            continue
        other = translated.get(cell.id)
        waits = other is None or other.kind != cell.kind or is_untranslated(other, language)
        words = "" if other is None or waits else (other.translatable or "").strip()
        yield Entry(
            f"{stem}#{cell.id}", text, words, bool(words) and other is not None and is_stale(cell, other)
        )


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
        raise ValueError(
            f"{folder}: expected files such as {folder}/{book.translations[0].code}/….po; there are none"
        )
    for path in paths:
        code, _, stem = path.relative_to(folder).with_suffix("").as_posix().partition("/")
        original, language = chapters.get((book.reference.code, stem)), book.languages[code]
        if original is None:
            raise ValueError(f"{path}: expected the name of a chapter, got {stem}")
        empty = Chapter(book.relative(book.chapter_file(code, stem)), "", (), original.metadata)
        chapter = chapters.get((code, stem), empty)
        before = {
            each.context: each
            for each in _entries(book, language, stem, original, chapters.get((code, stem)))
        }
        new = [
            each
            for each in parse_po(path.read_text(encoding="utf-8"), str(path))
            if each.context and each.translation.strip() and each != before.get(each.context)
        ]
        cells = {cell.id: cell for cell in chapter.cells}
        if any(each.context.partition("#")[2] not in cells for each in new):
            cells = {cell.id: cell for cell in sync_cells(book, language, original, chapter)[0]}
        for entry in new:
            cell_id = entry.context.removeprefix(f"{stem}#")
            if cell_id not in original.by_id:
                raise ValueError(
                    f"{path}: expected the id of a cell of {original.file}, got {entry.context!r}"
                )
            cells[cell_id] = _translated(cells[cell_id], entry)
        if new and write_cells(book, chapter, [*cells.values()], original):
            report(f"{chapter.file}: {len(new)} texts")


def _translated(cell: Cell, entry: Entry) -> Cell:
    """Return a cell with the text of an entry, and the hash of the text that this was translated from."""
    metadata = copy.deepcopy(dict(cell.metadata))
    if not entry.fuzzy:
        metadata["of"] = text_hash(entry.original)
    text = entry.translation.strip("\n")
    if cell.kind == "markdown":
        return replace(
            cell, source=text if text.strip() != cell.source.strip() else cell.source, metadata=metadata
        )
    metadata["mystnb"]["image"]["alt"] = text
    return replace(cell, metadata=metadata)
