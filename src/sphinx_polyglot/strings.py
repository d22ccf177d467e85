"""Says the words of the site's interface in the language of the page that is being written."""

from __future__ import annotations

import gettext
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from polyglot_book.config import Language


@dataclass
class Speaker:
    """Remembers which language is being spoken: Sphinx reads and writes one page at a time."""

    language: Language | None = None  # messages stay as they are


SPEAKER = Speaker()


@cache
def own_words(code: str) -> dict[str, str]:
    """Give this package's words in one language: English message -> translation.

    They complete what the catalogues of Sphinx and its themes lack, and correct where those are wrong.
    """
    path = files(__package__) / "strings" / f"{code}.yml"
    if not path.is_file():
        return {}
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


class Catalogue(gettext.NullTranslations):
    """A message catalogue that answers in the language that is being spoken; no template asks for plurals."""

    def __init__(self, by_code: dict[str, gettext.NullTranslations]) -> None:
        """Take one catalogue for each language; a language without one is answered in English."""
        super().__init__()
        self._by_code = by_code

    def gettext(self, message: str) -> str:
        """Translate a message."""
        language = SPEAKER.language
        if language is None:
            return message
        if own := own_words(language.code).get(message):
            return own
        found = self._by_code.get(language.code)
        return found.gettext(message) if found else message


def catalogue_from(folders: Iterable[str], name: str, languages: Iterable[Language]) -> Catalogue:
    """Load the catalogues `<folder>/<locale>/LC_MESSAGES/<name>.mo` of exactly these locales.

    `gettext.translation` would let zh_TW fall back to zh, which is written in the other script.
    """
    by_code: dict[str, gettext.NullTranslations] = {}
    for language in languages:
        for folder in folders:
            path = Path(folder) / language.locale / "LC_MESSAGES" / f"{name}.mo"
            if path.is_file():
                with path.open("rb") as file:
                    found = gettext.GNUTranslations(file)
                if (first := by_code.setdefault(language.code, found)) is not found:
                    first.add_fallback(found)
    return Catalogue(by_code)


WORDS = Catalogue({})


def translate(message: str) -> str:
    """Say one of this package's own words in the language that is being spoken."""
    return WORDS.gettext(message)
