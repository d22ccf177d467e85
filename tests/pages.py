"""Checks the pages of a built site: language, links, ids, alternative text, and nothing from other hosts."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser as Page
from selectolax.lexbor import LexborNode

# What is the same in every language: code, formulas, figures, and names of languages.
NOT_PROSE = "script, style, noscript, pre, code, kbd, samp, math, svg, [translate=no], .polyglot-together"
_SPOKEN_ATTRIBUTES = ("title", "aria-label", "alt", "placeholder", "data-bs-title")
_SPEAKING = f":is({', '.join(f'[{name}]' for name in _SPOKEN_ATTRIBUTES)})"
# The English name of a term that is emphasized or a link, so that the two are not one text.
_GLOSS = re.compile(r"[（(][\w\s.,，;；–-]+([）)].?|[;；])")
_WORD = re.compile(r"[A-Za-z]{2}")
_OWN_SCRIPT = re.compile(r"[\u3005-\u3007\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")
_LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src", "audio": "src"}
_LOADING_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "manifest"}


@functools.lru_cache(maxsize=64)
def parse(html: str) -> Page:
    """Parse a page as browsers do."""
    page = Page(html)
    assert page.css_first("template") is None, "no check looks into a <template>"
    return page


def value(element: LexborNode, name: str) -> str:
    """Give an attribute of an element; empty where it has none."""
    return element.attributes.get(name) or ""


def english_left(page: Page, allowed: Collection[str] = (), ignore: str = "") -> list[str]:
    """Find what a page in Chinese or Korean says in Latin letters only.

    Args:
        page: The page; one in a language of Latin letters gives nothing.
        allowed: Texts that may stay: names, file endings.
        ignore: CSS selector of what may be in English, such as a list of sources.

    Returns:
        The texts, in the order of the page.
    """
    if not re.match("(zh|ko|ja)(-|$)", value(page.root, "lang")):
        return []
    said = [" ".join(text.split()) for text in _spoken(page.root, ignore)]
    latin = [text for text in said if _WORD.search(text) and not _OWN_SCRIPT.search(text)]
    found = [text for text in latin if not _GLOSS.fullmatch(text)]
    return [text for text in dict.fromkeys(found) if not {text, text.strip(" .,;。，；")} & set(allowed)]


def _spoken(root: LexborNode, ignore: str) -> Iterator[str]:
    """Give what a page says in its own language: attributes first, then text."""
    # What stands in another language says so, on purpose.
    foreign = [each for each in root.css("[lang]") if value(each, "lang") != value(root, "lang")]
    elsewhere = _inside(foreign)
    for element in root.css(_SPEAKING):
        if element.mem_id not in elsewhere:
            yield from (value(element, name) for name in _SPOKEN_ATTRIBUTES)
    skipped = elsewhere | _inside(root.css(f"{NOT_PROSE}, {ignore}" if ignore else NOT_PROSE))
    for node in root.traverse(include_text=True):
        if node.is_text_node and node.mem_id not in skipped:
            yield node.text_content or ""


def _inside(elements: list[LexborNode]) -> set[int]:
    """Give the identities of elements and of all that they hold."""
    return {node.mem_id for each in elements for node in each.traverse(include_text=True)}


def duplicate_ids(page: Page) -> list[str]:
    """Find ids that stand more than once on a page."""
    counts = Counter(value(each, "id") for each in page.css("[id]"))
    return [name for name, count in counts.items() if count > 1]


def without_alternative(page: Page) -> list[str]:
    """Find pictures that say nothing to those who do not see them; outside the text, empty is right."""
    images = page.css("img:not([alt])")
    images += [each for each in page.css("article img[alt]") if not value(each, "alt").strip()]
    figures = [each for each in page.css("svg.polyglot-figure") if not value(each, "aria-label").strip()]
    return [str(each.attributes.get("src")) for each in images] + [
        str(each.attributes.get("id")) for each in figures
    ]


def loaded_from_elsewhere(page: Page) -> list[str]:
    """Find what a page loads from another host: links that a reader may follow are not meant."""
    urls = [value(each, name) for tag, name in _LOADED.items() for each in page.css(f"{tag}[{name}]")]
    for link in page.css("link[href]"):
        if _LOADING_LINKS & set(value(link, "rel").split()):
            urls.append(value(link, "href"))
    for style in page.css(":is(style, [style])"):
        text = style.text() if style.tag == "style" else value(style, "style")
        urls += re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")\s;]+)", text)
    # A script of the page's own may name a host that it would load from.
    for script in page.css("script:not([src]):not([type$='json'])"):
        urls += re.findall(r"https?://[^\s\"'<>]+", script.text())
    return [url for url in urls if urlsplit(url).netloc]


def broken_links(site: Path) -> list[str]:
    """Find links inside a site that lead to no file, or to no place in their page."""
    pages = {path: parse(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    pages = {path: page for path, page in pages.items() if "_static" not in path.relative_to(site).parts}
    ids = {path: {value(each, "id") for each in page.css("[id]")} for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        for link in page.css("a[href]"):
            href = value(link, "href")
            parts = urlsplit(href)
            # The page for a wrong address may stand anywhere: its links begin at the host.
            if parts.scheme or parts.netloc or href == "#" or (path == site / "404.html" and href[0] == "/"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            missing_place = parts.fragment and target in ids and unquote(parts.fragment) not in ids[target]
            if not target.exists() or missing_place:
                broken.append(f"{path.relative_to(site)}: {href}")
    return broken


def check_site(site: Path, allowed: Collection[str] = (), ignore: str = "") -> list[str]:
    """Check every page of a built site.

    Args:
        site: The folder of the built pages.
        allowed: Texts in Latin letters that any page may have.
        ignore: CSS selector of what may be in English on any page.

    Returns:
        Every violation: page, what is wrong, where.
    """
    site = site.resolve()
    violations = [f"{each}: this link leads nowhere" for each in broken_links(site)]
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        text = path.read_text(encoding="utf-8")
        # A redirect is no page.
        if "_static" in name.parts or 'http-equiv="Refresh"' in text:
            continue
        page = parse(text)
        violations += [f"{name}: English is left: {each!r}" for each in english_left(page, allowed, ignore)]
        violations += [f"{name}: the id {each!r} stands twice" for each in duplicate_ids(page)]
        violations += [f"{name}: no alternative text: {each}" for each in without_alternative(page)]
        violations += [f"{name}: loads from another host: {each}" for each in loaded_from_elsewhere(page)]
    return violations
