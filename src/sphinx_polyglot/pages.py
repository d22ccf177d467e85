"""The pages of a book: their languages, counterparts, sources, and addresses on the published site."""

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from posixpath import join
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError as SphinxConfigError

from polyglot_book.config import ConfigError, Language, folder_from, languages_from

# Languages that are written from right to left, and scripts of others that are.
_RIGHT_TO_LEFT = {"ar", "arc", "ckb", "dv", "fa", "he", "iw", "ji", "ps", "sd", "syr", "ug", "ur", "yi"}
_RIGHT_TO_LEFT |= {"arab", "hebr", "nkoo", "syrc", "thaa"}


@dataclass(frozen=True)
class Pages:
    """The pages of a book by language: `<folder>/<code>/<stem>`.

    Attributes:
        languages: The languages by code, in the order of the switcher.
        folder: The folder of the languages' folders; "" where they are at the top.
        shared: The pages in the reference language that the readers of all languages share.
        root: The first page of all; Sphinx's own setting is the page's home while a page is written.
    """

    languages: dict[str, Language]
    folder: str
    shared: tuple[str, ...] = ()
    root: str = ""

    @classmethod
    def from_config(cls, config: Config) -> "Pages":
        """Read Sphinx's configuration, once."""
        if "_polyglot_pages" not in vars(config):
            try:
                languages = languages_from(config.polyglot_languages)
                folder = folder_from(config.polyglot_folder)
            except ConfigError as error:
                raise SphinxConfigError(str(error)) from None
            root, shared = getattr(config, "root_doc", ""), tuple(config.polyglot_shared)
            vars(config)["_polyglot_pages"] = cls(languages, folder, shared, root)
        pages: Pages = vars(config)["_polyglot_pages"]
        return pages

    @property
    def reference(self) -> Language:
        """The first language, which the others are translated from; also that of pages without a language."""
        return next(iter(self.languages.values()))

    def language_of(self, docname: str) -> Language | None:
        """Return the language of a page, or None if it is in no language's folder."""
        if docname in self.shared:
            return self.reference
        languages = self.languages.values()
        return next((each for each in languages if docname.startswith(self.page(each, ""))), None)

    def page(self, language: Language, stem: str) -> str:
        """Return the name of a language's page."""
        return join(self.folder, language.code, stem)

    def home(self, language: Language) -> str:
        """Return the name of a language's first page.

        It is `<folder>/<code>/index`, or the counterpart of the book's root if the reference has that page.
        """
        prefix = self.page(self.reference, "")
        is_first = self.root.startswith(prefix)
        return self.page(language, self.root.removeprefix(prefix) if is_first else "index")

    def counterpart(self, docname: str, language: Language, docnames: Container[str]) -> str | None:
        """Return the same page in another language, or None if it is not among these pages."""
        own = self.language_of(docname)
        if docname in self.shared:
            return docname if language == own and docname in docnames else None
        if own is None:
            return None
        name = self.page(language, docname.removeprefix(self.page(own, "")))
        return name if name in docnames else None


def is_fallback(env: BuildEnvironment, docname: str) -> bool:
    """Return whether a page is made from the source of the reference language, since its own lacks it."""
    return docname in getattr(env, "polyglot_fallbacks", ())


# Sphinx event: config-inited
def read_environment(app: Sphinx, config: Config) -> None:
    """Read the site's and the repository's address from the environment variables that override them."""
    config.html_baseurl = os.environ.get("POLYGLOT_BASEURL", config.html_baseurl)
    config.polyglot_repository = os.environ.get("POLYGLOT_REPOSITORY", config.polyglot_repository)


def direction(language: Language) -> str:
    """Return the direction in which a language is written, as in the attribute `dir`.

    Example:
        >>> direction(Language(code="fa", locale="fa_IR", name="فارسی", title="باغ"))
        'rtl'
    """
    parts = {*re.split("[-_]", language.code.lower()), *re.split("[-_@]", language.locale.lower())}
    return "rtl" if parts & _RIGHT_TO_LEFT and "latn" not in parts else "ltr"


def site_address(config: Config) -> str:
    """Return the site's address, with a slash at its end; "" if it has none yet.

    No host has a name below `.example`: such an address is a placeholder.
    """
    address = str(config.html_baseurl)
    host = urlsplit(address).hostname or ""
    return "" if not host or host.endswith(".example") else f"{address.rstrip('/')}/"


def page_url(app: Sphinx, docname: str) -> str:
    """Return the address of a page on the published site, relative to it if the site has no address yet.

    An `index.html` has the address of its folder.
    """
    uri = re.sub(r"(^|/)index\.html$", r"\1", app.builder.get_target_uri(docname))
    return site_address(app.config) + uri


def source_file(app: Sphinx, docname: str) -> str:
    """Return the path of a page's source in the repository: a notebook's chapter if there is one."""
    folder = Pages.from_config(app.config).folder
    chapter = Path("chapters", f"{docname.removeprefix(f'{folder}/')}.md")
    if Path(app.srcdir, chapter).is_file():
        return chapter.as_posix()
    return Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
