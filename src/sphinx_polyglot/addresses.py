"""The addresses of the site, its repository, and the source files of its pages."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from sphinx_polyglot.languages import Pages

_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


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
    chapter = Path("chapters", docname.removeprefix(f"{folder}/")).with_suffix(".md")
    if Path(app.srcdir, chapter).is_file():
        return chapter.as_posix()
    return Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
