"""The words of the interface: complete, and each Chinese in its own script."""

from __future__ import annotations

import doctest
import gettext
import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sphinx.locale
import yaml
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from polyglot_book.config import Language
from sphinx_polyglot import internals, strings
from sphinx_polyglot.strings import PageCatalogue, add_translations, in_language, load_catalogue, translations

TRANSLATED = ["zh-TW", "zh-CN", "ko"]
FOLDERS = ["sphinx_polyglot", "polyhead_course/theme"]


def _language(code: str) -> Language:
    return Language(code=code, locale=code.replace("-", "_"), name=code, title="Book")


def _say(catalogue: PageCatalogue, code: str, message: str) -> str:
    with in_language(_language(code)):
        return catalogue.gettext(message)


def _words(folder: str, code: str) -> dict[str, str]:
    text = Path(__file__).parents[2].joinpath("src", folder, "strings", f"{code}.yml").read_text("utf-8")
    words: dict[str, str] = yaml.safe_load(text)
    return words


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_message_is_translated_into_every_language_with_its_placeholders(folder: str) -> None:
    words = {code: _words(folder, code) for code in TRANSLATED}
    assert len({tuple(each) for each in words.values()}) == 1
    for messages in words.values():
        for message, translation in messages.items():
            assert translation.strip() and translation != message
            assert _placeholders(translation) == _placeholders(message)


def _placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"%(?:\(\w+\))?[sd]", text))


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_chinese_is_in_its_own_script(folder: str) -> None:
    simplified, traditional = (set("".join(_words(folder, code).values())) for code in ("zh-CN", "zh-TW"))
    assert not traditional & set("显隐错误链标题录页码复贴浅节个说")
    assert not simplified & set("顯隱錯誤尋連標題錄頁碼複貼淺節個說")


def test_an_extension_adds_its_translations(tmp_path: Path) -> None:
    (tmp_path / "ko.yml").write_text('"A word of nobody": "낱말"\n', encoding="utf-8")
    assert _say(PageCatalogue({}), "ko", "A word of nobody") == "A word of nobody"
    add_translations(tmp_path)
    assert _say(PageCatalogue({}), "ko", "A word of nobody") == "낱말"
    assert translations("ko")["See also"] == "함께 보기"


def test_a_file_may_have_only_comments(tmp_path: Path) -> None:
    (tmp_path / "nl.yml").write_text("# No words yet.\n", encoding="utf-8")
    add_translations(tmp_path)
    assert translations("nl") == {}


def test_the_examples_of_the_docstrings() -> None:
    assert doctest.testmod(strings).failed == 0


def _write_catalogue(root: Path, locale: str, messages: dict[str, str]) -> str:
    folder = root / locale / "LC_MESSAGES"
    folder.mkdir(parents=True)
    catalog = Catalog(locale=locale)
    for message, translation in messages.items():
        catalog.add(message, translation)
    with (folder / "sphinx.mo").open("wb") as file:
        write_mo(file, catalog)
    return str(root)


def test_the_first_catalogue_wins_and_the_second_fills_in(tmp_path: Path) -> None:
    first = _write_catalogue(tmp_path / "first", "ko", {"tiny": "하나"})
    second = _write_catalogue(tmp_path / "second", "ko", {"tiny": "둘", "huge": "셋"})
    catalogue = load_catalogue([first, second], "sphinx", [_language("ko")])
    assert [_say(catalogue, "ko", message) for message in ("tiny", "huge")] == ["하나", "셋"]


def test_no_text_stays_none(tmp_path: Path) -> None:
    """Of an empty message, gettext would return the catalogue's header."""
    folder = _write_catalogue(tmp_path, "ko", {"tiny": "하나"})
    catalogue = load_catalogue([folder], "sphinx", [_language("ko")])
    assert [_say(catalogue, code, "") for code in ("ko", "nl")] == ["", ""]


def test_taiwan_does_not_fall_back_to_simplified_chinese(tmp_path: Path) -> None:
    _write_catalogue(tmp_path, "zh", {"Another word": "简体"})
    # What Python's own search does with it:
    assert gettext.translation("sphinx", tmp_path, ["zh_TW"]).gettext("Another word") == "简体"
    catalogue = load_catalogue([str(tmp_path)], "sphinx", [_language("zh-TW")])
    assert _say(catalogue, "zh-TW", "Another word") == "Another word"


def test_words_without_a_translation_are_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    logger = SimpleNamespace(info=lambda message, *words: told.append(message % words))
    monkeypatch.setattr(strings, "LOGGER", logger)
    monkeypatch.setattr(strings, "_missing", {})
    monkeypatch.setattr(strings, "_translated", set())
    catalogue = PageCatalogue({})
    for messages in (["Zebra", "Apple “a”", "Home", "홈", ".css"], ["Zebra", "Bee"]):
        for message in messages:
            _say(catalogue, "ko", message)
            _say(catalogue, "en", message)
        strings.note_missing(tmp_path)
    listed = tmp_path / "missing-words" / "ko.yml"
    assert listed.read_text("utf-8") == '"Apple “a”": \n"Zebra": \n"Bee": \n'
    assert [each.name for each in listed.parent.iterdir()] == ["ko.yml"]
    _say(catalogue, "ko", "Cat")
    monkeypatch.setattr(strings, "translations", lambda code: {"Bee": "벌", "Zebra": ""})
    app: Any = SimpleNamespace(doctreedir=str(tmp_path))
    strings.report_missing(app, None)
    assert listed.read_text("utf-8") == '"Apple “a”": \n"Cat": \n"Zebra": \n'
    assert told == [f"ko: 3 words of the interface have no translation: {listed}"]
    listed.write_text("", "utf-8")
    strings.report_missing(app, None)
    assert (listed.read_text("utf-8"), len(told)) == ("", 1)


def test_translations_come_before_the_catalogues() -> None:
    folder = str(Path(sphinx.locale.__file__).parent)
    catalogue = load_catalogue([folder], "sphinx", [_language(code) for code in TRANSLATED])
    assert _say(catalogue, "ko", "See also") == "함께 보기"
    # Sphinx's catalogue fills in what is missing.
    assert _say(catalogue, "ko", "Index") == "색인"
    assert _say(catalogue, "nl", "Index") == "Index"


def test_a_theme_that_is_not_installed_has_no_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = SimpleNamespace(languages={"ko": _language("ko")})
    app = SimpleNamespace(translator=None, srcdir="", extensions=["sphinx.ext.mathjax"])
    config = SimpleNamespace(html_theme="alabaster", locale_dirs=["locales"])
    monkeypatch.setattr(internals, "find_spec", lambda name: None if "theme" in name else find_spec(name))
    monkeypatch.setattr(internals, "Pages", SimpleNamespace(from_config=lambda config: pages))
    monkeypatch.setattr(sphinx.locale, "translators", {})
    internals.install_catalogues(app, config)  # type: ignore[arg-type]
    assert _say(app.translator, "ko", "Search") == "검색"  # type: ignore[arg-type]
