"""Reads a chapter's text into a notebook whose cell ids are the chapter's own, and writes it back."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import yaml
from jupytext.myst import (
    get_parser,
    notebook_to_myst,
    read_cell_metadata,
    read_fenced_cell,
    strip_blank_lines,
)
from markdown_it.token import Token
from nbformat import NotebookNode

from polyglot_book.config import Book, load_schema, problems
from polyglot_book.violations import Violation

_nbformat: Any = nbformat  # its functions carry no types
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LEXER = "ipython3"
LANGUAGE_INFO = {"name": "python", "pygments_lexer": LEXER}
# splitlines() breaks lines at these, Markdown does not: cells would be cut at the wrong place. And NUL.
_ODD_CHARACTERS = re.compile("\\A\ufeff|[\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]|\r")
# The next cell, inside a code cell whose closing fence is missing.
_NEXT_CELL = re.compile(r"^(`{3,}\{code-cell\}|\+\+\+ )", re.MULTILINE)
_HEADER = load_schema("cell")


class ChapterError(ValueError):
    """A chapter whose text cannot be read.

    Attributes:
        violation: The file, the line, from 1, what is wrong with it, and what to do.
    """

    def __init__(self, file: str, line: int, problem: str, remedy: str) -> None:
        self.violation = Violation(file, "", f"line {line}: {problem}", remedy)
        super().__init__(str(self.violation))


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
    r"""Read a chapter's text as jupytext does.

    Args:
        text: The text, with its line ends as they are in the file.
        file: The file's name for messages.

    Raises:
        ChapterError: The text would be misread, or a cell's header is wrong.

    Example:
        >>> chapter = parse_chapter('+++ {"id": "title"}\n# Masks')
        >>> chapter.by_id["title"].source
        '# Masks'
    """
    unix = text.replace("\r\n", "\n")
    if odd := _ODD_CHARACTERS.search(unix):
        line = unix[: odd.start()].count("\n") + 1
        remedy = "remove it; save the file as UTF-8 without a byte order mark, its line ends \\n alone"
        raise ChapterError(file, line, f"the character {odd.group()!r}", remedy)
    tokens = get_parser().parse(f"{unix}\n")
    front: Any = {}
    begin = 0
    cells: list[Cell] = []
    lines: dict[str, int] = {}
    try:
        if tokens and tokens[0].type == "front_matter":
            front, begin = yaml.safe_load(tokens[0].content) or {}, tokens[0].map[1]
        for line, kind, source, header in _split(unix.splitlines(), tokens, begin):
            _check_cell(file, line, kind, source, header)
            cell_id = header.pop("id")
            if cell_id in lines:
                problem = f"id {cell_id!r} again, first in line {lines[cell_id]}"
                raise ChapterError(file, line, problem, "rename one")
            lines[cell_id] = line
            # jupytext drops one blank line after a header, so that a second one would not last.
            cells.append(Cell(cell_id, kind, re.sub(r"\A(\s*\n)+", "", source), _plain(header)))
    except ChapterError:
        raise
    except Exception as error:  # YAML's errors, and jupytext's own, which are plain Exceptions
        message = " ".join(str(error).split())
        number = re.search(r"cell \d+ at line (\d+)", message)
        raise ChapterError(file, int(number[1]) if number else 1, message, "correct the header") from None
    if not isinstance(front, dict):
        raise ChapterError(file, 1, f"front matter {front!r}", "write key: value")
    if not cells:
        remedy = 'begin with +++ {"id": "title"} and a heading'
        raise ChapterError(file, 1, "a chapter without cells", remedy)
    return Chapter(file, text, tuple(cells), _plain(front))


def _plain(header: dict[str, Any]) -> dict[str, Any]:
    """Turn the dates that YAML makes of some texts back into texts."""
    result: dict[str, Any] = json.loads(json.dumps(header, default=str))
    return result


def _split(
    lines: list[str], tokens: list[Token], begin: int
) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """Cut a text at its code cells and +++ lines; return the line, kind, text and header of each cell."""
    header: dict[str, Any] = {}
    for token in [*tokens, None]:
        name = token.info.partition("}")[0] if token and token.type == "fence" else ""
        fenced = name in ("{code-cell", "{raw-cell")
        if token and (token.level or not (fenced or token.type == "myst_block_break")):
            continue
        start, end = token.map if token and token.map else (len(lines), len(lines))
        if source := strip_blank_lines("\n".join(lines[begin:start])):
            yield max(1, begin), "markdown", source, header
        header, begin = {}, end
        if token and fenced:
            options, body = read_fenced_cell(token, 0, "Code")
            yield start + 1, name[1:].removesuffix("-cell"), "\n".join(body), options
        elif token:
            header = read_cell_metadata(token, 0)


def _check_cell(file: str, line: int, kind: str, source: str, header: dict[str, Any]) -> None:
    """Raise an error where a cell cannot be translated or its header is wrong."""
    if kind == "raw":
        raise ChapterError(file, line, "a raw cell", "only Markdown and code cells can be translated")
    if kind == "code" and _NEXT_CELL.search(source):
        raise ChapterError(file, line, "a code cell's fence is not closed", "close it")
    if wrong := problems(header, _HEADER):
        remedy = 'as in +++ {"id": "why-scale"}' if kind == "markdown" else "as in :id: why-scale"
        raise ChapterError(file, line, f"{kind} cell: {wrong[0]}", f"correct its header, {remedy}")


def read_chapter(book: Book, path: Path) -> Chapter:
    """Read a chapter's file."""
    file = book.relative(path)
    try:
        return parse_chapter(path.read_bytes().decode(), file)
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
                violations.append(error.violation)
    return chapters, violations
