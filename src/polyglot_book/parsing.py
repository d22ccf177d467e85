"""Splits a chapter's text into cells, and says in which line something is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from jupytext.myst import get_parser, read_cell_metadata, read_fenced_cell, strip_blank_lines
from markdown_it.token import Token

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_HASH = re.compile(r"[0-9a-f]{8}")
# splitlines() breaks lines at these, Markdown does not: cells would be cut at the wrong place. And NUL.
_ODD_CHARACTERS = re.compile("[\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]|\r")
# What a code cell holds whose closing fence is missing.
_NEXT_CELL = re.compile(r"^(`{3,}\{code-cell\}|\+\+\+ )", re.MULTILINE)


class ChapterError(ValueError):
    """A chapter whose text cannot be read."""

    def __init__(self, where: str, line: int, message: str, remedy: str) -> None:
        """Name the file and the line (from 1)."""
        super().__init__(f"{where}:{line}: {message}; {remedy}")
        self.where, self.line, self.message, self.remedy = where, line, message, remedy


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


def parse_cells(text: str, where: str) -> tuple[dict[str, Any], list[RawCell]]:
    r"""Split a text into its front matter and its cells, as jupytext does.

    Args:
        text: The text; its lines end with \n.
        where: What messages call the file.

    Raises:
        ChapterError: Something would be misread later.
    """
    if text.startswith("\ufeff"):
        raise ChapterError(where, 1, "a byte order mark", "save it as UTF-8 without one")
    if odd := _ODD_CHARACTERS.search(text):
        line = text[: odd.start()].count("\n") + 1
        raise ChapterError(where, line, f"the character {odd.group()!r}", "use \\n alone")
    tokens = get_parser().parse(f"{text}\n")
    try:
        front: Any = {}
        begin = 0
        if tokens and tokens[0].type == "front_matter":
            front, begin = yaml.safe_load(tokens[0].content) or {}, tokens[0].map[1]
        if not isinstance(front, dict):
            raise ChapterError(where, 1, f"front matter {front!r}", "write key: value")
        cells = list(_split(text.splitlines(), tokens, begin, where))
    except ChapterError:
        raise
    except Exception as error:  # YAML's errors, and jupytext's own, which are plain Exceptions
        message = " ".join(str(error).split())
        found = re.search(r"cell \d+ at line (\d+)", message)
        raise ChapterError(where, int(found[1]) if found else 1, message, "mend the header") from None
    if not cells:
        raise ChapterError(
            where, 1, "a chapter without cells", 'begin with +++ {"id": "title"} and a heading'
        )
    lines: dict[str, int] = {}
    for cell in cells:
        if problem := _problem(cell):
            raise ChapterError(where, cell.line, *problem)
        if (first := lines.setdefault(cell.metadata["id"], cell.line)) != cell.line:
            message = f"id {cell.metadata['id']!r} again, first in line {first}"
            raise ChapterError(where, cell.line, message, "rename one")
    return front, cells


def _split(lines: list[str], tokens: list[Token], begin: int, where: str) -> Iterator[RawCell]:
    """Cut a text at its code cells and +++ lines; what is between them is Markdown."""
    metadata: dict[str, Any] = {}
    opened = False  # by a +++ line, so that a text must follow
    number = 0
    for token in [*tokens, None]:
        name = token.info.partition("}")[0] if token and token.type == "fence" else ""
        fenced = name in ("{code-cell", "{raw-cell")
        if token and (token.level or not (fenced or token.type == "myst_block_break")):
            continue
        start, end = token.map if token and token.map else (len(lines), len(lines))
        if source := strip_blank_lines("\n".join(lines[begin:start])):
            number += 1
            yield RawCell("markdown", source, metadata, max(1, begin))
        elif opened:
            raise ChapterError(
                where, begin, "a Markdown cell without text", "write it or remove its +++ line"
            )
        metadata, begin, opened = {}, end, bool(token) and not fenced
        if token and fenced:
            options, body = read_fenced_cell(token, number, "Code")
            tags = options.get("tags", [])
            if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
                raise ChapterError(where, start + 1, f"tags {tags!r}", "write a list of words")
            number += 1
            yield RawCell(name[1:].removesuffix("-cell"), "\n".join(body), options, start + 1)
        elif token:
            metadata = read_cell_metadata(token, number)


def _problem(cell: RawCell) -> tuple[str, str] | None:
    """Say what is wrong with a cell, and what to do about it."""
    if cell.kind == "raw":
        return "a raw cell", "only Markdown and code cells can be translated"
    if cell.kind == "code" and _NEXT_CELL.search(cell.source):
        return "a code cell's fence is not closed", "close it"
    metadata = cell.metadata
    if "id" not in metadata:
        remedy = 'open it with +++ {"id": "…"}' if cell.kind == "markdown" else "give it an :id:"
        return f"a {cell.kind} cell without id", remedy
    cell_id, of = metadata["id"], metadata.get("of", "0" * 8)
    if not isinstance(cell_id, str) or not _ID.fullmatch(cell_id) or len(cell_id) > 64:
        return f"id {cell_id!r}", "write kebab-case: a-z, 0-9, single hyphens, at most 64"
    # YAML reads the unquoted hash 12345678 as a number.
    if not isinstance(of, str) or not _HASH.fullmatch(of):
        return f"of {of!r} is not 8 hex digits in quotes", "let `make mark` write it"
    image: Any = metadata
    for key in ("mystnb", "image"):
        image = image.get(key, {})
        if not isinstance(image, Mapping):
            return f"{key} {image!r}", "write a mapping"
    if not isinstance(image.get("alt", ""), str):
        return f"alt {image['alt']!r} is not text", "put it in quotes"
    return None
