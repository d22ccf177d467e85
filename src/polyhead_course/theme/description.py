"""Describes a page in one or two sentences, from its front matter or its first paragraph."""

import re
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from math_core import LatexError
from selectolax.lexbor import LexborHTMLParser

from polyhead_course.theme.formulas import linear
from polyhead_course.theme.mathml import to_mathml

_FORMULAS = (nodes.math, nodes.math_block)
# As many characters as search engines and messengers show.
LONGEST = 155
# Characters of TeX that can be read between words; a paragraph with a longer formula is no description.
_SHORT_FORMULA = 12
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?=\S)")
_END = tuple(".!?。！？")


def description_of(doctree: nodes.document, metadata: Mapping[str, Any]) -> str:
    """Return the `description` of a page's front matter, else the first paragraph that can be one.

    It ends a sentence, and can be read: it has no long formula.
    """
    if metadata.get("description"):
        return str(metadata["description"])
    for each in doctree.findall(nodes.paragraph):
        if isinstance(each.parent, nodes.section | nodes.document) and not _has_long_formula(each):
            text = text_of(each)
            if text.endswith(_END):
                return _sentences(text)
    return ""


def _has_long_formula(node: nodes.Node) -> bool:
    return any(len(each.astext()) > _SHORT_FORMULA for kind in _FORMULAS for each in node.findall(kind))


def _sentences(text: str) -> str:
    """Return as many sentences as there is room for, or the beginning of the first one."""
    ends = [*(between.start() for between in _SENTENCES.finditer(text)), len(text)]
    if fitting := [end for end in ends if end <= LONGEST]:
        return text[: fitting[-1]]
    cut = text[: LONGEST - 1]
    # A text with spaces is not cut inside a word; Chinese has none.
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > LONGEST // 2 else cut).rstrip(" ,;，；、") + "…"


def text_of(node: nodes.Node) -> str:
    """Return the text of a node on one line, formulas as they are typed: `√d_k`."""
    parts = []
    for each in node.findall():
        if isinstance(each, _FORMULAS):
            parts.append(_typed(each.astext()))
        elif isinstance(each, nodes.Text) and not isinstance(each.parent, _FORMULAS):
            parts.append(each.astext())
    return " ".join("".join(parts).split())


def _typed(tex: str) -> str:
    try:
        formula = LexborHTMLParser(to_mathml(tex, display=False)).css_first("math")
    except LatexError:  # the page's writer warns of it
        return tex
    return linear(formula) if formula is not None else tex
