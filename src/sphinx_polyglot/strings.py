"""Translates the words of the interface into the language of the page that is being read or written."""

import gettext
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import yaml
from sphinx.application import Sphinx
from sphinx.util import logging

from polyglot_book.config import Language

LOGGER = logging.getLogger(__name__)

# Folders with files `<code>.yml`: English message -> translation.
_FOLDERS = [Path(__file__).parent / "strings"]
# Sphinx reads and writes one page at a time in each process. None leaves messages in English.
_language: Language | None = None
# What a catalogue returns for a message that it lacks, which may be translated by itself: "Index" in German.
_MISSING = "\0"
# The messages without a translation that pages have asked for, by the language's code.
_missing: dict[str, set[str]] = {}
_translated: set[str] = set()


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

    def find(self, message: str) -> str | None:
        """Return the translation of a message, or None if there is none."""
        if _language is None:
            return None
        if translation := translations(_language.code).get(message):
            return translation
        catalogue = self._by_code.get(_language.code)
        translation = catalogue.gettext(message) if catalogue else _MISSING
        return None if translation == _MISSING else translation

    def gettext(self, message: str) -> str:
        """Translate a message; note those that have no translation."""
        if not message:  # gettext would return the catalogue's header
            return message
        translation = self.find(message)
        if translation is not None:
            _translated.add(translation)  # themes translate some words twice
            return translation
        translated = _language is None or _language.locale.startswith("en") or message in _translated
        if _language and not translated and message[0] != ".":
            _missing.setdefault(_language.code, set()).add(message)
        return message


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
        no_translation = gettext.NullTranslations()
        no_translation.gettext = lambda message: _MISSING  # type: ignore[method-assign]
        for folder in locale_dirs:
            path = Path(folder) / language.locale / "LC_MESSAGES" / f"{domain}.mo"
            if path.is_file():
                with path.open("rb") as file:
                    catalogue = gettext.GNUTranslations(file)
                if (first := by_code.setdefault(language.code, catalogue)) is not catalogue:
                    first.add_fallback(catalogue)
        if language.code in by_code:
            by_code[language.code].add_fallback(no_translation)
    return PageCatalogue(by_code)


def note_missing(folder: Path) -> None:
    """Append the messages without a translation to files `<folder>/missing-words/<code>.yml`."""
    for code, messages in _missing.items():
        path = folder / "missing-words" / f"{code}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines = [f"{json.dumps(each, ensure_ascii=False)}: \n" for each in sorted(messages)]
        if new := [line for line in lines if line not in old]:
            with path.open("a", encoding="utf-8") as file:
                file.write("".join(new))
    _missing.clear()


# Sphinx event: build-finished
def report_missing(app: Sphinx, exception: Exception | None) -> None:
    """Log how many words of the interface have no translation, and in which file they are listed."""
    note_missing(Path(app.doctreedir))
    for path in sorted(Path(app.doctreedir, "missing-words").glob("*.yml")):
        words = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        words = sorted(words.keys() - {key for key, each in translations(path.stem).items() if each})
        text = "".join(f"{json.dumps(each, ensure_ascii=False)}: \n" for each in words)
        path.write_text(text, encoding="utf-8")
        if words:
            LOGGER.info("%s: %d words of the interface have no translation: %s", path.stem, len(words), path)


# Translates a message of this package, or of an extension that has registered its translations.
translate = PageCatalogue({}).gettext
