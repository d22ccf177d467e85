"""The pages of a book: their languages, counterparts, sources, and addresses on the published site."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError as SphinxConfigError

from polyglot_book.config import ConfigError, Language, folder_from, languages_from

_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


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
        languages = self.languages.values()
        return next((each for each in languages if docname.startswith(f"{self.folder}/{each.code}/")), None)

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


# Sphinx event: config-inited
def configure(app: Sphinx, config: Config) -> None:
    """Read the site's and the repository's address from the environment variables that override them."""
    config.html_baseurl = os.environ.get("POLYGLOT_BASEURL", config.html_baseurl)
    config.polyglot_repository = os.environ.get("POLYGLOT_REPOSITORY", config.polyglot_repository)


def site_address(config: Config) -> str:
    """Return the site's address, with a slash at its end; "" if it has none yet.

    No host has a name below `.example`: such an address is a placeholder.
    """
    address = str(config.html_baseurl)
    host = urlsplit(address).hostname or ""
    return "" if not host or host.endswith(".example") else f"{address.rstrip('/')}/"


def github_name(config: Config) -> str:
    """Return the repository's name on GitHub, `owner/name`; "" if it is elsewhere, or if there is none."""
    match = _GITHUB.fullmatch(str(config.polyglot_repository))
    return match[1] if match else ""


def page_url(app: Sphinx, docname: str) -> str:
    """Return the address of a page on the published site; a folder's for its `index.html`."""
    uri = app.builder.get_target_uri(docname)
    if uri == "index.html" or uri.endswith("/index.html"):
        uri = uri.removesuffix("index.html")
    return site_address(app.config) + uri


def source_file(app: Sphinx, docname: str) -> str:
    """Return the path of a page's source in the repository: a notebook's chapter if there is one."""
    folder = Pages.from_config(app.config).folder
    chapter = Path("chapters", f"{docname.removeprefix(f'{folder}/')}.md")
    if Path(app.srcdir, chapter).is_file():
        return chapter.as_posix()
    return Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
