"""Checks the pages of a built site: language, links, ids, alternative text, and nothing from other hosts."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Comment, Doctype, Tag

# What is the same in every language: code, formulas, figures, and names of languages.
NOT_PROSE = "script, style, noscript, pre, code, kbd, samp, math, svg, [translate=no]"
_SPOKEN_ATTRIBUTES = ("title", "aria-label", "alt", "placeholder", "data-bs-title")
# The English name of a term that is emphasized or a link, so that the two are not one text.
_GLOSS = re.compile(r"[（(][\w\s.,，;；–-]+([）)].?|[;；])")
_WORD = re.compile(r"[A-Za-z]{2}")
_OWN_SCRIPT = re.compile(r"[\u3005-\u3007\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")
_LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src", "audio": "src"}
_LOADING_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "manifest"}


@functools.lru_cache(maxsize=64)
def parse(html: str) -> BeautifulSoup:
    """Parse a page as browsers do."""
    return BeautifulSoup(html, "html5lib")


def english_left(page: BeautifulSoup, allowed: Collection[str] = (), ignore: str = "") -> list[str]:
    """Find what a page in Chinese or Korean says in Latin letters only.

    Args:
        page: The page; one in a language of Latin letters gives nothing.
        allowed: Texts that may stay: names, file endings.
        ignore: CSS selector of what may be in English, such as a list of sources.

    Returns:
        The texts, in the order of the page.
    """
    root = page.html
    if root is None or not re.match("(zh|ko|ja)(-|$)", str(root.get("lang", ""))):
        return []
    latin = [text for text in _spoken(root, ignore) if _WORD.search(text) and not _OWN_SCRIPT.search(text)]
    found = [text for text in latin if not _GLOSS.fullmatch(text)]
    return [text for text in dict.fromkeys(found) if not {text, text.strip(" .,;。，；")} & set(allowed)]


def _spoken(root: Tag, ignore: str) -> Iterator[str]:
    """Give what a page says in its own language: attributes first, then text."""
    # What stands in another language says so, on purpose.
    foreign = [each for each in root.select("[lang]") if each["lang"] != root.get("lang")]
    elsewhere = {id(each) for element in foreign for each in (element, *element.find_all(True))}
    for element in root.find_all(True):
        for name in _SPOKEN_ATTRIBUTES:
            text = " ".join(str(element.get(name, "")).split())
            if text and id(element) not in elsewhere:
                yield text
    skipped = elsewhere | {
        id(each) for each in root.select(f"{NOT_PROSE}, {ignore}" if ignore else NOT_PROSE)
    }
    for string in root.find_all(string=True):
        if isinstance(string, Comment | Doctype) or any(id(each) in skipped for each in string.parents):
            continue
        if text := " ".join(string.split()):
            yield text


def duplicate_ids(page: BeautifulSoup) -> list[str]:
    """Find ids that stand more than once on a page."""
    counts = Counter(str(each["id"]) for each in page.select("[id]"))
    return [name for name, count in counts.items() if count > 1]


def without_alternative(page: BeautifulSoup) -> list[str]:
    """Find pictures that say nothing to those who do not see them; outside the text, empty is right."""
    images = [str(each.get("src")) for each in page.select("img") if each.get("alt") is None]
    images += [
        str(each.get("src")) for each in page.select("article img") if not str(each.get("alt", "x")).strip()
    ]
    figures = page.select("svg.polyglot-figure")
    return images + [str(each.get("id")) for each in figures if not str(each.get("aria-label", "")).strip()]


def loaded_from_elsewhere(page: BeautifulSoup) -> list[str]:
    """Find what a page loads from another host: links that a reader may follow are not meant."""
    urls = [str(each[name]) for tag, name in _LOADED.items() for each in page.select(f"{tag}[{name}]")]
    for link in page.select("link[href]"):
        if _LOADING_LINKS & set(link.get("rel") or []):
            urls.append(str(link["href"]))
    for style in page.select("style, [style]"):
        text = style.get_text() if style.name == "style" else str(style["style"])
        urls += re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")\s;]+)", text)
    # A script of the page's own may name a host that it would load from.
    for script in page.select("script:not([src]):not([type='application/json'])"):
        urls += re.findall(r"https?://[^\s\"'<>]+", script.get_text())
    return [url for url in urls if urlsplit(url).netloc]


def broken_links(site: Path) -> list[str]:
    """Find links inside a site that lead to no file, or to no place in their page."""
    pages = {path: parse(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    pages = {path: page for path, page in pages.items() if "_static" not in path.relative_to(site).parts}
    ids = {path: {str(each["id"]) for each in page.select("[id]")} for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        for link in page.select("a[href]"):
            href = str(link["href"])
            parts = urlsplit(href)
            if parts.scheme or parts.netloc or href == "#":
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
