"""Reads a chapter's text into a notebook whose cell ids are the chapter's own."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from polyglot_book.config import Book
from polyglot_book.parsing import ChapterError, check_header, find_spans, read_notebook
from polyglot_book.violations import Violation

_nbformat: Any = nbformat  # its functions carry no types
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python", "pygments_lexer": "ipython3"}


def text_hash(text: str) -> str:
    """Give what a translation's `of` holds for a text of the reference."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter, and where it stands in the text.

    Attributes:
        id: The chapter's own id.
        kind: "markdown" or "code".
        source: Its text, as jupytext reads it.
        metadata: Its metadata without the id.
        start: Its first line (from 0): the block break, or the opening fence.
        body: The line after its header.
        stop: The line after its last one, without the closing fence.
        end: The line after everything that belongs to it.
    """

    id: str
    kind: str
    source: str
    metadata: Mapping[str, Any] = field(hash=False)
    start: int
    body: int
    stop: int
    end: int

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        return list(self.metadata.get("tags", []))

    @property
    def alt(self) -> str | None:
        """The alternative text of its figure."""
        image = (self.metadata.get("mystnb") or {}).get("image") or {}
        return image.get("alt")

    @property
    def of(self) -> str | None:
        """The hash of the reference text that it was translated from."""
        return self.metadata.get("of")

    @property
    def live(self) -> str | None:
        """The text that a translator translates: the prose, or the alternative text."""
        return self.source if self.kind == "markdown" else self.alt


@dataclass(frozen=True)
class Chapter:
    """A chapter's text, read.

    Attributes:
        where: Its file, relative to the book's root.
        text: The whole text.
        cells: Its cells, in order.
        metadata: What else its front matter says.
    """

    where: str
    text: str
    cells: tuple[Cell, ...]
    metadata: Mapping[str, Any] = field(hash=False)

    @property
    def by_id(self) -> dict[str, Cell]:
        """Its cells by id."""
        return {cell.id: cell for cell in self.cells}

    @property
    def code(self) -> tuple[Cell, ...]:
        """Its code cells."""
        return tuple(cell for cell in self.cells if cell.kind == "code")

    def notebook(self) -> NotebookNode:
        """Make the notebook without outputs."""
        cells = []
        for cell in self.cells:
            new = _nbformat.v4.new_code_cell if cell.kind == "code" else _nbformat.v4.new_markdown_cell
            cells.append(new(cell.source, id=cell.id, metadata=_nbformat.from_dict(dict(cell.metadata))))
        metadata = {"kernelspec": KERNELSPEC, **self.metadata, "language_info": LANGUAGE_INFO}
        notebook: NotebookNode = _nbformat.v4.new_notebook(
            cells=cells, metadata=_nbformat.from_dict(metadata)
        )
        notebook.nbformat_minor = 5
        return notebook


def parse_chapter(text: str, where: str = "chapter.md") -> Chapter:
    """Read a chapter's text.

    Args:
        text: The text, with its line ends as they are in the file.
        where: What messages call the file.

    Raises:
        ChapterError: The text cannot be read, or a cell has no id of its own.
    """
    spans = find_spans(text, where)
    notebook = read_notebook(text, where)
    if [span.kind for span in spans] != [cell.cell_type for cell in notebook.cells]:
        raise ChapterError(where, 1, "cells that cannot be told apart", "open every Markdown cell with +++")
    cells: dict[str, Cell] = {}
    for span, node in zip(spans, notebook.cells, strict=True):
        metadata = json.loads(json.dumps(node.metadata, default=str))  # YAML makes dates of some texts
        check_header(where, span, metadata, text)
        cell_id = metadata.pop("id")
        if cell_id in cells:
            earlier = cells[cell_id].start + 1
            raise ChapterError(
                where, span.start + 1, f"id {cell_id!r} again, first in line {earlier}", "rename one"
            )
        cells[cell_id] = Cell(
            cell_id, span.kind, node.source, metadata, span.start, span.body, span.stop, span.end
        )
    front = {key: value for key, value in notebook.metadata.items() if key not in ("jupyter", "jupytext")}
    return Chapter(where, text, tuple(cells.values()), front)


@functools.lru_cache(maxsize=1024)
def _parse_cached(text: str, where: str) -> Chapter:
    return parse_chapter(text, where)


def read_text(path: Path) -> str:
    """Read a file without changing its line ends."""
    return path.read_bytes().decode("utf-8")


def read_chapter(book: Book, path: Path) -> Chapter:
    """Read a chapter's file.

    Raises:
        ChapterError: As `parse_chapter`.
    """
    where = book.relative(path)
    try:
        return _parse_cached(read_text(path), where)
    except UnicodeDecodeError as error:
        raise ChapterError(where, 1, f"not UTF-8: {error}", "save it as UTF-8") from None


def stems(book: Book, code: str) -> list[str]:
    """Name the chapters that a language has, in order."""
    return sorted(path.stem for path in book.chapters_dir(code).glob("*.md"))


def read_all(book: Book) -> tuple[dict[tuple[str, str], Chapter], list[Violation]]:
    """Read every chapter that can be read.

    Returns:
        The chapters by language and stem, and a violation for each that cannot be read.
    """
    chapters: dict[tuple[str, str], Chapter] = {}
    violations = []
    for code in book.languages:
        for stem in stems(book, code):
            try:
                chapters[code, stem] = read_chapter(book, book.chapters_dir(code) / f"{stem}.md")
            except ChapterError as error:
                what = f"line {error.line}: {error.message}"
                violations.append(Violation(error.where, "", what, error.remedy))
    return chapters, violations
