"""Tells which language a page is in, and which pages of the other languages say the same."""

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
        shared: The pages that stand there once, in the reference language, for the readers of all.
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
        """The language that the others are translated from; it speaks where a page has none."""
        return next(iter(self.languages.values()))

    def language_of(self, docname: str) -> Language | None:
        """Give the language of a page, or None where readers of all languages choose one."""
        if docname in self.shared:
            return self.reference
        prefix = f"{self.folder}/"
        code, slash, _ = docname.removeprefix(prefix).partition("/")
        if not docname.startswith(prefix) or not slash:
            return None
        return self.languages.get(code)

    def home(self, language: Language) -> str:
        """Give the name of a language's first page."""
        return f"{self.folder}/{language.code}/index"

    def sister(self, docname: str, language: Language, known: Container[str]) -> str | None:
        """Give the same page in another language, or None where there is none."""
        own = self.language_of(docname)
        if docname in self.shared:
            return docname if language == own and docname in known else None
        if own is None:
            return None
        stem = docname.removeprefix(f"{self.folder}/{own.code}/")
        name = f"{self.folder}/{language.code}/{stem}"
        return name if name in known else None
