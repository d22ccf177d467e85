from __future__ import annotations

from pathlib import Path

import pytest

from polyglot_book.config import Book, ConfigError, Language, languages_from, load_schema, problems
from tests.polyglot_book.tiny_book import TinyBook


def test_a_book_is_read_in_the_order_of_its_languages(tiny: TinyBook) -> None:
    book = tiny.book
    assert list(book.languages) == ["en", "zh-TW", "zh-CN", "ko"]
    assert book.reference.code == "en"
    assert [each.code for each in book.translations] == ["zh-TW", "zh-CN", "ko"]
    assert book.languages["zh-TW"] == Language("zh-TW", "zh_TW", "繁體中文", "小書", "一本小書")
    assert book.languages["ko"].tagline == ""
    assert book.terms == tiny.root / "terms.yml"
    assert book.library == (tiny.root / "src/tinylib",)
    assert book.notebooks_dir("ko") == tiny.root / "book/ko"


@pytest.mark.parametrize(
    ("title", "slug"), [("작은 책", "ko"), ("C++!", "c"), ("A Tiny Book", "a-tiny-book")]
)
def test_files_are_named_after_the_title_as_far_as_it_is_latin(title: str, slug: str) -> None:
    assert Language("ko", "ko", "한국어", title).slug == slug


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title: Tiny\n", "title: [\n", "not valid YAML"),
        ("polyglot_languages", "polyglot_tongues", "sphinx: config: 'polyglot_languages' is a required"),
        ("locale: ko, ", "", "polyglot_languages: ko: 'locale' is a required property"),
        ("locale: ko, ", "locale: no, ", "ko: locale: expected text in quotes, got False"),
        ("locale: ko, ", "locale: ko, colour: red, ", "ko: Additional properties are not allowed ('colour'"),
        ("      ko: {", "      Korean: {", "'zh-TW' or 'zh-Hant-TW', got 'Korean'"),
        ("{locale: ko, name: 한국어, title: 작은 책}", "한국어", "ko: '한국어' is not of type 'object'"),
        ("[src/tinylib]", "src/tinylib", "polyglot_library: 'src/tinylib' is not of type 'array'"),
        ("[src/tinylib]", "[src/nothing]", "src/nothing is not a folder"),
        ("terms.yml", "../terms.yml", "expected a path below the book's root, got '../terms.yml'"),
        ("terms.yml", "/terms.yml", "expected a path below the book's root, got '/terms.yml'"),
        ("terms.yml", "5", "expected a path below the book's root, got 5"),
        ("terms.yml", "' '", "expected a path below the book's root, got ' '"),
        ("polyglot_folder: book", "polyglot_folder: ../", "expected a path below the book's root, or ."),
        ("polyglot_terms: terms.yml", "polyglot_verdicts: ✓", "polyglot_verdicts: '✓' is not of type"),
        ("polyglot_terms: terms.yml", "polyglot_verdicts: {right: 1, wrong: ✗}", "right: expected text in"),
        ("set_language", "set_language()", "polyglot_language_call: expected the name of a function"),
    ],
)
def test_what_is_wrong_is_named(tiny: TinyBook, old: str, new: str, message: str) -> None:
    tiny.edit("_config.yml", old, new)
    with pytest.raises(ConfigError, match=r"_config\.yml: ") as caught:
        Book.load(tiny.root)
    assert message in str(caught.value)


def test_a_missing_file_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--root"):
        Book.load(tmp_path)


def test_no_language_is_an_error() -> None:
    with pytest.raises(ConfigError, match="non-empty"):
        languages_from({})


def test_norwegian_needs_no_quotes(tiny: TinyBook) -> None:
    tiny.edit("_config.yml", "      ko: {locale: ko, name: 한국어", "      no: {locale: nb, name: Norsk")
    assert [*tiny.book.languages] == ["en", "zh-TW", "zh-CN", "no"]
    tiny.edit("_config.yml", "locale: nb", "locale: no")
    with pytest.raises(ConfigError, match="no: locale: expected text in quotes, got False"):
        Book.load(tiny.root)


def test_a_book_without_sphinx_has_settings_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "polyglot.yml"
    own.write_text(
        "folder: pages\nlanguages:\n  he: {locale: he, name: עברית, title: גלים}\n", encoding="utf-8"
    )
    book = Book.load(tmp_path)
    assert (book.reference.name, book.folder, "dollarmath" in book.extensions) == ("עברית", "pages", True)
    own.write_text("languages: 5\n")
    with pytest.raises(ConfigError, match=r"polyglot\.yml: .*languages: 5 is not of type 'object'"):
        Book.load(tmp_path)


def test_a_pattern_is_a_regular_expression() -> None:
    found = problems({"wording": {"ko": {"(수": "값"}}}, load_schema("terms"))
    assert any(each.startswith("wording: ko: expected a regular expression") for each in found)


def test_what_settings_are_where_they_are_not_given(tmp_path: Path) -> None:
    book = Book(tmp_path, languages_from({"en": {"locale": "en", "name": "English", "title": "x"}}))
    assert (book.folder, book.terms, book.library, book.language_call) == ("book", None, (), "")
    assert (book.verdicts, book.commands, book.free_words, book.vector_figures) == ({}, {}, False, False)
    note = "This part is not translated yet."
    assert book.reference == Language("en", "en", "English", "x", "", note, False)
