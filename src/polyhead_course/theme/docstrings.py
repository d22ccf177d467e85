"""Reads docstrings: paragraphs, lists of names under a heading, code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

_HEADING = re.compile(r"(Args|Attributes|Returns|Yields|Raises|Example|Examples|Note):\s*")
_LISTS = {"Args", "Attributes", "Raises"}
_ITEM = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?:\s+(.*)", re.DOTALL)
_INLINE = re.compile(
    r"``(?P<double>[^`]+)``|`(?P<code>[^`]+)`|(?P<url>https?://[^\s)>\]]*[^\s)>\].,;:])"
    r"|(?<![\w*])\*(?P<emphasis>\w(?:[^*\n]*\w)?)\*(?![\w*])"
)


class Block(NamedTuple):
    """A part of a docstring.

    Attributes:
        kind: "text", "code", "points" (a list), "heading" or "names" (names and what they mean).
        text: What it says, of a text, code or heading.
        items: Its items; of "names" pairs, of "points" pairs with an empty name.
    """

    kind: str
    text: str = ""
    items: tuple[tuple[str, str], ...] = ()


class Inline(NamedTuple):
    """A part of a line: "text", "code", "url" or "emphasis"."""

    kind: str
    text: str


def blocks(doc: str, fields: Collection[str] = ()) -> Iterator[Block]:
    """Give the parts of a docstring in their order; lines about fields are a list of attributes."""
    heading = ""
    for paragraph in re.split(r"\n[ \t]*\n", inspect.cleandoc(doc)):
        lines = paragraph.strip("\n").split("\n")
        if found := _HEADING.fullmatch(lines[0]):
            heading = found[1]
            yield Block("heading", heading)
            lines = lines[1:]
        elif not lines[0].startswith(" "):
            heading = ""
        if any(line.strip() for line in lines):
            yield from _body(lines, heading, fields)


def _body(lines: list[str], heading: str, fields: Collection[str]) -> Iterator[Block]:
    inner = inspect.cleandoc("\n".join(["", *lines])).split("\n")
    if heading in _LISTS:
        # What is indented goes on with the item before it.
        items = [_ITEM.match(each) for each in _joined(inner)]
        if all(items):
            yield Block("names", items=tuple((each[1], each[2]) for each in items if each))
            return
    elif lines[0].startswith((" ", ">>>")) and not heading:
        yield Block("code", "\n".join(inner))
        return
    elif inner[0].startswith(("- ", "* ")):
        items_of = re.split(r"\n(?=[-*] )", "\n".join(inner))
        yield Block("points", items=tuple(("", _line(each[2:])) for each in items_of))
        return
    about = [_ITEM.fullmatch(each) for each in inner]
    if len(inner) > 1 and all(each and set(each[1].split(", ")) <= set(fields) for each in about):
        yield Block("heading", "Attributes")
        yield Block("names", items=tuple((each[1], each[2]) for each in about if each))
        return
    yield Block("text", _line("\n".join(inner)))


def _joined(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line)
    return items


def _line(text: str) -> str:
    return " ".join(text.split())


def inlines(text: str) -> Iterator[Inline]:
    """Split a text at its code, its addresses and what it emphasises."""
    end = 0
    for found in _INLINE.finditer(text):
        if found.start() > end:
            yield Inline("text", text[end : found.start()])
        kind = found.lastgroup or "text"
        yield Inline("code" if kind == "double" else kind, found[kind])
        end = found.end()
    if end < len(text):
        yield Inline("text", text[end:])
