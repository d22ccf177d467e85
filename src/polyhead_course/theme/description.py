"""Describes a page in a sentence or two: of its front matter, or of what it says first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from selectolax.lexbor import LexborHTMLParser

from polyhead_course.theme.mathml import TexError, to_mathml
from sphinx_polyglot.search import linear

# What search engines and messengers show.
LONGEST = 155
# TeX that a reader takes in between words; a longer formula says nothing there.
_SHORT_FORMULA = 12
_FORMULAS = (nodes.math, nodes.math_block)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?=\S)")
_CHARACTER = "\u3400-\u9fff"
# Behind a Chinese sign stands no space, nor between two Chinese characters.
_NO_SPACE = re.compile(rf"[\u3000-\u303f\uff00-\uffef].|[{_CHARACTER}][{_CHARACTER}]")
_END = tuple(".!?。！？")


def description_of(doctree: nodes.document, metadata: Mapping[str, Any]) -> str:
    """Give the `description` of a page's front matter, else the first paragraph that says something.

    A paragraph that introduces a list says it together with the list.
    """
    if metadata.get("description"):
        return str(metadata["description"])
    for paragraph in _paragraphs(doctree):
        introduced = _list_after(paragraph)
        lead = text_of(paragraph)
        if introduced is not None:
            found = _with_items(lead, [text_of(each) for each in introduced if not _has_long_formula(each)])
        else:
            found = _whole_sentences(lead) if lead.endswith(_END) else ""
        if found and not _has_long_formula(paragraph):
            return found
    return ""


def outcomes_of(doctree: nodes.document) -> list[str]:
    """Give what a reader will be able to do: the list that a page's first paragraph introduces."""
    first = next(_paragraphs(doctree), None)
    introduced = _list_after(first) if first is not None else None
    return [text_of(each).rstrip(" .,;。，；、") for each in introduced or []]


def text_of(node: nodes.Node) -> str:
    """Give the text of a node on one line, formulas as they are typed: `√d_k`."""
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
    except TexError:  # the page's writer says so
        return tex
    return linear(formula) if formula is not None else tex


def _paragraphs(doctree: nodes.document) -> Iterator[nodes.paragraph]:
    for each in doctree.findall(nodes.paragraph):
        if isinstance(each.parent, nodes.section | nodes.document) and each.astext().strip():
            yield each


def _list_after(paragraph: nodes.paragraph) -> nodes.bullet_list | None:
    following = paragraph.next_node(descend=False, siblings=True)
    return following if isinstance(following, nodes.bullet_list) else None


def _has_long_formula(node: nodes.Node) -> bool:
    return any(len(each.astext()) > _SHORT_FORMULA for kind in _FORMULAS for each in node.findall(kind))


def _whole_sentences(text: str) -> str:
    """Give as many sentences as there is room for; of one that is too long, its beginning."""
    kept = ""
    for sentence in _SENTENCES.split(text):
        longer = joined(kept, sentence)
        if len(longer) > LONGEST:
            break
        kept = longer
    if kept:
        return kept
    cut = text[: LONGEST - 1]
    # Chinese has no spaces to cut at; a text that has them is not cut inside a word.
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > LONGEST // 2 else cut).rstrip(" ,;，；、") + "…"


def _with_items(lead: str, items: list[str]) -> str:
    """Give a paragraph with as many items of its list as there is room for, as one sentence."""
    kept = ""
    for item in items:
        bare = item.rstrip(" .,;。，；、")
        end = "。" if re.fullmatch(f"[{_CHARACTER}]", bare[-1:]) else "."
        longer = joined(kept or lead, bare) + end
        if len(longer) > LONGEST:
            break
        separator = item[len(bare) :].strip(" .。") or ("；" if end == "。" else ",")
        kept, shown = longer[:-1] + separator, longer
    return shown if kept else ""


def joined(first: str, second: str) -> str:
    """Put a text behind another."""
    space = "" if not first or _NO_SPACE.fullmatch(first[-1] + second[:1]) else " "
    return f"{first}{space}{second}"
