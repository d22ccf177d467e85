"""Says of Chinese words on a page in another language that they are Chinese, and keeps names on one line."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from sphinx_polyglot.languages import Pages

# `top-p` and `GPT-2` are names: no line ends at their hyphen.
_NAME = re.compile(r"(?<![A-Za-z0-9_./-])([A-Za-z0-9]{1,4}-[A-Za-z0-9]{1,4})(?![A-Za-z0-9_/-])")
_CHINESE = re.compile(r"([\u3400-\u9fff]+(?:[ ·、，]+[\u3400-\u9fff]+)*)")


class MarkChineseWords(SphinxPostTransform):
    """Mark them with the first Chinese language of the book; what the author has marked stays as it is."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the words of this page."""
        pages = Pages.from_config(self.config)
        chinese = next((code for code in pages.languages if code.startswith("zh")), None)
        own = pages.language_of(self.env.docname) or pages.reference
        if chinese is None or own.code.startswith(("zh", "ja")):
            return
        for text in list(self.document.findall(nodes.Text)):
            if not _CHINESE.search(text) or not _is_prose(text):
                continue
            text.parent.replace(text, [_marked(part, chinese) for part in _CHINESE.split(text) if part])


class KeepNames(SphinxPostTransform):
    """Keep short names with a hyphen on one line, without a sign that would be copied with them."""

    default_priority = 510
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark them."""
        for text in list(self.document.findall(nodes.Text)):
            if _NAME.search(text) and _is_prose(text):
                text.parent.replace(text, [_together(part) for part in _NAME.split(text) if part])


def _together(part: str) -> nodes.Node:
    return (
        nodes.inline("", part, classes=["polyglot-together"]) if _NAME.fullmatch(part) else nodes.Text(part)
    )


def _marked(part: str, chinese: str) -> nodes.Node:
    # Docutils writes such a class as the attribute `lang`.
    classes = [f"language-{chinese}"]
    return nodes.inline("", part, classes=classes) if _CHINESE.match(part) else nodes.Text(part)


def _is_prose(text: nodes.Text) -> bool:
    """Whether a text is neither code nor in a language that the author has named: `<span lang=…>`."""
    if isinstance(text.parent, nodes.FixedTextElement | nodes.literal | nodes.raw | nodes.math):
        return False
    before = text.parent[: text.parent.index(text)][-1:]
    return not any(isinstance(each, nodes.raw) and " lang=" in each.astext() for each in before)
