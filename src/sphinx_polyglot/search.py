"""Writes the search index: one for each language, and one for the pages of none, which is loaded first.

Pagefind makes it; each section is a page to it, so that a result is the section that a reader looks for.
It splits text at spaces, and its own way of splitting Chinese is not the browser's: `注意力` would not be
found in `多頭注意力`. So Chinese is indexed as pairs of characters, `注意 意力 力`, which `static/search.js`
makes of a query too, and puts together again in what it shows.
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

from sphinx_polyglot.languages import Pages

LOGGER = logging.getLogger(__name__)

_NO_LANGUAGE = "none"
_HEADINGS = "h1, h2, h3, h4, h5, h6"
# Numbers printed by code are not what readers look for; what checks and errors say is, and listings are.
_NOT_INDEXED = ".headerlink, script, style, button, .output:not(.polyglot-prose), .cell_output table"
# What stands before the first, the second and the third part of a formula that is one word.
_SIGNS = {"msqrt": ["√"], "msub": ["", "_"], "msup": ["", "^"], "msubsup": ["", "_", "^"], "mover": ["", ""]}
_CHINESE = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")
# Of what Pagefind writes, what is loaded; the first index brings the program that reads all of them.
_INDEX = {"pagefind-entry.json", "*.pf_meta", "index", "fragment"}
_PROGRAM = {"pagefind.js", "pagefind-worker.js", "wasm.en.pagefind"}
# English is what stands in Latin letters in every language: it alone has endings to be cut off.
_OPTIONS = ["--glob=**/*.html*", "--keep-index-url", "--force-language=en", "--include-characters=_√"]
# What an index is made from, beside the pages.
_TOOLS = Path(__file__).read_bytes() + version("pagefind").encode()


@dataclass(frozen=True)
class Section:
    """A section of a page, without the sections in it.

    Attributes:
        anchor: Its id; empty for what stands above a page's first section.
        heading: Its heading.
        text: What it says.
    """

    anchor: str
    heading: str
    text: str


@contextmanager
def indexing(app: Sphinx) -> Iterator[None]:
    """Index every language of which a page has changed, as a whole: others do it, and it waits for them.

    All pages must be there.
    """
    pages, target = Pages.from_config(app.config), Path(app.outdir, "pagefind")
    found: dict[str, list[str]] = {}
    for docname in sorted(app.env.found_docs):
        # What is there for all readers is found from every language.
        language = pages.language_of(docname) if docname not in pages.shared else None
        code = language.code if language else _NO_LANGUAGE
        found.setdefault(code, []).append(app.builder.get_target_uri(docname))
    for gone in {each.name for each in target.glob("*")} - found.keys():
        shutil.rmtree(target / gone)
    with ExitStack() as indexes:
        for code, uris in found.items():
            wanted = _INDEX | _PROGRAM if code == _NO_LANGUAGE else _INDEX
            indexes.enter_context(_indexing(Path(app.outdir), uris, target / code, wanted))
        yield


def sections(html: str) -> Iterator[Section]:
    """Give the sections of a page, the last one first."""
    article = LexborHTMLParser(html).css_first("article")
    if article is None:
        return
    for element in article.css(_NOT_INDEXED):
        element.decompose()
    for formula in article.css("math"):
        formula.replace_with(linear(formula))
    for picture in article.css("svg[aria-label], img[alt]"):
        picture.replace_with(f" {picture.attributes.get('aria-label') or picture.attributes.get('alt')} ")
    found = article.css("section[id]")
    # From the last one: a section has then lost those in it.
    for element in reversed(found):
        heading = element.css_first(_HEADINGS)
        title = _text(heading) if heading else ""
        if heading:
            heading.decompose()
        anchor = "" if element.mem_id == found[0].mem_id else element.attributes["id"] or ""
        yield Section(anchor, title, _text(element))
        element.decompose()


def linear(formula: LexborNode) -> str:
    """Write MathML as a reader types it: `Q K^⊤ / √d_k`."""
    parts = [linear(each) if each.is_element_node else each.text_content or "" for each in formula.iter(True)]
    if formula.tag == "mfrac":
        return " / ".join(parts)
    if signs := _SIGNS.get(formula.tag or ""):
        return "".join(sign + part.replace(" ", "") for sign, part in zip(signs, parts, strict=False))
    return " ".join(parts)


def words(text: str) -> str:
    """Put spaces where the index shall split a text: `多頭softmax` becomes `多頭 頭 softmax`."""
    text = _CHINESE.sub(lambda run: f" {_pairs(run[0])} ", text)
    text = re.sub(r"(?<=[가-힣])\(", " (", text)
    return re.sub("[√\u3000-\u303f\uff00-\uffef]", r" \g<0> ", text)


def _pairs(run: str) -> str:
    return " ".join(run[start : start + 2] for start in range(len(run)))


def _text(element: LexborNode) -> str:
    return " ".join(element.text().replace("\N{WORD JOINER}", "").split())


def _write_sections(page: Path, target: Path) -> None:
    """Write each section of a page into a file whose name is its address on the site."""
    found = list(sections(page.read_text(encoding="utf-8")))
    target.parent.mkdir(parents=True, exist_ok=True)
    for each in found:
        whole = found[-1].heading
        kind, name, title = "page", target.name, whole
        if each.anchor:
            kind, name, title = "section", f"{target.name}#{each.anchor}", f"{whole} › {each.heading}"
        target.with_name(name).write_text(
            f"<html><h1>{escape(words(title))}</h1>"
            f'<i data-pagefind-meta="{kind}">{escape(words(each.heading))}</i>'
            f"<p data-pagefind-body>{escape(words(each.text)) or '·'}</p></html>",
            encoding="utf-8",
        )


@contextmanager
def _indexing(site: Path, uris: Iterable[str], target: Path, wanted: Iterable[str]) -> Iterator[None]:
    """Have Pagefind index pages, unless the index that is there was made from the same."""
    made_from = hashlib.sha256(_TOOLS)
    for uri in uris:
        made_from.update(f"{uri}\n".encode() + hashlib.sha256((site / uri).read_bytes()).digest())
    stamp = target / "made-from"
    if stamp.is_file() and stamp.read_text() == made_from.hexdigest():
        yield
        return
    shutil.rmtree(target, ignore_errors=True)
    with TemporaryDirectory() as folder:
        for uri in uris:
            _write_sections(site / uri, Path(folder, uri))
        command = [get_executable() or "pagefind", "--site", folder, "--output-path", target, *_OPTIONS]
        with Popen(command, stdout=PIPE, stderr=STDOUT, text=True, encoding="utf-8") as process:
            yield
            said, _ = process.communicate()
    if process.returncode:
        LOGGER.warning("no search: %s", said, type="polyglot", subtype="search")
        return
    for path in set(target.iterdir()) - {path for pattern in wanted for path in target.glob(pattern)}:
        path.unlink()
    stamp.write_text(made_from.hexdigest())
