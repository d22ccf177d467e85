"""Writes the formulas of a page as MathML when the site is built, so that pages need no script for them."""

import re
from functools import cache
from html import escape

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)

RENDERER = "polyglot_mathml"
_CONVERTER = LatexToMathML(fancy_error=False)
# Environments that number equations: the numbers would begin anew in each formula.
_NUMBERED = re.compile(r"(\\(?:begin|end))\{(align|alignat|equation|gather|multline)\}")
# An apostrophe in words, or a prime in a formula.
_PRIME = re.compile(r"(\\(?:text\w*|mbox)\{[^{}]*\})|'")
_RANDOM = re.compile("equation-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@cache  # the same formulas occur in every language, and often on a page
def to_mathml(tex: str, *, display: bool) -> str:
    r"""Convert a formula to a `<math>` element, whose accessible name is the TeX.

    Args:
        tex: The formula, without dollar signs.
        display: Whether it is on a line of its own.

    Raises:
        LatexError: The TeX is wrong.

    >>> to_mathml("a < b", display=False)
    '<math alttext="a &lt; b"><mi>a</mi><mo>&lt;</mo><mi>b</mi></math>'
    """
    name = escape(" ".join(tex.split()))
    # A superscript of most fonts has too small a prime; the sign itself is raised.
    tex = _PRIME.sub(lambda match: match[1] or r"{\prime}", tex)
    # A product that goes on in the text, `$2 \cdot$ heads`, keeps the space behind its sign.
    if tex.endswith((r"\cdot", r"\times")):
        tex += "{}"
    if display and r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    tex = _NUMBERED.sub(r"\1{\2*}", tex.replace("{split}", "{aligned}"))
    mathml = _CONVERTER.convert_with_local_state(tex, displaystyle=display)
    return mathml.replace("<math", f'<math alttext="{name}"', 1)


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
