"""Makes the markup of a page light, and its tables, cells and Chinese words plain to screen readers."""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any
from unicodedata import east_asian_width

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyglot_book.contents import EXERCISE_CLASS
from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import current_language, translate

# Tokens that have the colour of the text around them: names, operators, punctuation, spaces.
_PLAIN = re.compile(r'<span class="(?:n[bcdefn]?|fm|bp|o|p|w)">([^<]*)</span>')
# The other ones have one of four colours: words of the language, texts, numbers, comments.
_TOKEN = re.compile(r'<span class="(?:(k)[cdn]|(s)[adei12]|(m)[fhi]|(c)[hm1])">')
_RUN = re.compile(r'<span class="([ksmc])">[^<]*</span>(?:<span class="\1">[^<]*</span>)+')
_EMPTY = "<span></span>"
# The picture in each box that opens; the icons of the page have the same.
_CHEVRON = re.compile(r'(<span class="sd-summary-state-marker[^>]*>)<svg .*?</svg></span>')
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
# An empty header cell, or one with a formula alone, which axe reports as empty.
_EMPTY_HEADER = re.compile(
    r'<th class="([^"]*)">(\s*(?:<p>(?:<math (?:(?!</math>).)*</math>)?</p>)?\s*)</th>', re.DOTALL
)
# Readers look things up in a table with so many rows, and link to single ones.
_MIN_LINKED_ROWS = 10
# Widths in columns of text: up to the first, a column does not wrap; above the second, it gets more room.
_SHORT, _LONG = 12, 60
_CHINESE = re.compile(r"([\u3400-\u9fff]+(?:[ ·、，]+[\u3400-\u9fff]+)*)")


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """Iterate over the elements around a node, the innermost first."""
    while node.parent is not None:
        node = node.parent
        yield node


class NameRows(SphinxPostTransform):
    """Make the first cell of each row its header: Markdown has no syntax for that."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the header column of tables with several columns, and columns with short or long text."""
        self._row_counts: Counter[str] = Counter()
        for group in self.document.findall(nodes.tgroup):
            first, *others = group.findall(nodes.colspec)
            if others:
                first["stub"] = 1
            rows = [
                row.children for part in group.children for row in part.children if isinstance(row, nodes.row)
            ]
            if len(rows) >= _MIN_LINKED_ROWS:
                self._add_row_ids(group)
            # With cells that span several columns, the width of a single column is unknown.
            for column in zip(*rows, strict=True) if len({*map(len, rows)}) == 1 else ():
                longest = max(width_of(cell.astext()) for cell in column)
                if kind := "short" if longest <= _SHORT else "long" if longest > _LONG else "":
                    for cell in column:
                        cell["classes"].append(f"polyglot-{kind}")

    def _add_row_ids(self, group: nodes.tgroup) -> None:
        """Number the rows of a table after the id of the section around it, the same in every language."""
        owner = next((each["ids"][0] for each in ancestors(group) if each.get("ids")), "table")
        for body in group.findall(nodes.tbody):
            for row in body.findall(nodes.row):
                self._row_counts[owner] += 1
                row["ids"].append(f"{owner}-row-{self._row_counts[owner]}")


def width_of(text: str) -> int:
    """Return the width of a text in columns; a Chinese or Korean character is two wide."""
    return sum(1 + (east_asian_width(each) in "WF") for each in text)


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


def simplify(body: str) -> str:
    """Remove markup without effect, and label the parts of cells and tables."""
    body = _PLAIN.sub(r"\1", body).replace(_EMPTY, "").replace('<span class="ow">', '<span class="k">')
    body = _TOKEN.sub(r'<span class="\1\2\3\4">', body)
    body = _RUN.sub(lambda run: run[0].replace(f'</span><span class="{run[1]}">', ""), body)
    body = _CHEVRON.sub(r'\1<i class="fa-solid fa-angle-right"></i></span>', body)
    body = _FORMULA.sub(_keep_together, body)
    body = _PARTICLE.sub("\\1\N{WORD JOINER}", body)
    if (language := current_language()) and language.code.startswith("zh"):
        body = _APOSTROPHE.sub("'", body)
    body = _PROSE.sub(r"\1 polyglot-prose\2", body)
    body = _EMPTY_HEADER.sub(r'<td class="\1">\2</td>', body)
    for kind, scope in (("head", "col"), ("stub", "row")):
        body = body.replace(f'<th class="{kind}', f'<th scope="{scope}" class="{kind}')
    link = f'<a class="headerlink" href="#\\2" title="{escape(translate("Link to this heading"))}">#</a>'
    body = _EXERCISE.sub(rf"\1{link}", body)
    for kind, name in (("cell_input", "Code"), ("cell_output", "Output")):
        start = rf'<div class="{kind}((?: [\w-]+)*?) docutils container">'
        body = re.sub(start, rf'<div class="{kind}\1" role="group" aria-label="{translate(name)}">', body)
    return body


def _keep_together(match: re.Match[str]) -> str:
    before, formula, after = match.groups()
    return f'<span class="polyglot-together">{match[0]}</span>' if before or after else formula
