"""The words of the interface: complete, and each Chinese in its own script."""

from __future__ import annotations

import gettext
from pathlib import Path

import pytest
import sphinx.locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from polyglot_book.config import Language
from sphinx_polyglot.strings import SPEAKER, Catalogue, load_catalogue, translations

TRANSLATED = ["zh-TW", "zh-CN", "ko"]


def _language(code: str) -> Language:
    return Language(code=code, locale=code.replace("-", "_"), name=code, title="Book")


def _say(catalogue: Catalogue, code: str, message: str) -> str:
    SPEAKER.language = _language(code)
    try:
        return catalogue.gettext(message)
    finally:
        SPEAKER.language = None


def test_every_language_has_the_same_messages() -> None:
    messages = [list(translations(code)) for code in TRANSLATED]
    assert messages[0] == messages[1] == messages[2]
    assert len(messages[0]) > 50


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_message_is_translated_with_its_placeholders(code: str) -> None:
    for message, translation in translations(code).items():
        assert translation.strip() and translation != message
        for placeholder in ("%s", "%(copyright)s", "%(last_updated)s"):
            assert (placeholder in translation) == (placeholder in message), message


def test_each_chinese_is_in_its_own_script() -> None:
    simplified, traditional = (
        set("".join(translations("zh-CN").values())),
        set("".join(translations("zh-TW").values())),
    )
    assert not traditional & set("显隐错误链标题录页码复贴浅节个说")
    assert not simplified & set("顯隱錯誤尋連標題錄頁碼複貼淺節個說")


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


def test_taiwan_does_not_fall_back_to_simplified_chinese(tmp_path: Path) -> None:
    _write_catalogue(tmp_path, "zh", {"A word of nobody": "简体"})
    # What Python's own search does with it:
    assert gettext.translation("sphinx", tmp_path, ["zh_TW"]).gettext("A word of nobody") == "简体"
    catalogue = load_catalogue([str(tmp_path)], "sphinx", [_language("zh-TW")])
    assert _say(catalogue, "zh-TW", "A word of nobody") == "A word of nobody"


def test_translations_come_before_the_catalogues() -> None:
    folder = str(Path(sphinx.locale.__file__).parent)
    catalogue = load_catalogue([folder], "sphinx", [_language(code) for code in TRANSLATED])
    assert _say(catalogue, "ko", "See also") == "함께 보기"
    # Sphinx's catalogue fills in what is missing.
    assert _say(catalogue, "ko", "Index") == "색인"
    assert _say(catalogue, "fr", "Index") == "Index"
