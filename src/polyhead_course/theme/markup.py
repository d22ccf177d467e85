"""Removes needless markup from the body of a page, and labels its parts for screen readers."""

from __future__ import annotations

import re
from html import escape

from polyglot_book.exercises import EXERCISE_CLASS
from polyhead_course.theme.tables import name_cells
from sphinx_polyglot.strings import current_language, translate

# Tokens that have the colour of the text around them: names, punctuation, spaces.
_PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
_EMPTY = "<span></span>"
# Verdicts of checks and errors are prose, whose lines wrap; those of a table must not.
_PROSE = re.compile(
    r'(<div class="output [^"]*)("><div class="highlight"><pre>'
    r'(?:(?:[^<]*\n)?[✓✗]|<span class="ansi|[^<\n]*Error))'
)
# The title of an exercise, which has a link of its own.
_EXERCISE = re.compile(
    rf'(<div class="{EXERCISE_CLASS} admonition" id="([\w-]+)">\n<p class="admonition-title">.*?)(?=</p>)'
)
# No line ends between a formula and the punctuation around it.
_FORMULA = re.compile(
    r"([(\[（「『《〈“‘]?)"
    r'(<math (?![^>]*display="block").*?</math>)'
    r"([.,:;!?)\]’”。，、；：？！）」』》〉]*[가-힣]*)",
    re.DOTALL,
)
# No line ends before a Korean particle that follows a closing mark.
_PARTICLE = re.compile(r"([)’”]|</code>)(?=[가-힣])")
# Chinese fonts draw the curly apostrophe as wide as a character.
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])’(?=[A-Za-z])")


def simplify(body: str) -> str:
    """Remove markup without effect, and label the parts of cells and tables."""
    body = _PLAIN.sub(r"\1", body).replace(_EMPTY, "")
    body = _FORMULA.sub(_keep_together, body)
    body = _PARTICLE.sub("\\1\N{WORD JOINER}", body)
    if (language := current_language()) and language.code.startswith("zh"):
        body = _APOSTROPHE.sub("'", body)
    body = name_cells(_PROSE.sub(r"\1 polyglot-prose\2", body))
    link = f'<a class="headerlink" href="#\\2" title="{escape(translate("Link to this heading"))}">#</a>'
    body = _EXERCISE.sub(rf"\1{link}", body)
    for kind, name in (("cell_input", "Code"), ("cell_output", "Output")):
        start = f'<div class="{kind} docutils container">'
        body = body.replace(start, f'<div class="{kind}" role="group" aria-label="{translate(name)}">')
    return body


def _keep_together(match: re.Match[str]) -> str:
    before, formula, after = match.groups()
    return f'<span class="polyglot-together">{match[0]}</span>' if before or after else formula
