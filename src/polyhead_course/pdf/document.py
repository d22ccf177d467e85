"""Joins the built pages of one language in one HTML document: cover, contents, parts, solutions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from polyglot_book.config import Book, ConfigError, Language
from polyhead_course.pdf.pages import Heading, Part, read_part
from sphinx_polyglot.strings import translations

_SOLUTIONS = "solutions"
_STYLE = "_static/site.css"


@dataclass(frozen=True)
class Document:
    """The printed book of one language, as HTML.

    Attributes:
        language: The language.
        folder: Its folder on the site, that of its pages, so that relative addresses of images are right.
        parts: Its parts, for the bookmarks.
        html: Its text, with `<!--page ANCHOR-->` in place of each page number.
    """

    language: Language
    folder: str
    parts: list[Part]
    html: str


def bind(book: Book, language: Language, site: Path) -> Document:
    """Return the document of one language."""
    words = translations(language.code)
    home = site / book.folder / language.code / "index.html"
    if not home.is_file() or not (site / _STYLE).is_file():
        raise ConfigError(f"{site}: no built site with pages in {language.code}; `make site` builds it")
    page = LexborHTMLParser(home.read_text(encoding="utf-8"))
    stems = [home.stem, *_stems(page)]
    pointer = words.get("page %s", "page %s")
    parts = [read_part(home.with_name(f"{stem}.html"), stems, pointer) for stem in stems]
    title = words.get("Solutions", "Solutions")
    if solutions := _solutions(parts, title, pointer):
        parts.append(solutions)
    heading = escape(words.get("Contents", "Contents"))
    html = "\n".join(
        (
            f'<!DOCTYPE html>\n<html lang="{language.code}">',
            f'<head>\n<meta charset="utf-8">\n<title>{escape(language.title)}</title>',
            f'<link rel="stylesheet" href="/{_STYLE}">',
            f"<style>{files(__package__).joinpath('print.css').read_text(encoding='utf-8')}",
            f"{_running_titles(parts)}</style>\n</head>\n<body>",
            _cover(language, page),
            f'<nav class="polyglot-contents">\n<h1>{heading}</h1>\n{_contents(parts)}\n</nav>',
            *(
                f'<article class="bd-article polyglot-part" id="{part.anchor}" style="page: part-{number}">'
                f"\n{part.html}\n</article>"
                for number, part in enumerate(parts)
            ),
            "</body>\n</html>\n",
        )
    )
    return Document(language, f"{book.folder}/{language.code}/", parts, html)


def _stems(home: LexborHTMLParser) -> list[str]:
    """Return the stems of the pages in the sidebar of a language's first page, in order."""
    links = home.css(".bd-docs-nav a.internal")
    hrefs = [link.attributes.get("href") or "" for link in links]
    return [Path(href).stem for href in dict.fromkeys(hrefs) if href.endswith(".html") and "/" not in href]


def _cover(language: Language, home: LexborHTMLParser) -> str:
    """Return the first page, with the version and the licences from the footer of the site's pages."""
    rights = [node.html or "" for node in home.css(".polyglot-rights > li:not(.d-print-none)")]
    address = home.css_first(".polyglot-printed [translate=no]")
    if address is not None:
        url = escape(address.text(strip=True))
        rights.append(f'<li><a href="{url}">{url}</a></li>')
    return (
        '<header class="polyglot-cover">\n'
        f'<p class="polyglot-cover-title">{escape(language.title)}</p>\n<p>{escape(language.tagline)}</p>\n'
        f'<p class="polyglot-cover-language">{escape(language.name)}</p>\n'
        f"<ul>{''.join(rights)}</ul>\n</header>"
    )


def _contents(parts: list[Part]) -> str:
    def entry(heading: Heading) -> str:
        return (
            f'<a href="#{heading.anchor}"><span>{heading.html}</span>'
            f"<span><!--page {heading.anchor}--></span></a>"
        )

    chapters = []
    for part in parts:
        first, *sections = (entry(each) for each in part.headings)
        chapters.append(f"<li>{first}<ul>{''.join(f'<li>{each}</li>' for each in sections)}</ul></li>")
    return f"<ul>{''.join(chapters)}</ul>"


def _solutions(parts: list[Part], title: str, pointer: str) -> Part | None:
    """Return the part with the solutions, or None if there are none."""
    headings, texts = [Heading(_SOLUTIONS, escape(title))], [f"<h1>{escape(title)}</h1>"]
    for part in parts:
        if not part.solutions:
            continue
        heading = Heading(f"{_SOLUTIONS}-{part.anchor}", part.headings[0].html)
        headings.append(heading)
        texts.append(f'<h2 id="{heading.anchor}">{heading.html}</h2>')
        for each in part.solutions:
            back = f'<a href="#{each.exercise.anchor}">{each.exercise.html}</a>'
            texts.append(
                f'<h3 id="{each.anchor}">{each.title}</h3>\n<p class="polyglot-pointer">'
                f"{back} · {pointer % f'<!--page {each.exercise.anchor}-->'}</p>\n{each.html}"
            )
    return Part(_SOLUTIONS, headings, "\n".join(texts)) if len(headings) > 1 else None


def _running_titles(parts: list[Part]) -> str:
    """Return the CSS that puts each part's title at the top of its pages."""
    titles = (json.dumps(part.headings[0].text, ensure_ascii=False) for part in parts)
    return "\n".join(
        f"@page part-{number} {{ @top-left {{ content: {title} }} }}" for number, title in enumerate(titles)
    )
