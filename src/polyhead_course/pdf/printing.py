"""Joins the pages of one language in one document, and prints it until its page numbers no longer change."""

import io
import json
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from jinja2 import Environment, PackageLoader
from pikepdf import Name, ObjectStreamMode, OutlineItem, Pdf
from playwright.sync_api import Browser, Route
from pypdf import PdfReader
from selectolax.lexbor import LexborHTMLParser

from polyglot_book.config import Book, ConfigError, Language
from polyglot_book.ipynb import write_atomically
from polyhead_course.pdf.pages import Heading, Part, read_part
from polyhead_course.workshop.browser import PrintError, chromium
from sphinx_polyglot.strings import translations

_PAGE = re.compile(r"<!--page (.+?)-->")
_NODE = re.compile(rb"node(\d{8})")
_PASSES = 4
_ORIGIN = "http://book.invalid/"  # no such host: `print_document` answers every request
_SOLUTIONS = "solutions"
_STYLE = "_static/site.css"
_TEMPLATES = Environment(loader=PackageLoader(__package__, ""), trim_blocks=True, lstrip_blocks=True)


class Document(NamedTuple):
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
    folder = f"{book.folder}/{language.code}/"
    home = site / folder / "index.html"
    if not home.is_file() or not (site / _STYLE).is_file():
        raise ConfigError(f"{site}: no built site with pages in {language.code}; `make site` builds it")
    page = LexborHTMLParser(home.read_text(encoding="utf-8"))
    stems = [home.stem, *_stems(page)]
    pointer = words.get("page %s", "page %s")
    parts = [read_part(home.with_name(f"{stem}.html"), stems, pointer) for stem in stems]
    if solutions := _solutions(parts, words.get("Solutions", "Solutions"), pointer):
        parts.append(solutions)
    address = page.css_first(".polyglot-printed [translate=no]")
    html = _TEMPLATES.get_template("book.html").render(
        language=language,
        style=_STYLE,
        parts=parts,
        # The titles at the top of the pages, as strings of CSS.
        titles=[json.dumps(part.headings[0].text, ensure_ascii=False) for part in parts],
        # The version and the licences, from the footer of the site's pages.
        rights=[node.html for node in page.css(".polyglot-rights > li:not(.d-print-none)")],
        address=address.text(strip=True) if address is not None else "",
        contents=words.get("Contents", "Contents"),
    )
    return Document(language, folder, parts, html)


def _stems(home: LexborHTMLParser) -> list[str]:
    """Return the stems of the pages in the sidebar of a language's first page, in order."""
    links = home.css(".bd-docs-nav a.internal")
    hrefs = [link.attributes.get("href") or "" for link in links]
    return [Path(href).stem for href in dict.fromkeys(hrefs) if href.endswith(".html") and "/" not in href]


def _solutions(parts: list[Part], title: str, pointer: str) -> Part | None:
    """Return the part with the solutions, or None if there are none."""
    solved = [part for part in parts if part.solutions]
    headings = [Heading(f"{_SOLUTIONS}-{part.anchor}", part.headings[0].html) for part in solved]
    chapters = list(zip(headings, (part.solutions for part in solved), strict=True))
    html = _TEMPLATES.get_template("solutions.html").render(title=title, chapters=chapters, pointer=pointer)
    return Part(_SOLUTIONS, [Heading(_SOLUTIONS, escape(title)), *headings], html) if chapters else None


def print_book(book: Book, site: Path, folder: Path, codes: Iterable[str]) -> Iterator[Path]:
    """Write the PDF of each language.

    Args:
        book: The book.
        site: The built site.
        folder: The folder of the files `<title>-<code>.pdf`.
        codes: The languages.

    Yields:
        Each file, when it is written.
    """
    documents = [bind(book, book.languages[code], site) for code in codes]
    with chromium("--font-render-hinting=none") as browser:
        for document in documents:
            start = time.monotonic()
            target = folder / f"{book.reference.slug}-{document.language.code}.pdf"
            pages = print_document(browser, document, site, target)
            size, seconds = target.stat().st_size / 1e6, time.monotonic() - start
            print(f"{target}: {pages} pages, {size:.1f} MB, {seconds:.0f} s", flush=True)
            yield target


def print_document(browser: Browser, document: Document, site: Path, target: Path) -> int:
    """Print a document, with its style and images from the site; return its number of pages."""
    numbers: dict[str, int] = {}

    def answer(route: Route) -> None:
        file = site / unquote(urlsplit(route.request.url).path).lstrip("/")
        if route.request.is_navigation_request():
            filled = _PAGE.sub(lambda found: str(numbers.get(found[1], 100)), document.html)
            route.fulfill(body=filled, content_type="text/html; charset=utf-8")
        elif route.request.url.startswith(_ORIGIN) and file.is_file():
            route.fulfill(path=file)
        else:
            route.abort()

    page = browser.new_page(java_script_enabled=False, color_scheme="light")
    page.route("**/*", answer)
    for attempt in range(_PASSES):
        page.goto(f"{_ORIGIN}{document.folder}")
        # A tagged PDF takes longer; the first pass only counts pages.
        data = page.pdf(prefer_css_page_size=True, print_background=True, tagged=attempt > 0)
        data = _NODE.sub(partial(_renumbered, min(map(int, _NODE.findall(data)), default=0)), data)
        if attempt == 0:
            _check_fonts(data, document.language)
        with Pdf.open(io.BytesIO(data)) as pdf:
            before, numbers = numbers, _numbers(pdf)
            if numbers == before:
                page.close()
                _add_bookmarks(pdf, document.parts)
                for date in {"/CreationDate", "/ModDate"} & {*pdf.docinfo.keys()}:
                    del pdf.docinfo[date]  # the same site, the same bytes
                # Chromium leaves the structure, an object for each element, uncompressed: half of the file.
                buffer = io.BytesIO()
                pdf.save(buffer, object_stream_mode=ObjectStreamMode.generate, deterministic_id=True)
                write_atomically(target, buffer.getvalue())
                return len(pdf.pages)
    raise PrintError(f"{target}: the numbers of the pages do not settle")


def _renumbered(first: int, found: re.Match[bytes]) -> bytes:
    """Count elements from the first one of the document: the browser counts from its own start."""
    return b"node%08d" % (int(found[1]) - first)


def _numbers(pdf: Pdf) -> dict[str, int]:
    """Return the page number of each link target."""
    pages: dict[Any, int] = {page.objgen: number for number, page in enumerate(pdf.pages, 1)}
    return {name.removeprefix("/"): pages[target[0].objgen] for name, target in pdf.Root.Dests.items()}


def _add_bookmarks(pdf: Pdf, parts: Sequence[Part]) -> None:
    """Add bookmarks and show them; those of Chromium repeat some headings."""
    with pdf.open_outline() as outline:
        for part in parts:
            first, *sections = (OutlineItem(each.text, Name(f"/{each.anchor}")) for each in part.headings)
            first.children.extend(sections)
            outline.root.append(first)
    pdf.Root.PageMode = Name.UseOutlines


def _check_fonts(data: bytes, language: Language) -> None:
    """Raise an error if the cover's text is not in the PDF: a character without a font is not."""
    texts = language.name + language.tagline, PdfReader(io.BytesIO(data)).pages[0].extract_text()
    expected, got = (unicodedata.normalize("NFKC", text) for text in texts)
    if missing := sorted({each for each in expected if each.isalpha()} - set(got)):
        letters = "".join(missing)
        raise PrintError(f"no font has {letters} ({language.name}); Debian: apt-get install fonts-noto-cjk")
