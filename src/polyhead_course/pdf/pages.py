"""Reads a page of the built site as a part of a book: ids and links of the book, solutions apart."""

import re
from collections.abc import Collection, Sequence
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from polyglot_book.contents import EXERCISE_CLASS, EXERCISE_PREFIX
from polyglot_book.ipynb import SOLUTION_PREFIX
from polyhead_course.theme.formulas import linear
from polyhead_course.theme.markup import width_of

# Removed: elements that are useless on paper.
_DROPPED = (
    ".headerlink, script, noscript, button, .toctree-wrapper, .d-print-none, .polyglot-live-body, "
    "details.hide > summary, .sd-summary-state-marker"
)
_ANSWERS = ".question.admonition + details, [id$=--quiz-answers]"
_LOCAL = re.compile(r"(?<=url\(#)[^)]+(?=\))")
_PRE = re.compile(r"<pre[^>]*>(.*?)\n?</pre>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
# Lines of so few columns need not wrap on any page; listings of so few lines stay in one piece.
_NARROW = 60
_SHORT = 12


class Heading(NamedTuple):
    """A heading that the contents list.

    Attributes:
        anchor: Its id in the book.
        html: Its content.
    """

    anchor: str
    html: str

    @property
    def text(self) -> str:
        """Its content as plain text."""
        body = _first(LexborHTMLParser(self.html).root, "body")
        for formula in body.css("math"):
            formula.replace_with(linear(formula))
        return " ".join(body.text().split())


class Solution(NamedTuple):
    """The solution of an exercise.

    Attributes:
        anchor: Its id in the book.
        title: Its title, as HTML.
        exercise: The title of the exercise.
        html: The solution itself.
    """

    anchor: str
    title: str
    exercise: Heading
    html: str


class Part(NamedTuple):
    """A page as a part of a book.

    Attributes:
        anchor: Its id in the book.
        headings: Its heading, then those of its sections.
        html: Its text, without the solutions; `<!--page ANCHOR-->` is in place of each page number.
        solutions: The solutions of its exercises.
    """

    anchor: str
    headings: list[Heading]
    html: str
    solutions: Sequence[Solution] = ()


def anchor_of(stem: str, place: str = "") -> str:
    """Return the id in the book of a page, or of an id on it."""
    return f"page-{stem}--{place}" if place else f"page-{stem}"


def read_part(path: Path, stems: Collection[str], pointer: str) -> Part:
    """Read a built page.

    Args:
        path: The page.
        stems: The stems of all pages of the book: links to them lead inside the book.
        pointer: The text of a reference to a page, with `%s` for its number ("page %s").
    """
    page = LexborHTMLParser(path.read_text(encoding="utf-8"))
    article = _first(page.root, "article")
    for node in article.css(_DROPPED):
        node.decompose()
    for node in article.css("details.hide"):
        node.unwrap()
    for node in article.css("details"):
        node.attrs["open"] = ""
    canonical = page.css_first("link[rel=canonical]")
    _make_unique(article, path, stems, canonical.attrs.sget("href") if canonical else "")
    sections = [(node.parent, node) for node in article.css("section > :is(h1, h2)")]
    headings = [Heading(section.id or "", _inside(node)) for section, node in sections if section]
    # Answers to the questions stand at the end of the chapter.
    for answers in article.css(_ANSWERS):
        _first(article, "section").insert_child(answers)  # a copy
        answers.decompose()
    solutions = _solutions_of(article, anchor_of(path.stem, SOLUTION_PREFIX), pointer)
    return Part(anchor_of(path.stem), headings, with_lines(_inside(article)), solutions)


def with_lines(html: str) -> str:
    """Put lines of code that may wrap into elements; mark short listings.

    In a listing that may break between pages either all lines are elements or none.
    """

    def listing(found: re.Match[str]) -> str:
        # Pygments lets no element of a listing reach over the end of a line.
        lines = found[1].split("\n")
        wide = [width_of(unescape(_TAG.sub("", each))) > _NARROW for each in lines]
        short = len(lines) <= _SHORT
        marked = wide if short else [any(wide)] * len(lines)
        written = (
            f'<span class="polyglot-line">{line}\n</span>' if mark else f"{line}\n"
            for line, mark in zip(lines, marked, strict=True)
        )
        kind = ' class="polyglot-short"' if short else ""
        return f"<pre{kind}>{''.join(written)}</pre>"

    return _PRE.sub(listing, html)


def _make_unique(article: LexborNode, path: Path, stems: Collection[str], address: str) -> None:
    """Make the ids of a page unique in the book, and adapt its links."""
    stem = path.stem
    for node in article.css("*"):
        for name, value in node.attributes.items():
            if not value:
                continue
            if name == "id":
                node.attrs[name] = anchor_of(stem, value)
            elif name in {"href", "xlink:href"}:
                target = _target(value, path, stems, address)
                if target:
                    node.attrs[name] = target
                else:
                    del node.attrs[name]
            elif name in {"aria-labelledby", "aria-describedby"}:
                node.attrs[name] = " ".join(anchor_of(stem, each) for each in value.split())
            elif "url(#" in value:
                node.attrs[name] = _LOCAL.sub(lambda found: anchor_of(stem, found[0]), value)


def _target(href: str, path: Path, stems: Collection[str], address: str) -> str:
    """Return the target of a link in the book; "" for another page of a site without an address."""
    parts = urlsplit(href)
    if parts.scheme or parts.netloc:
        return href
    if not parts.path:
        return f"#{anchor_of(path.stem, parts.fragment)}"
    target = Path(parts.path)
    if target.parent == Path() and target.suffix == ".html" and target.stem in stems:
        return f"#{anchor_of(target.stem, parts.fragment)}"
    return urljoin(address, href) if address else ""


def _hints_before(solution: str, article: LexborNode) -> str:
    """Remove the hints of a solution's exercise from a page and return them, as HTML."""
    anchor, html = solution.replace(f"--{SOLUTION_PREFIX}", "--hints-", 1), ""
    while hint := article.css_first(f"#{anchor} + details"):
        html += hint.html or ""
        hint.decompose()
    return html


def _solutions_of(article: LexborNode, prefix: str, pointer: str) -> list[Solution]:
    """Remove the solutions, with the hints, from a page and return them; add a reference to each exercise.

    An element whose id begins with that of the last solution, such as its code, is part of it.
    """
    solutions: list[Solution] = []
    for anchor in [node.id or "" for node in article.css(f'[id^="{prefix}"]')]:
        node = article.css_first(f"#{anchor}")
        if node is None:  # it was part of a solution
            continue
        block = article.css_first(f"span#{anchor} + *") or node  # an empty target precedes what it marks
        name_of_exercise = anchor.replace(f"--{SOLUTION_PREFIX}", f"--{EXERCISE_PREFIX}", 1)
        exercise = article.css_first(f".{EXERCISE_CLASS}#{name_of_exercise}")
        if exercise is not None:
            name = title = _first(exercise, ".admonition-title")
            content = block
            if block.tag == "details":
                name, content = _first(block, ".sd-summary-text"), _first(block, ".sd-summary-content")
            point = f'<a href="#{anchor}">{_inside(name)}</a> · {pointer % f"<!--page {anchor}-->"}'
            paragraph = LexborHTMLParser(f'<p class="polyglot-pointer">{point}</p>')
            exercise.insert_child(_first(paragraph.root, "p"))
            back = Heading(exercise.id or "", _inside(title))
            html = _hints_before(anchor, article) + (content.html or "")
            solutions.append(Solution(anchor, _inside(name), back, with_lines(html)))
        elif solutions and anchor.startswith(solutions[-1].anchor):
            html = solutions[-1].html + with_lines(block.html or "")
            solutions[-1] = solutions[-1]._replace(html=html)
        else:
            continue
        block.decompose()
        if block is not node:
            node.decompose()
    return solutions


def _first(node: LexborNode | None, selector: str) -> LexborNode:
    """Return the first match of a selector."""
    found = node.css_first(selector) if node else None
    if found is None:
        raise ValueError(f"a page of the site has no {selector}")
    return found


def _inside(node: LexborNode) -> str:
    return node.inner_html or ""
