from __future__ import annotations

import pytest

from polyglot_book.checks import check_toc
from tests.polyglot_book.tiny_book import TinyBook

TOC = """\
format: jb-book
root: book/index
chapters:
- file: book/en/01-one
- file: book/zh-TW/01-one.ipynb
  sections:
  - file: book/zh-CN/01-one
- file: book/ko/01-one
"""


@pytest.fixture
def tiny(tiny: TinyBook) -> TinyBook:
    tiny.write("_toc.yml", TOC)
    tiny.write("book/index.md", "# Tiny")
    assert check_toc(tiny.book) == []
    return tiny


@pytest.mark.parametrize(
    ("name", "old", "new", "violation"),
    [
        ("_toc.yml", "- file: book/ko/01-one\n", "", "_toc.yml: it lacks the chapter book/ko/01-one; add "),
        (
            "_toc.yml",
            "book/index",
            "book/start",
            "_toc.yml: it has book/start, which does not exist",
        ),
        ("_toc.yml", "- file: book/en", "- file: [", "_toc.yml: not valid YAML: "),
        (
            "chapters/ko/01-one.md",
            "[이유](#why)",
            "[이유](14-tiny.ipynb#why)",
            "chapters/ko/01-one.md#why: a link to 14-tiny.ipynb#why: there is no chapter 14-tiny in ko; ",
        ),
    ],
)
def test_what_the_site_could_not_find_is_named(
    tiny: TinyBook, name: str, old: str, new: str, violation: str
) -> None:
    tiny.edit(name, old, new)
    (found,) = check_toc(tiny.book)
    assert str(found).startswith(violation)
