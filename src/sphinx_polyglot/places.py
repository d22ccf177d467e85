"""Knows where the site and its project are: from `_config.yml`, or from whoever publishes the site."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from sphinx_polyglot.languages import Pages

_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


# Sphinx event: config-inited (before everybody else)
def configure(app: Sphinx, config: Config) -> None:
    """Let the environment say what it knows better than the configuration."""
    config.html_baseurl = os.environ.get("POLYGLOT_BASEURL", config.html_baseurl)
    config.polyglot_repository = os.environ.get("POLYGLOT_REPOSITORY", config.polyglot_repository)


def site_of(config: Config) -> str:
    """Give the site's address, which ends with a slash; nothing where it stands nowhere yet.

    No host has a name below `.example`: such an address only keeps the place of the real one.
    """
    address = str(config.html_baseurl)
    host = urlsplit(address).hostname or ""
    return "" if not host or host.endswith(".example") else f"{address.rstrip('/')}/"


def repository_of(config: Config) -> str:
    """Give the address of the project's repository, without a slash at its end; nothing where it has none."""
    return str(config.polyglot_repository).removesuffix("/")


def github_of(config: Config) -> str:
    """Give the repository as GitHub names it, `owner/name`; nothing where it is not there."""
    found = _GITHUB.fullmatch(repository_of(config))
    return found[1] if found else ""


def source_of(app: Sphinx, docname: str) -> str:
    """Name the file that a page is written in: a notebook's is its chapter, where there is one."""
    folder = Pages.from_config(app.config).folder
    chapter = Path("chapters", docname.removeprefix(f"{folder}/")).with_suffix(".md")
    if Path(app.srcdir, chapter).is_file():
        return chapter.as_posix()
    return Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
