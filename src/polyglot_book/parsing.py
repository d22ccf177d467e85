"""Cuts a chapter's text into cells, as jupytext sees them, and says in which line something is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupytext.myst import get_parser, myst_to_notebook, read_fenced_cell
from markdown_it.token import Token
from nbformat import NotebookNode

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_HASH = re.compile(r"[0-9a-f]{8}")
# jupytext's splitlines() breaks lines at these, Markdown does not: cells would be cut at the wrong place.
_ODD_BREAKS = re.compile("[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]|\r(?!\n)")


class ChapterError(ValueError):
    """A chapter whose text cannot be read."""

    def __init__(self, where: str, line: int, message: str, remedy: str) -> None:
        """Name the file and the line (from 1)."""
        super().__init__(f"{where}:{line}: {message}; {remedy}")
        self.where, self.line, self.message, self.remedy = where, line, message, remedy


@dataclass(frozen=True)
class Span:
    """Where jupytext sees a cell: lines from 0, `stop` before the closing fence, `end` after it."""

    kind: str
    start: int
    body: int
    stop: int
    end: int


def _code_body(lines: list[str], start: int, stop: int) -> int:
    """Find the line after a code cell's header, by jupytext's rules."""
    body = start
    if body < stop and lines[body].startswith("---"):
        body += 1
        while body < stop and not lines[body].startswith("---"):
            body += 1
        body += 1
    else:
        while body < stop and lines[body].lstrip().startswith(":"):
            body += 1
    if body < stop and not lines[body].strip():
        body += 1
    return min(body, stop)


def find_spans(text: str, where: str) -> list[Span]:
    """Cut a text into cells, by the parser that jupytext uses.

    Raises:
        ChapterError: The text holds what jupytext and Markdown would understand differently.
    """
    if odd := _ODD_BREAKS.search(text):
        line = text[: odd.start()].count("\n") + 1
        raise ChapterError(where, line, f"the line separator {odd.group()!r}", "use \\n alone")
    lines = text.replace("\r\n", "\n").split("\n")
    spans: list[Span] = []
    start = body = 0

    def prose(end: int) -> None:
        written = next((number for number in range(body, end) if lines[number].strip()), None)
        if written is not None:
            spans.append(Span("markdown", start if start != body else written, body, end, end))
        elif start != body:
            raise ChapterError(
                where, start + 1, "a Markdown cell without text", "write it or remove its +++ line"
            )

    nesting = 0
    for token in get_parser().parse(text + "\n"):
        nesting += token.nesting
        if nesting or not token.map:
            continue
        first, last = token.map
        if token.type == "front_matter":
            start = body = last
        elif token.type == "myst_block_break":
            prose(first)
            _check_json(where, first, lines[first])
            start, body = first, last
        elif token.type == "fence" and token.info.startswith("{code-cell}"):
            prose(first)
            if not lines[first].startswith("`") or not lines[last - 1].startswith(token.markup):
                raise ChapterError(
                    where, first + 1, "a code cell's fence is indented or not closed", "mend it"
                )
            # An opening fence inside another one: the one before it was never closed.
            for inside in lines[first + 1 : last - 1]:
                if inside.startswith(f"{token.markup}{{"):
                    raise ChapterError(where, first + 1, "a code cell's fence is not closed", "close it")
            _check_tags(where, first, token)
            spans.append(Span("code", first, _code_body(lines, first + 1, last - 1), last - 1, last))
            start = body = last
        elif token.type == "fence" and token.info.startswith("{raw-cell}"):
            raise ChapterError(
                where, first + 1, "a raw cell", "only Markdown and code cells can be translated"
            )
    prose(len(lines))
    return spans


def check_header(where: str, span: Span, metadata: Mapping[str, Any], text: str) -> None:
    """Refuse a header that later steps would misread.

    Raises:
        ChapterError: It is one.
    """
    kind, line = span.kind, span.start + 1
    cell_id = metadata.get("id")
    if cell_id is None:
        remedy = 'open it with +++ {"id": "…"}' if kind == "markdown" else "give it an :id:"
        raise ChapterError(where, line, f"a {kind} cell without id", remedy)
    if not isinstance(cell_id, str) or not _ID.fullmatch(cell_id) or len(cell_id) > 64:
        raise ChapterError(
            where, line, f"id {cell_id!r}", "write kebab-case: a-z, 0-9, single hyphens, at most 64"
        )
    header = text.split("\n")[span.start + 1 : span.body]
    if kind == "code" and not any(re.match(r"(id|\s*:id)\s*:", each) for each in header):
        raise ChapterError(where, line, "a header without a line of its own for the id", "add one")
    # YAML reads the unquoted hash 12345678 as a number.
    if "of" in metadata and (not isinstance(metadata["of"], str) or not _HASH.fullmatch(metadata["of"])):
        raise ChapterError(
            where, line, f"of {metadata['of']!r} is not 8 hex digits in quotes", "let `make mark` write it"
        )
    image: Any = metadata
    for key in ("mystnb", "image"):
        image = image.get(key, {})
        if not isinstance(image, Mapping):
            raise ChapterError(where, line, f"{key} {image!r}", "write a mapping")
    if not isinstance(image.get("alt", ""), str):
        raise ChapterError(where, line, f"alt {image['alt']!r} is not text", "put it in quotes")


def _check_tags(where: str, number: int, token: Token) -> None:
    """Refuse a code cell's header that jupytext would stumble over without saying in which line."""
    try:
        tags = read_fenced_cell(token, 0, "Code")[0].get("tags", [])
    except Exception as error:  # YAML's errors, and jupytext's own, which are plain Exceptions
        raise ChapterError(where, number + 1, " ".join(str(error).split()), "mend the header") from None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ChapterError(where, number + 1, f"tags {tags!r}", "write a list of words")


def _check_json(where: str, number: int, line: str) -> None:
    """Refuse a block break that jupytext would stumble over without saying in which file."""
    rest = line.strip().lstrip("+").strip()
    try:
        value = json.loads(rest) if rest else {}
    except ValueError as error:
        raise ChapterError(
            where, number + 1, f"+++ is followed by ill-formed JSON ({error})", "mend it"
        ) from None
    if not isinstance(value, dict):
        raise ChapterError(
            where, number + 1, "+++ is followed by JSON that is not an object", 'write {"id": "…"}'
        )


def _line_in(message: str) -> int:
    found = re.search(r"cell \d+ at line (\d+)", message)
    return int(found.group(1)) if found else 1


def read_notebook(text: str, where: str) -> NotebookNode:
    """Read a text with jupytext.

    Raises:
        ChapterError: It cannot.
    """
    try:
        notebook: NotebookNode = myst_to_notebook(text.replace("\r\n", "\n"))
    except Exception as error:  # YAML's errors, and jupytext's own, which are plain Exceptions
        message = " ".join(str(error).split())
        raise ChapterError(where, _line_in(message), message, "mend the header") from None
    return notebook
