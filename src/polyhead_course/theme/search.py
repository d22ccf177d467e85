"""Writes a search index for each language, and one for the pages that all languages share.

An index is the text of the sections, and what is known of readers' words: which mean the same, and which say
nothing. `static/ranking.js` splits texts and queries in one way, and finds the sections that answer.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import yaml
from selectolax.lexbor import LexborHTMLParser, LexborNode
from sphinx.application import Sphinx

from polyhead_course.theme.formulas import linear
from sphinx_polyglot.pages import Pages

_NO_LANGUAGE = "none"
_HEADINGS = "h1, h2, h3, h4, h5, h6"
# Printed numbers and tables are not indexed; verdicts of checks, errors and listings are.
_NOT_INDEXED = (
    ".headerlink, script, style, button, .polyglot-live-body, details.hide > summary, "
    ".output:not(.polyglot-prose), .cell_output table"
)
# What asks is no answer: questions without code, and hints.
_ASKING = ", ".join(["#quiz", *("[id^=hints-]" + " + details" * step for step in range(1, 5))])
# No space stands between Chinese characters or signs, whatever tags or lines stand there in the page.
_BETWEEN_CHINESE = re.compile(
    "(?<=[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]) (?=[\u3000-\u303f\u3400-\u9fff\uff00-\uffef])"
)
_HERE = Path(__file__).parent
_TERMS, _SEARCH, _ASKED = _HERE.with_name("words") / "terms.yml", _HERE / "search.yml", _HERE / "asked"


@dataclass(frozen=True)
class Section:
    """A section of a page, without the sections in it.

    Attributes:
        anchor: Its id; empty for the part of a page above its first section.
        heading: Its heading.
        text: Its text; code stands at its end, in a line of its own.
        links: If it is a question, where it leads: its words are words of the sections that answer it.
    """

    anchor: str
    heading: str
    text: str
    links: tuple[str, ...] = ()


def write_indexes(app: Sphinx) -> None:
    """Write the index of each language that is older than what it is made from; all pages must be written."""
    site, pages = Path(app.outdir), Pages.from_config(app.config)
    uris: dict[str, list[str]] = {}
    for docname in sorted(app.env.found_docs):
        # Shared pages are found from every language.
        language = pages.language_of(docname) if docname not in pages.shared else None
        code = language.code if language else _NO_LANGUAGE
        uris.setdefault(code, []).append(app.builder.get_target_uri(docname))
    folder = site / "search"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.json"):
        if old.stem not in uris:
            old.unlink()
    made_by = [*_HERE.glob("*.py"), *_ASKED.iterdir(), _TERMS, _SEARCH]
    for code, of_code in uris.items():
        target, made_from = folder / f"{code}.json", [*made_by, *(site / each for each in of_code)]
        if not target.exists() or target.stat().st_mtime <= max(each.stat().st_mtime for each in made_from):
            _write_index(site, of_code, target)


def sections(html: str) -> Iterator[Section]:
    """Iterate over the sections of a page, the last one first."""
    article = LexborHTMLParser(html).css_first("article")
    if article is None:
        return
    for selector in (_ASKING, _NOT_INDEXED):
        for element in article.css(selector):
            element.decompose()
    for formula in article.css("math"):
        formula.replace_with(linear(formula))
    for picture in article.css("svg[aria-label], img[alt]"):
        picture.replace_with(f" {picture.attributes.get('aria-label') or picture.attributes.get('alt')} ")
    elements = article.css("section[id]")
    # From the last one on: the sections inside a section are removed before it is read.
    for element in reversed(elements):
        heading = element.css_first(_HEADINGS)
        title = _text(heading) if heading else ""
        if heading:
            heading.decompose()
        anchor = "" if element.mem_id == elements[0].mem_id else element.attributes["id"] or ""
        code = " ".join(_text(each) for each in element.css("pre"))
        for each in element.css("pre"):
            each.decompose()
        links = element.css("a.internal") if title.endswith(("?", "？")) else []
        yield Section(
            anchor,
            title,
            f"{_text(element)}\n{code}".strip(),
            tuple(link.attributes["href"] or "" for link in links),
        )
        element.decompose()


def _text(element: LexborNode) -> str:
    text = " ".join(element.text().replace("\N{WORD JOINER}", "").split())
    return _BETWEEN_CHINESE.sub("", text)


def _write_index(site: Path, uris: Iterable[str], target: Path) -> None:
    pages = []
    for uri in uris:
        parts = list(sections((site / uri).read_text(encoding="utf-8")))[::-1]
        absolute = [(*astuple(each)[:3], [urljoin(uri, link) for link in each.links]) for each in parts]
        pages.append({"uri": uri, "sections": absolute})
    index = {"pages": pages, **(_vocabulary(target.stem) if target.stem != _NO_LANGUAGE else {})}
    target.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _vocabulary(language: str) -> Any:
    """Read what is known of readers' words; the forms of a term are all that `terms.yml` has of it."""
    terms, known = _read(_TERMS), _read(_SEARCH)
    for key, term in terms["terms"].items():
        forms = [form for code, form in term.items() if code not in ("avoid", "gloss", "means")]
        forms += [form for avoided in term.get("avoid", {}).values() for form in avoided]
        known["same"][key] = [*dict.fromkeys([*forms, *known["same"].get(key, [])])]
    for path in _ASKED.glob(f"{language}.yml"):
        known["asked"] = _read(path)
    return known


def _read(path: Path) -> Any:
    return yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
