"""Writes a search index for each language, and one for the pages that all languages share.

Pagefind writes the indexes. It gets each section as a page, so that a result is a section. It splits text at
spaces, and Chinese in another way than the browser does: it would not find `注意力` in `多頭注意力`. So
Chinese is indexed as pairs of characters, `注意 意力 力`. A theme's search dialog must split a query in the
same way, and join the pairs in the results.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from tempfile import TemporaryDirectory

from pagefind.service import get_executable
from selectolax.lexbor import LexborHTMLParser, LexborNode
from sphinx.application import Sphinx
from sphinx.util import logging

from polyhead_course.theme.formulas import linear
from sphinx_polyglot.pages import Pages

LOGGER = logging.getLogger(__name__)

_NO_LANGUAGE = "none"
_HEADINGS = "h1, h2, h3, h4, h5, h6"
# Printed numbers and tables are not indexed; verdicts of checks, errors and listings are.
_NOT_INDEXED = (
    ".headerlink, script, style, button, .polyglot-live-body, "
    ".output:not(.polyglot-prose), .cell_output table"
)
# What asks is no answer: questions without code, and hints.
_ASKING = ", ".join(["#quiz", *("[id^=hints-]" + " + details" * step for step in range(1, 5))])
_CHINESE = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")
# The files of Pagefind that a browser loads; the program, which reads all indexes, comes with the first one.
_INDEX = {"pagefind-entry.json", "*.pf_meta", "index", "fragment"}
_PROGRAM = {"pagefind.js", "pagefind-worker.js", "wasm.en.pagefind"}
# Words in Latin letters are English in every language; no other language has endings that are cut off.
_OPTIONS = ["--glob=**/*.html*", "--keep-index-url", "--force-language=en", "--include-characters=_√"]
# An index depends on these, too.
_CODE = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("search.py", "formulas.py"))
_CODE += version("pagefind").encode()


@dataclass(frozen=True)
class Section:
    """A section of a page, without the sections in it.

    Attributes:
        anchor: Its id; empty for the part of a page above its first section.
        heading: Its heading.
        text: Its text.
    """

    anchor: str
    heading: str
    text: str


@contextmanager
def indexing(app: Sphinx) -> Iterator[None]:
    """Run Pagefind for each language with a changed page during a `with` statement.

    All pages must have been written.
    """
    pages, target = Pages.from_config(app.config), Path(app.outdir, "pagefind")
    uris: dict[str, list[str]] = {}
    for docname in sorted(app.env.found_docs):
        # Shared pages are found from every language.
        language = pages.language_of(docname) if docname not in pages.shared else None
        code = language.code if language else _NO_LANGUAGE
        uris.setdefault(code, []).append(app.builder.get_target_uri(docname))
    for code in {each.name for each in target.glob("*")} - uris.keys():
        shutil.rmtree(target / code)
    with ExitStack() as indexes:
        for code, pages_of_code in uris.items():
            patterns = _INDEX | _PROGRAM if code == _NO_LANGUAGE else _INDEX
            indexes.enter_context(_indexing(Path(app.outdir), pages_of_code, target / code, patterns))
        yield


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
        yield Section(anchor, title, _text(element))
        element.decompose()


def words(text: str) -> str:
    """Insert spaces where the index splits a text: `多頭softmax` becomes `多頭 頭 softmax`."""
    text = _CHINESE.sub(lambda run: f" {_pairs(run[0])} ", text)
    text = re.sub(r"(?<=[가-힣])\(", " (", text)
    return re.sub("[√\u3000-\u303f\uff00-\uffef]", r" \g<0> ", text)


def _pairs(run: str) -> str:
    return " ".join(run[start : start + 2] for start in range(len(run)))


def _text(element: LexborNode) -> str:
    return " ".join(element.text().replace("\N{WORD JOINER}", "").split())


def _write_sections(page: Path, target: Path) -> None:
    """Write each section of a page into a file, whose name is its address on the site."""
    parts = list(sections(page.read_text(encoding="utf-8")))
    target.parent.mkdir(parents=True, exist_ok=True)
    for each in parts:
        title = parts[-1].heading
        kind, name = "page", target.name
        if each.anchor:
            kind, name, title = "section", f"{name}#{each.anchor}", f"{title} › {each.heading}"
        target.with_name(name).write_text(
            f"<html><h1>{escape(words(title))}</h1>"
            f'<i data-pagefind-meta="{kind}">{escape(words(each.heading))}</i>'
            f"<p data-pagefind-body>{escape(words(each.text)) or '·'}</p></html>",
            encoding="utf-8",
        )


@contextmanager
def _indexing(site: Path, uris: Iterable[str], target: Path, patterns: Iterable[str]) -> Iterator[None]:
    """Run Pagefind on pages, unless the index is up to date, and keep the files that match a pattern."""
    digest = hashlib.sha256(_CODE)
    for uri in uris:
        digest.update(f"{uri}\n".encode() + hashlib.sha256((site / uri).read_bytes()).digest())
    stamp = target / "made-from"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        yield
        return
    shutil.rmtree(target, ignore_errors=True)
    with TemporaryDirectory() as folder:
        for uri in uris:
            _write_sections(site / uri, Path(folder, uri))
        command = [get_executable() or "pagefind", "--site", folder, "--output-path", target, *_OPTIONS]
        with Popen(command, stdout=PIPE, stderr=STDOUT, text=True, encoding="utf-8") as process:
            yield
            output, _ = process.communicate()
    if process.returncode:
        LOGGER.warning("no search: %s", output, type="polyglot", subtype="search")
        return
    for path in set(target.iterdir()) - {path for pattern in patterns for path in target.glob(pattern)}:
        path.unlink()
    stamp.write_text(digest.hexdigest())
