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
    """Return the language of the page that is being read or written; None before the first page.

    Example:
        >>> with in_language(Language(code="ko", locale="ko", name="한국어", title="책")):
        ...     current_language().code
        'ko'
    """
    return _language


def set_current_language(language: Language | None) -> None:
    """Set the language that messages are translated into; None leaves them in English.

    Example:
        >>> set_current_language(Language(code="ko", locale="ko", name="한국어", title="책"))
        >>> translate("Home")
        '홈'
        >>> set_current_language(None)
        >>> translate("Home")
        'Home'
    """
    global _language
    _language = language


@contextmanager
def in_language(language: Language | None) -> Iterator[None]:
    """Translate messages into another language within a `with` statement.

    Example:
        >>> with in_language(Language(code="ko", locale="ko", name="한국어", title="책")):
        ...     translate("Home")
        '홈'
    """
    before = _language
    set_current_language(language)
    try:
        yield
    finally:
        set_current_language(before)


def add_translations(folder: Path) -> None:
    """Register an extension's folder of files `<code>.yml`: English message -> translation.

    A folder registered later wins over an earlier one.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "ja.yml").write_text('"Home": "ホーム"', encoding="utf-8")
        ...     add_translations(Path(folder))
        ...     translations("ja")
        {'Home': 'ホーム'}
    """
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)
        translations.cache_clear()


@cache
def translations(code: str) -> dict[str, str]:
    """Return the translations in the registered folders into one language, by English message.

    These translations win over the catalogues of Sphinx and its themes. They are cached: do not change what
    is returned.

    Args:
        code: The language's code, as in `polyglot_languages`.

    Example:
        >>> translations("ko")["Home"]
        '홈'
    """
    files = [path for folder in _FOLDERS if (path := folder / f"{code}.yml").is_file()]
    texts = [yaml.safe_load(path.read_text(encoding="utf-8")) or {} for path in files]
    return {message: translation for text in texts for message, translation in text.items()}


class PageCatalogue(gettext.NullTranslations):
    """A message catalogue in the language of the page; without plurals, which no template uses.

    It looks for a message in the registered files `<code>.yml` first, then in the language's `.mo` file, then
    returns the message itself, which is English.

    Example:
        >>> with in_language(Language(code="ko", locale="ko", name="한국어", title="책")):
        ...     PageCatalogue({}).gettext("Home"), PageCatalogue({}).gettext("Unknown")
        ('홈', 'Unknown')
    """

    def __init__(self, by_code: dict[str, gettext.NullTranslations]) -> None:
        """Take the `.mo` file's catalogue of each language, by its code; one may be missing."""
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


def load_catalogue(locale_dirs: Iterable[str], domain: str, languages: Iterable[Language]) -> PageCatalogue:
    """Load the files `<locale_dir>/<locale>/LC_MESSAGES/<domain>.mo` of exactly these locales.

    `gettext.translation` would fall back from zh_TW to zh, which is written in the other script. Of two
    folders with the same message the first one wins. A file that does not exist is skipped.

    Example:
        >>> korean = Language(code="ko", locale="ko", name="한국어", title="책")
        >>> catalogue = load_catalogue([], "sphinx", [korean])
        >>> with in_language(korean):
        ...     catalogue.gettext("Home")
        '홈'
    """
    by_code: dict[str, gettext.NullTranslations] = {}
    for language in languages:
        for folder in locale_dirs:
            path = Path(folder) / language.locale / "LC_MESSAGES" / f"{domain}.mo"
            if path.is_file():
                with path.open("rb") as file:
                    catalogue = gettext.GNUTranslations(file)
                if (first := by_code.setdefault(language.code, catalogue)) is not catalogue:
                    first.add_fallback(catalogue)
    return PageCatalogue(by_code)


# Translates a message of this package, or of an extension that has registered its translations.
translate = PageCatalogue({}).gettext
