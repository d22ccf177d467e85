"""Sets the `lang` of Chinese words on pages in other languages."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from sphinx_polyglot.languages import Pages

_CHINESE = re.compile(r"([\u3400-\u9fff]+(?:[ ·、，]+[\u3400-\u9fff]+)*)")


class MarkChineseWords(SphinxPostTransform):
    """Mark Chinese words with the book's first Chinese language, unless the author has marked them."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the words of this page."""
        pages = Pages.from_config(self.config)
        chinese = next((code for code in pages.languages if code.startswith("zh")), None)
        language = pages.language_of(self.env.docname) or pages.reference
        if chinese is None or language.code.startswith(("zh", "ja")):
            return
        for text in list(self.document.findall(nodes.Text)):
            if not _CHINESE.search(text) or not _is_prose(text):
                continue
            text.parent.replace(text, [_mark(part, chinese) for part in _CHINESE.split(text) if part])


def _mark(part: str, chinese: str) -> nodes.Node:
    # Docutils writes such a class as the attribute `lang`.
    classes = [f"language-{chinese}"]
    return nodes.inline("", part, classes=classes) if _CHINESE.match(part) else nodes.Text(part)


def _is_prose(text: nodes.Text) -> bool:
    """Return whether a text is neither code nor marked by the author with `<span lang=…>`."""
    if isinstance(text.parent, nodes.FixedTextElement | nodes.literal | nodes.raw | nodes.math):
        return False
    before = text.parent[: text.parent.index(text)][-1:]
    return not any(isinstance(each, nodes.raw) and " lang=" in each.astext() for each in before)
