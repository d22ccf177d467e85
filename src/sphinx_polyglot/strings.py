"""Translates the words of the interface into the language of the page that is being read or written."""

from __future__ import annotations

import gettext
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import yaml

from polyglot_book.config import Language

# Folders with files `<code>.yml`: English message -> translation.
_FOLDERS = [Path(__file__).parent / "strings"]
# Sphinx reads and writes one page at a time in each process. None leaves messages in English.
_language: Language | None = None


def current_language() -> Language | None:
    """Return the language of the page that is being read or written."""
    return _language


def set_language(language: Language | None) -> None:
    """Set the language that messages are translated into."""
    global _language
    _language = language


@contextmanager
def in_language(language: Language | None) -> Iterator[None]:
    """Translate messages into another language within a `with` statement."""
    before = _language
    set_language(language)
    try:
        yield
    finally:
        set_language(before)


def add_translations(folder: Path) -> None:
    """Register an extension's folder of files `<code>.yml`: English message -> translation."""
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)
        translations.cache_clear()


@cache
def translations(code: str) -> dict[str, str]:
    """Return the translations in the registered folders into one language.

    They complete the catalogues of Sphinx and its themes, and correct them.
    """
    files = [path for folder in _FOLDERS if (path := folder / f"{code}.yml").is_file()]
    texts = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]
    return {message: translation for text in texts for message, translation in text.items()}


class Catalogue(gettext.NullTranslations):
    """A message catalogue in the current language; without plurals, which no template uses."""

    def __init__(self, by_code: dict[str, gettext.NullTranslations]) -> None:
        """Take a catalogue for each language; without one, messages stay in English."""
        super().__init__()
        self._by_code = by_code

    def gettext(self, message: str) -> str:
        """Translate a message."""
        if _language is None:
            return message
        if translation := translations(_language.code).get(message):
            return translation
        catalogue = self._by_code.get(_language.code)
        return catalogue.gettext(message) if catalogue else message


def load_catalogue(folders: Iterable[str], name: str, languages: Iterable[Language]) -> Catalogue:
    """Load the files `<folder>/<locale>/LC_MESSAGES/<name>.mo` of exactly these locales.

    `gettext.translation` would fall back from zh_TW to zh, which is written in the other script.
    """
    by_code: dict[str, gettext.NullTranslations] = {}
    for language in languages:
        for folder in folders:
            path = Path(folder) / language.locale / "LC_MESSAGES" / f"{name}.mo"
            if path.is_file():
                with path.open("rb") as file:
                    catalogue = gettext.GNUTranslations(file)
                if (first := by_code.setdefault(language.code, catalogue)) is not catalogue:
                    first.add_fallback(catalogue)
    return Catalogue(by_code)


# Translates a message of this package, or of an extension that has registered its translations.
translate = Catalogue({}).gettext
