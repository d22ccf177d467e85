"""Describes a page in one or two sentences, from its front matter or its first paragraph."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
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
_CHARACTER = "\u3400-\u9fff"
# No space follows Chinese punctuation, and none is between two Chinese characters.
_NO_SPACE = re.compile(rf"[\u3000-\u303f\uff00-\uffef].|[{_CHARACTER}][{_CHARACTER}]")
_END = tuple(".!?。！？")


def description_of(doctree: nodes.document, metadata: Mapping[str, Any]) -> str:
    """Return the `description` of a page's front matter, else the first paragraph that can be one.

    A paragraph that introduces a list is joined with the items of the list.
    """
    if metadata.get("description"):
        return str(metadata["description"])
    for paragraph in _paragraphs(doctree):
        if _has_long_formula(paragraph):
            continue
        items = _list_after(paragraph)
        lead, text = text_of(paragraph), ""
        if items is not None:
            text = _with_items(lead, [text_of(each) for each in items if not _has_long_formula(each)])
        elif lead.endswith(_END):
            text = _sentences(lead)
        if text:
            return text
    return ""


def outcomes_of(doctree: nodes.document) -> list[str]:
    """Return what a reader will be able to do: the items of the list after a page's first paragraph."""
    first = next(_paragraphs(doctree), None)
    items = _list_after(first) if first is not None else None
    return [text_of(each).rstrip(" .,;。，；、") for each in items or []]


def _paragraphs(doctree: nodes.document) -> Iterator[nodes.paragraph]:
    for each in doctree.findall(nodes.paragraph):
        if isinstance(each.parent, nodes.section | nodes.document) and each.astext().strip():
            yield each


def _list_after(paragraph: nodes.paragraph) -> nodes.bullet_list | None:
    following = paragraph.next_node(descend=False, siblings=True)
    return following if isinstance(following, nodes.bullet_list) else None


def _has_long_formula(node: nodes.Node) -> bool:
    return any(len(each.astext()) > _SHORT_FORMULA for kind in _FORMULAS for each in node.findall(kind))


def _sentences(text: str) -> str:
    """Return as many sentences as there is room for, or the beginning of the first one."""
    if description := _longest(accumulate(_SENTENCES.split(text), _concatenate)):
        return description
    cut = text[: LONGEST - 1]
    # A text with spaces is not cut inside a word; Chinese has none.
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > LONGEST // 2 else cut).rstrip(" ,;，；、") + "…"


def _with_items(lead: str, items: list[str]) -> str:
    """Return a paragraph with as many items of its list as there is room for, as one sentence."""
    descriptions, beginning = [], lead
    for item in items:
        bare = item.rstrip(" .,;。，；、")
        end = "。" if re.fullmatch(f"[{_CHARACTER}]", bare[-1:]) else "."
        beginning = _concatenate(beginning, bare)
        descriptions.append(beginning + end)
        beginning += item[len(bare) :].strip(" .。") or ("；" if end == "。" else ",")
    return _longest(descriptions)


def _longest(texts: Iterable[str]) -> str:
    """Return the longest text that there is room for, "" if there is none."""
    return max((each for each in texts if len(each) <= LONGEST), key=len, default="")


def _concatenate(first: str, second: str) -> str:
    space = "" if not first or _NO_SPACE.fullmatch(first[-1] + second[:1]) else " "
    return f"{first}{space}{second}"


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
