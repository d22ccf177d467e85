"""Turns MyST Markdown into Markdown that every reader of notebooks shows, without an extension."""

from __future__ import annotations

import re
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin

_PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)
_FENCE = re.compile(r"^ {0,3}(?::::|```|~~~)", re.MULTILINE)
_DIRECTIVE = re.compile(r"\{(\w+)\} *(.*)")
_OPTION = re.compile(r":[\w-]+:")


def plain(text: str) -> str:
    """Write admonitions as quotations with a bold title, and dropdowns as `<details>`.

    Other directives stay as they are.
    """
    if not _FENCE.search(text):
        return text
    lines = text.split("\n")
    for token in reversed(_PARSER.parse(text)):
        if token.type in {"colon_fence", "fence"} and token.level == 0 and token.map:
            start, end = token.map
            if written := _directive(token):
                # A line that follows at once would belong to what was written.
                follows = end < len(lines) and lines[end].strip()
                lines[start:end] = [*written, ""] if follows else written
    return "\n".join(lines)


def _directive(token: Token) -> list[str] | None:
    """Write a directive plainly; None where there is no plain form of it."""
    found = _DIRECTIVE.fullmatch(token.info.strip())
    if found is None or found[1] not in {"admonition", "dropdown"}:
        return None
    lines = token.content.rstrip("\n").split("\n")
    options = list(takewhile(_OPTION.match, lines))
    body = plain("\n".join(lines[len(options) :]).strip("\n")).split("\n")
    if found[1] == "dropdown":
        # Between HTML, Markdown begins and ends at an empty line.
        summary = f"<summary>{_PARSER.renderInline(found[2])}</summary>"
        return ["<details>", summary, "", *body, "", "</details>"]
    return [f"> {line}".rstrip() for line in (f"**{found[2]}**", "", *body)]
