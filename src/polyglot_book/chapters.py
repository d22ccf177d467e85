"""Reads a chapter's text into a notebook whose cell ids are the chapter's own, and writes it back."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from jupytext.myst import notebook_to_myst
from nbformat import NotebookNode

from polyglot_book.config import Book
from polyglot_book.files import read_text
from polyglot_book.parsing import ChapterError, parse_cells
from polyglot_book.violations import Violation

_nbformat: Any = nbformat  # its functions carry no types
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LEXER = "ipython3"
LANGUAGE_INFO = {"name": "python", "pygments_lexer": LEXER}


def text_hash(text: str) -> str:
    """Return the hash of a text, which a translation of it has as its `of`.

    >>> text_hash("# Masks")
    '9d3cb5c3'
    """
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter.

    Attributes:
        id: The chapter's own id.
        kind: "markdown" or "code".
        source: Its text, as jupytext reads it.
        metadata: Its metadata without the id.
    """

    id: str
    kind: str
    source: str
    metadata: Mapping[str, Any] = field(hash=False)

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
    def translatable(self) -> str | None:
        """The text to translate: the prose, or the alternative text of a figure."""
        return self.source if self.kind == "markdown" else self.alt


@dataclass(frozen=True)
class Chapter:
    """A chapter's text, read.

    Attributes:
        file: Its file, relative to the book's root.
        text: The whole text, as it was read.
        cells: Its cells, in order.
        metadata: Its front matter.
    """

    file: str
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
        """Return the notebook without outputs."""
        front = {key: value for key, value in self.metadata.items() if key != "jupytext"}
        metadata = {"kernelspec": KERNELSPEC, **front, "language_info": LANGUAGE_INFO}
        notebook: NotebookNode = _nbformat.v4.new_notebook(metadata=_nbformat.from_dict(metadata))
        for cell in self.cells:
            new = _nbformat.v4.new_code_cell if cell.kind == "code" else _nbformat.v4.new_markdown_cell
            node = _nbformat.from_dict(dict(cell.metadata))
            notebook.cells.append(new(cell.source, id=cell.id, metadata=node))
        notebook.nbformat_minor = 5
        return notebook

    def canonical(self) -> str:
        """Return the text as jupytext writes it, which is the one form that chapters have."""
        notebook = self.notebook()
        notebook.metadata = dict(self.metadata)
        for cell in notebook.cells:
            of = {"of": cell.metadata["of"]} if "of" in cell.metadata else {}
            cell.metadata = {"id": cell.id, **of, **cell.metadata}
        text: str = notebook_to_myst(notebook, default_lexer=LEXER)
        return text


@functools.lru_cache(maxsize=1024)
def parse_chapter(text: str, file: str = "chapter.md") -> Chapter:
    r"""Read a chapter's text.

    Args:
        text: The text, with its line ends as they are in the file.
        file: The file's name for messages.

    Example:
        >>> chapter = parse_chapter('+++ {"id": "title"}\n# Masks')
        >>> chapter.by_id["title"].source
        '# Masks'
    """
    front, cells = parse_cells(text.replace("\r\n", "\n"), file)
    # YAML makes dates of some texts.
    front, *headers = json.loads(json.dumps([front, *(cell.metadata for cell in cells)], default=str))
    # jupytext drops one blank line after a header, so that a second one would not last.
    sources = [re.sub(r"\A(\s*\n)+", "", cell.source) for cell in cells]
    return Chapter(
        file,
        text,
        tuple(
            Cell(metadata.pop("id"), cell.kind, source, metadata)
            for cell, metadata, source in zip(cells, headers, sources, strict=True)
        ),
        front,
    )


def read_chapter(book: Book, path: Path) -> Chapter:
    """Read a chapter's file."""
    file = book.relative(path)
    try:
        return parse_chapter(read_text(path), file)
    except UnicodeDecodeError as error:
        raise ChapterError(file, 1, f"not UTF-8: {error}", "save it as UTF-8") from None


def stems(book: Book, code: str) -> list[str]:
    """List the chapters of a language by the stems of their files, in order."""
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
                problem = f"line {error.line}: {error.problem}"
                violations.append(Violation(error.file, "", problem, error.remedy))
    return chapters, violations
