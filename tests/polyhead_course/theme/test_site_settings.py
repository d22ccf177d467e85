"""Wrong settings are refused before anything is read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sphinx.errors import ConfigError

from polyhead_course.theme.settings import check
from sphinx_polyglot.languages import Pages
from tests.books.fixtures import edit
from tests.building import build

LANGUAGES = {code: {"locale": code, "name": code, "title": code} for code in ("en", "ko")}
LICENCE = {"name": "MIT", "href": "https://example.org/mit"}


def _config(**settings: Any) -> SimpleNamespace:
    defaults = {"languages": LANGUAGES, "folder": "book", "shared": [], "fonts": {}, "rights": {}}
    return SimpleNamespace(**{f"polyglot_{name}": value for name, value in (defaults | settings).items()})


@pytest.mark.parametrize("folder", ["book", "./book", "book/", ".//book/."])
def test_a_folder_may_be_written_in_many_ways(folder: str) -> None:
    language = Pages.from_config(_config(folder=folder)).language_of("book/ko/01-masks")
    assert language is not None and language.code == "ko"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"folder": "."}, "polyglot_folder: expected a folder below the book's root, got '.'"),
        ({"folder": "/book"}, "polyglot_folder: expected a path below the book's root, got '/book'"),
        ({"fonts": "a.otf"}, "polyglot_fonts: expected a font file for each of ['en', 'ko'], got 'a.otf'"),
        ({"fonts": {"fr": "a.otf"}}, "polyglot_fonts: expected a font file for each of ['en', 'ko'], got"),
        ({"fonts": {"ko": "no.otf"}}, "polyglot_fonts: ko: expected a font file, got 'no.otf'"),
        ({"fonts": {"ko": 3}}, "polyglot_fonts: ko: expected a font file, got 3"),
        ({"rights": "MIT"}, "polyglot_rights: expected a mapping of text, code and cite, got 'MIT'"),
        ({"rights": {"texts": LICENCE}}, "polyglot_rights: expected a mapping of text, code and cite, got"),
        ({"rights": {"text": "MIT"}}, "polyglot_rights: text: expected name and href, got 'MIT'"),
        ({"rights": {"code": {"name": "MIT"}}}, "polyglot_rights: code: expected name and href, got"),
        ({"rights": {"code": {"name": 3, "href": ""}}}, "polyglot_rights: code: expected text, got"),
        ({"rights": {"cite": 3}}, "polyglot_rights: cite: expected text, got 3"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, settings: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(SimpleNamespace(srcdir=tmp_path), _config(**settings))
    assert message in str(caught.value)


def test_right_settings_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "a.otf").touch()
    rights = {"text": LICENCE, "code": LICENCE, "cite": "teaching#cite"}
    check(SimpleNamespace(srcdir=tmp_path), _config(fonts={"ko": "a.otf"}, rights=rights))


def test_a_build_stops_at_a_missing_font_before_it_reads_a_page(four_copy: Path) -> None:
    edit(
        four_copy / "_config.yml",
        "    polyglot_languages:",
        "    polyglot_fonts: {ko: no.otf}\n    polyglot_languages:",
    )
    built = build(four_copy)
    assert built.code != 0 and not built.read()
    assert "polyglot_fonts: ko: expected a font file, got 'no.otf'" in built.log
