"""Writes the formulas of a page as MathML."""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from math_core import LatexError
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from polyhead_course.theme.mathml import to_mathml

LOGGER = logging.getLogger(__name__)

_RANDOM = re.compile("equation-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

RENDERER = "polyglot_mathml"


def _render(node: nodes.math | nodes.math_block, *, display: bool) -> str:
    try:
        return to_mathml(node.astext(), display=display)
    except LatexError as error:
        LOGGER.warning("formula %r: %s", node.astext(), error, location=node, type="polyglot", subtype="math")
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula inside a line."""
    writer.body.append(_render(node, display=False))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, in a box that scrolls where the page is too narrow."""
    # MyST gives an environment of amsmath an id that changes at every build.
    node["ids"] = [each for each in node["ids"] if not _RANDOM.fullmatch(each)]
    writer.body.append(writer.starttag(node, "div", CLASS="polyglot-math"))
    writer.body.append(_render(node, display=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode
