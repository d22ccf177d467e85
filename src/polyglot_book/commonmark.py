"""Rewrites MyST Markdown as CommonMark with HTML, which every program for notebooks shows."""

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


def to_commonmark(text: str) -> str:
    r"""Rewrite admonitions as quotations with a bold title, and dropdowns as `<details>`.

    Other directives stay as they are.

    >>> print(to_commonmark(":::{admonition} Why?\n:class: exercise\nSay it.\n:::"))
    > **Why?**
    >
    > Say it.
    """
    if not _FENCE.search(text):
        return text
    lines = text.split("\n")
    for token in reversed(_PARSER.parse(text)):
        if token.type in {"colon_fence", "fence"} and token.level == 0 and token.map:
            start, end = token.map
            if replacement := _directive(token):
                # Without an empty line, the next line would belong to the quotation.
                follows = end < len(lines) and lines[end].strip()
                lines[start:end] = [*replacement, ""] if follows else replacement
    return "\n".join(lines)


def _directive(token: Token) -> list[str] | None:
    """Return a directive as CommonMark, None where it has no such form."""
    directive = _DIRECTIVE.fullmatch(token.info.strip())
    if directive is None or directive[1] not in {"admonition", "dropdown"}:
        return None
    lines = token.content.rstrip("\n").split("\n")
    options = list(takewhile(_OPTION.match, lines))
    body = to_commonmark("\n".join(lines[len(options) :]).strip("\n")).split("\n")
    if directive[1] == "dropdown":
        # Between HTML, Markdown begins and ends at an empty line.
        summary = f"<summary>{_PARSER.renderInline(directive[2])}</summary>"
        return ["<details>", summary, "", *body, "", "</details>"]
    return [f"> {line}".rstrip() for line in (f"**{directive[2]}**", "", *body)]
