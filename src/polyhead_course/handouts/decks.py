"""Makes slides of a page of the built site: one for each figure, formula or new term, with its sentence.

A section gives a slide for each of its figures, with the first sentence after the figure, which reads it. A
section without figures gives one for its first formula on a line of its own, else for the first sentence
with a term in bold, which explains it.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader
from selectolax.lexbor import LexborHTMLParser, LexborNode

from polyglot_book.config import Language
from polyglot_book.contents import EXERCISE_CLASS

# What no slide shows: controls, what is folded, code.
_DROPPED = (
    ".headerlink, .toctree-wrapper, .polyglot-live-body, .cell_input, button, details, script, noscript"
)
_FIGURE, _FORMULA = "svg.polyglot-figure", "math[display=block]"
# Tags, code and formulas, in which no sentence ends; an abbreviation or a number ends none either.
_OPAQUE = re.compile(r"<math.*?</math>|<code.*?</code>|<[^>]*>", re.DOTALL)
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bal)[.!?][)”’]?(?=\s|$)|[。！？][」』”）]?")
_TEMPLATES = Environment(loader=PackageLoader(__package__, ""), trim_blocks=True, lstrip_blocks=True)


class Slide(NamedTuple):
    """One slide.

    Attributes:
        heading: The heading of its section, as HTML.
        sentence: What it says, as HTML.
        picture: A figure or a formula, as HTML; "" without.
    """

    heading: str
    sentence: str = ""
    picture: str = ""


def slides_of(html: str) -> list[Slide]:
    """Return the slides of a page: its title with its first paragraph, its sections, and its exercises.

    >>> page = '''<article><section><h1>Heads</h1><p>Why two? We ask.</p>
    ... <section><h2>Size</h2><p>A <strong>head</strong> is small. It has 5 features.</p></section>
    ... </section></article>'''
    >>> [(slide.heading, slide.sentence) for slide in slides_of(page)]
    [('Heads', 'Why two? We ask.'), ('Size', 'A <strong>head</strong> is small.')]
    """
    article = LexborHTMLParser(html).css_first("article")
    if article is None:
        raise ValueError("the page has no article: it is no page of the built site")
    for node in article.css(_DROPPED):
        node.decompose()
    exercises = [node.inner_html or "" for node in article.css(f".{EXERCISE_CLASS} > .admonition-title")]
    slides = list[Slide]()
    for heading in article.css("section > :is(h1, h2, h3)"):
        siblings, title = heading.parent.iter() if heading.parent else (), heading.inner_html or ""
        blocks = [node for node in siblings if node.tag not in ("section", "h1", "h2", "h3")]
        slides += _of_section(blocks, title, is_first=heading.tag == "h1")
        if exercises and any(EXERCISE_CLASS in (node.attributes.get("class") or "") for node in blocks):
            items = "".join(f"<li>{each}</li>" for each in exercises)
            slides.append(Slide(title, picture=f"<ol>{items}</ol>"))
            exercises = []
    return slides


def _of_section(blocks: list[LexborNode], heading: str, is_first: bool) -> Iterator[Slide]:
    paragraphs = [node for node in blocks if node.tag == "p"]
    if is_first and paragraphs:
        yield Slide(heading, paragraphs[0].inner_html or "")
    pictures = [(n, each) for n, block in enumerate(blocks) for each in block.css(_FIGURE)]
    for number, figure in pictures:
        after = [node for node in blocks[number + 1 :] if node.tag == "p"]
        sentences = _sentences(after[0]) if after else _sentences(*paragraphs)[-1:]
        yield Slide(heading, "".join(sentences[:1]), figure.html or "")
    if pictures or is_first:
        return
    for number, block in enumerate(blocks):
        if formula := block.css_first(_FORMULA):
            before = _sentences(*(node for node in blocks[:number] if node.tag == "p"))
            yield Slide(heading, "".join(before[-1:]), formula.html or "")
            return
    terms = (each for each in _sentences(*paragraphs) if "<strong>" in each)
    yield from (Slide(heading, each) for each in list(terms)[:1])


def _sentences(*paragraphs: LexborNode) -> list[str]:
    return [each for node in paragraphs for each in sentences_of(node.inner_html or "")]


def sentences_of(html: str) -> list[str]:
    """Return the sentences of a paragraph.

    >>> sentences_of("See <code>a. b</code>, 2.5 times. Then stop.")
    ['See <code>a. b</code>, 2.5 times.', 'Then stop.']
    >>> sentences_of("先算分數。再取 <em>softmax</em>：")
    ['先算分數。', '再取 <em>softmax</em>：']
    """
    masked = _OPAQUE.sub(lambda found: "x" * len(found[0]), html)
    ends = [0, *(found.end() for found in _END.finditer(masked)), len(html)]
    sentences = (html[start:end].strip() for start, end in pairwise(ends))
    return [each for each in sentences if each]


def deck_of(page: Path, language: Language, style: str, address: str) -> str:
    """Return the slides of a built page as one HTML file, which needs no other.

    Args:
        page: The page.
        language: Its language.
        style: The site's style sheet.
        address: Where the chapter is on the published site, "" if nowhere.
    """
    slides = slides_of(page.read_text(encoding="utf-8"))
    template = _TEMPLATES.get_template("deck.html")
    return template.render(language=language, slides=slides, style=style, address=address)
