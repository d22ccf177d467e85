"""Splits a chapter's text into cells; errors name the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from jupytext.myst import get_parser, read_cell_metadata, read_fenced_cell, strip_blank_lines
from markdown_it.token import Token

from polyglot_book.schema import load_schema, problems

# splitlines() breaks lines at these, Markdown does not: cells would be cut at the wrong place. And NUL.
_ODD_CHARACTERS = re.compile("[\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]|\r")
# The next cell, inside a code cell whose closing fence is missing.
_NEXT_CELL = re.compile(r"^(`{3,}\{code-cell\}|\+\+\+ )", re.MULTILINE)
_HEADER = load_schema("cell")


class ChapterError(ValueError):
    """A chapter whose text cannot be read.

    Attributes:
        file: The chapter's file.
        line: The line, from 1.
        problem: What is wrong.
        remedy: What to do.
    """

    def __init__(self, file: str, line: int, problem: str, remedy: str) -> None:
        super().__init__(f"{file}:{line}: {problem}; {remedy}")
        self.file, self.line, self.problem, self.remedy = file, line, problem, remedy


class RawCell(NamedTuple):
    """A cell as it is in the text.

    Attributes:
        kind: "markdown", "code" or "raw".
        source: Its text.
        metadata: Its header, with the id.
        line: Where it begins, from 1.
    """

    kind: str
    source: str
    metadata: dict[str, Any]
    line: int


def parse_cells(text: str, file: str = "chapter.md") -> tuple[dict[str, Any], list[RawCell]]:
    r"""Split a text into its front matter and its cells, as jupytext does.

    Args:
        text: The text; its lines end with \n.
        file: The file's name for messages.

    Raises:
        ChapterError: The text would be misread, or a cell's header is wrong.

    Example:
        >>> front, (cell,) = parse_cells('---\nneeds: []\n---\n+++ {"id": "title"}\n# Masks')
        >>> front, cell.source, cell.metadata, cell.line
        ({'needs': []}, '# Masks', {'id': 'title'}, 4)
    """
    if text.startswith("\ufeff"):
        raise ChapterError(file, 1, "a byte order mark", "save it as UTF-8 without one")
    if odd := _ODD_CHARACTERS.search(text):
        line = text[: odd.start()].count("\n") + 1
        raise ChapterError(file, line, f"the character {odd.group()!r}", "use \\n alone")
    tokens = get_parser().parse(f"{text}\n")
    try:
        front: Any = {}
        begin = 0
        if tokens and tokens[0].type == "front_matter":
            front, begin = yaml.safe_load(tokens[0].content) or {}, tokens[0].map[1]
        cells = list(_split(text.splitlines(), tokens, begin, file))
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
    lines: dict[str, int] = {}
    for cell in cells:
        _check_cell(cell, file)
        if (first := lines.setdefault(cell.metadata["id"], cell.line)) != cell.line:
            problem = f"id {cell.metadata['id']!r} again, first in line {first}"
            raise ChapterError(file, cell.line, problem, "rename one")
    return front, cells


def _split(lines: list[str], tokens: list[Token], begin: int, file: str) -> Iterator[RawCell]:
    """Cut a text at its code cells and +++ lines; what is between them is Markdown."""
    metadata: dict[str, Any] = {}
    opened = False  # by a +++ line, so that a text must follow
    for token in [*tokens, None]:
        name = token.info.partition("}")[0] if token and token.type == "fence" else ""
        fenced = name in ("{code-cell", "{raw-cell")
        if token and (token.level or not (fenced or token.type == "myst_block_break")):
            continue
        start, end = token.map if token and token.map else (len(lines), len(lines))
        if source := strip_blank_lines("\n".join(lines[begin:start])):
            yield RawCell("markdown", source, metadata, max(1, begin))
        elif opened:
            problem = "a Markdown cell without text"
            raise ChapterError(file, begin, problem, "write it or remove its +++ line")
        metadata, begin, opened = {}, end, bool(token) and not fenced
        if token and fenced:
            options, body = read_fenced_cell(token, 0, "Code")
            yield RawCell(name[1:].removesuffix("-cell"), "\n".join(body), options, start + 1)
        elif token:
            metadata = read_cell_metadata(token, 0)


def _check_cell(cell: RawCell, file: str) -> None:
    """Raise an error where a cell cannot be translated or its header is wrong."""
    if cell.kind == "raw":
        raise ChapterError(file, cell.line, "a raw cell", "only Markdown and code cells can be translated")
    if cell.kind == "code" and _NEXT_CELL.search(cell.source):
        raise ChapterError(file, cell.line, "a code cell's fence is not closed", "close it")
    if wrong := problems(cell.metadata, _HEADER):
        remedy = 'as in +++ {"id": "why-scale"}' if cell.kind == "markdown" else "as in :id: why-scale"
        raise ChapterError(file, cell.line, f"{cell.kind} cell: {wrong[0]}", f"correct its header, {remedy}")
