"""The course itself, for the tests of its text and pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from polyglot_book.chapters import Chapter, read_all
from polyglot_book.config import Book
from tests.browser import serve

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def book() -> Book:
    return Book.load(ROOT)


@pytest.fixture(scope="session")
def chapters(book: Book) -> dict[tuple[str, str], Chapter]:
    """All chapters by language and name."""
    return read_all(book)[0]


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    html = ROOT / "_build" / "html"
    if not (html / "book" / "index.html").exists():
        pytest.fail("the site is not built: run `make site` first")
    return html


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the built site is served."""
    with serve(site) as base:
        yield base
