"""Searches a site as a reader does, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

FIELD = ".polyglot-search-field"
STATUS = ".polyglot-search-status"
DIALOG = ".polyglot-search-dialog"
_ROWS = """() => [...document.querySelectorAll('.polyglot-search-results li')].map((row) => [
  row.querySelector('a').href, row.querySelector('.polyglot-search-title').textContent,
  row.querySelector('.polyglot-search-excerpt').textContent, row.lang,
  [...row.querySelectorAll('mark')].map((mark) => mark.textContent)])"""


_FIND = """async ([code, queries]) => {
  const { find } = await import(new URL("/_static/search.js", location));
  const urls = ({ found }) => found.map(({ section }) => section.url);
  const all = {};
  for (const query of queries) all[query] = urls(await find(query, [code], "en"));
  return all;
}"""


def find(page: Page, code: str, queries: list[str]) -> dict[str, list[str]]:
    """Search without typing: query -> the addresses that are found in a language, the best first."""
    found: dict[str, list[str]] = page.evaluate(_FIND, [code, queries])
    return found


@dataclass
class Found:
    """One result: its address without the host, title, excerpt, language, and what is marked in it."""

    address: str
    title: str
    excerpt: str
    language: str
    marked: list[str]


def search(page: Page, query: str) -> list[Found]:
    """Type a query and give the results, when their number has been said."""
    if not page.locator(f"{DIALOG}[open]").count():
        page.click(".polyglot-search")
    page.locator(FIELD).fill("")
    expect(page.locator(STATUS)).to_have_text("")
    page.locator(FIELD).fill(query)
    expect(page.locator(STATUS)).not_to_have_text("", timeout=20_000)
    rows = page.evaluate(_ROWS)
    return [Found(_local(href), *rest) for href, *rest in rows]


def _local(href: str) -> str:
    parts = urlsplit(href)
    return parts.path + (f"#{parts.fragment}" if parts.fragment else "")
