"""The course itself, for the tests of its text and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot_book.config import Book

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def book() -> Book:
    return Book.load(ROOT)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    html = ROOT / "_build" / "html"
    if not (html / "book" / "index.html").exists():
        pytest.fail("the site is not built: run `make site` first")
    return html
