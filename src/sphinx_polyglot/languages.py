"""Maps pages to languages, and to their counterparts in the other languages."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from sphinx.config import Config
from sphinx.errors import ConfigError as SphinxConfigError

from polyglot_book.config import ConfigError, Language, folder_from, languages_from


@dataclass(frozen=True)
class Pages:
    """The pages of a book by language: `<folder>/<code>/<stem>`.

    Attributes:
        languages: The languages by code, in the order of the switcher.
        folder: The folder of the languages' folders.
        shared: The pages in the reference language that the readers of all languages share.
    """

    languages: dict[str, Language]
    folder: str
    shared: tuple[str, ...] = ()

    @classmethod
    def from_config(cls, config: Config) -> Pages:
        """Read Sphinx's configuration."""
        try:
            languages = languages_from(config.polyglot_languages)
            shared = tuple(config.polyglot_shared)
            return cls(languages, folder_from(config.polyglot_folder), shared)
        except ConfigError as error:
            raise SphinxConfigError(str(error)) from None

    @property
    def reference(self) -> Language:
        """The first language, which the others are translated from; also that of pages without a language."""
        return next(iter(self.languages.values()))

    def language_of(self, docname: str) -> Language | None:
        """Return the language of a page, or None if it is in no language's folder."""
        if docname in self.shared:
            return self.reference
        prefix = f"{self.folder}/"
        code, slash, _ = docname.removeprefix(prefix).partition("/")
        if not docname.startswith(prefix) or not slash:
            return None
        return self.languages.get(code)

    def home(self, language: Language) -> str:
        """Return the name of a language's first page."""
        return f"{self.folder}/{language.code}/index"

    def counterpart(self, docname: str, language: Language, docnames: Container[str]) -> str | None:
        """Return the same page in another language, or None if it is not among these pages."""
        own = self.language_of(docname)
        if docname in self.shared:
            return docname if language == own and docname in docnames else None
        if own is None:
            return None
        stem = docname.removeprefix(f"{self.folder}/{own.code}/")
        name = f"{self.folder}/{language.code}/{stem}"
        return name if name in docnames else None
