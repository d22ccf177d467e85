"""A language that has been begun, in whose place the reference stands where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot_book.chapters import Cell
from polyglot_book.checks import check_toc
from polyglot_book.config import Language
from polyglot_book.translations import check_translations, is_untranslated, sync
from polyglot_book.wording import check_wording, read_terms
from tests.polyglot_book.tiny_book import TinyBook

TOC = """\
format: jb-book
root: book/index
chapters:
- glob: book/*/*
"""
PARTIAL = "title: 작은 책, partial: true}"


@pytest.fixture
def begun(tmp_path: Path) -> TinyBook:
    """A book whose Korean has one of two chapters, and none of the words."""
    tiny = TinyBook(tmp_path, ("01-one", "02-two"))
    tiny.write("_toc.yml", TOC)
    tiny.edit("_config.yml", "title: 작은 책}", PARTIAL)
    (tiny.root / "chapters/ko/02-two.md").unlink()
    tiny.edit(
        "terms.yml",
        "    ko: 쿼리\n    avoid: {zh-TW: [詢問], ko: [질의]}\n    note: {ko: 질의는 쓰지 않는다}\n",
        "",
    )
    tiny.edit("terms.yml", ", ko: 위치}", "}")
    for code, old in (("en", "[why](#why)"), ("ko", "[이유](#why)")):
        tiny.edit(f"chapters/{code}/01-one.md", old, old.replace("#why", "02-two.md#why"))
    return tiny


def found(tiny: TinyBook) -> list[str]:
    checks = (check_translations, check_wording, check_toc)
    return [str(each) for check in checks for each in check(tiny.book) if "ko" in str(each)]


def test_what_a_partial_language_lacks_is_no_violation_and_is_not_added(begun: TinyBook) -> None:
    assert [each for each in found(begun) if "stale" not in each] == []
    terms, wrong = read_terms(begun.book)
    assert wrong == [] and terms.permitted == {"en": ["query"], "zh-TW": ["查詢"], "zh-CN": ["查询"]}
    lines: list[str] = []
    sync(begun.book, lines.append)
    assert lines == [] and not (begun.root / "chapters/ko/02-two.md").exists()


def test_what_it_has_is_checked(begun: TinyBook) -> None:
    begun.edit("chapters/ko/01-one.md", "02-two.md#why", "03-three.md")
    begun.edit("chapters/ko/01-one.md", "x = 6", "x = 7")
    problems = "\n".join(found(begun))
    assert "there is no chapter 03-three in ko" in problems and "the code differs" in problems


def test_a_complete_language_lacks_nothing(begun: TinyBook) -> None:
    begun.edit("_config.yml", PARTIAL, "title: 작은 책}")
    problems = "\n".join(found(begun))
    for each in ("the chapter is missing", "'ko' is a required property", "there is no chapter 02-two in ko"):
        assert each in problems
    begun.edit("_config.yml", "title: 작은 책}", "title: 작은 책, partial: perhaps}")
    with pytest.raises(ValueError, match="partial: expected true or false, got 'perhaps'"):
        assert begun.book


def test_a_term_that_is_its_name_but_for_accents_needs_no_name(tiny: TinyBook) -> None:
    tiny.edit("terms.yml", "    en: query", "    en: temperature")
    tiny.edit("terms.yml", "    ko: 쿼리", "    ko: Température")
    assert "ko" not in read_terms(tiny.book)[0].gloss
    assert read_terms(tiny.book)[0].gloss["zh-TW"] == {"查詢": "temperature"}


def test_a_note_from_before_the_language_had_its_own_counts() -> None:
    german = Language("de", "de", "Deutsch", "Buch", untranslated="Noch nicht übersetzt.")
    old = Cell("title", "markdown", f"# Tides\n\n{Language.untranslated}", {})
    assert is_untranslated(old, german)
    assert not is_untranslated(Cell("title", "markdown", "# Gezeiten", {}), german)
