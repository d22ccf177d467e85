"""Reads the trees of nodes that docutils makes of pages."""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from math_core import LatexError
from selectolax.lexbor import LexborHTMLParser

from polyhead_course.theme.mathml import to_mathml
from sphinx_polyglot.formulas import linear

FORMULAS = (nodes.math, nodes.math_block)


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """Iterate over the elements around a node, the innermost first."""
    while node.parent is not None:
        node = node.parent
        yield node


def text_of(node: nodes.Node) -> str:
    """Return the text of a node on one line, formulas as they are typed: `√d_k`."""
    parts = []
    for each in node.findall():
        if isinstance(each, FORMULAS):
            parts.append(_typed(each.astext()))
        elif isinstance(each, nodes.Text) and not isinstance(each.parent, FORMULAS):
            parts.append(each.astext())
    return " ".join("".join(parts).split())


def _typed(tex: str) -> str:
    try:
        formula = LexborHTMLParser(to_mathml(tex, display=False)).css_first("math")
    except LatexError:  # the page's writer warns of it
        return tex
    return linear(formula) if formula is not None else tex
