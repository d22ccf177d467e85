"""Offers a page as a notebook to take along, whole and for students, where it can be run, and all on paper.

The copies lie in a folder of the site. Who publishes the site also puts this folder's files into the branch
of the same name, at its top, since Colab opens notebooks from a repository only (Binder runs the repository
itself), and the printed books beside the pages: `make pages` does that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polyglot_book.config import Language
from polyglot_book.ipynb import read_notebook, write_notebook
from polyglot_book.take_along import WORKSHOP, for_students, has_solutions, install_code, take_along
from sphinx_polyglot import places
from sphinx_polyglot.languages import Pages
from sphinx_polyglot.strings import translate

FOLDER = "notebooks"


class Offer(NamedTuple):
    """An entry of a page's menu; without a file's name it leads elsewhere."""

    label: str
    href: str
    filename: str = ""


# Sphinx event: html-page-context (after the page's language is known)
def offer_notebooks(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the copies of a page's notebook, and give the template what a reader may do with them.

    A language's first page has none: it shows what lies around it.
    """
    offers: list[Offer] = []
    context["polyglot_downloads"] = offers
    pages = Pages.from_config(app.config)
    own = pages.language_of(pagename)
    if own is None or pagename not in app.env.found_docs:
        return
    path, root = Path(app.env.doc2path(pagename)), "../" * pagename.count("/")
    published = bool(places.github_of(app.config) and places.site_of(app.config))
    if path.suffix == ".ipynb" and pagename != pages.home(own):
        names = _write_copies(app, pages, own, path)
        offers += [Offer(label, f"{root}{FOLDER}/{name}", name) for label, name in names.items()]
        if published:
            offers += _elsewhere(app.config, own, path.stem, offers[0].filename)
    if published:
        name = f"{pages.reference.slug}-{own.code}.pdf"
        offers.append(Offer(translate("All chapters (PDF)"), f"{root}pdf/{name}", name))


def _write_copies(app: Sphinx, pages: Pages, language: Language, path: Path) -> dict[str, str]:
    """Write the copies; give the files' names by what the menu calls them."""
    config, notebook = app.config, read_notebook(path, check=False)
    site, folder = places.site_of(config), Path(app.outdir) / FOLDER
    prefix = f"{pages.reference.slug}-{language.code}-"

    def address(stem: str, anchor: str) -> str:
        page = f"{pages.folder}/{language.code}/{stem}.html"
        if not site and page == f"{pages.home(language)}.html":
            return f"../{page}"  # it has no copy
        return f"{site}{page}{anchor}" if site else f"{prefix}{stem}.ipynb"

    wanted = config.polyglot_install
    pip = [each.format(site=site) for each in wanted.get("pip", [])]
    install = install_code(wanted["import"], pip) if site and pip else ""
    names = {translate("Notebook"): f"{prefix}{path.stem}.ipynb"}
    write_notebook(
        take_along(notebook, address, install=install), folder / f"{prefix}{path.stem}.ipynb", check=False
    )
    if has_solutions(notebook):
        name = f"{prefix}{path.stem}-student.ipynb"
        note = translate("For students: this copy has neither solutions nor outputs.")
        write_notebook(
            take_along(for_students(notebook), address, note=f"*{note}*", install=install),
            folder / name,
            check=False,
        )
        names[translate("Notebook without solutions")] = name
    return names


def _elsewhere(config: Config, language: Language, stem: str, name: str) -> list[Offer]:
    """Lead to where a notebook runs in the browser."""
    project = places.github_of(config)
    colab = f"https://colab.research.google.com/github/{project}/blob/{FOLDER}/{name}"
    inside = quote(f"{WORKSHOP}/{language.code}/{stem}.ipynb", safe="")
    binder = f"https://mybinder.org/v2/gh/{project}/HEAD?labpath={inside}"
    return [Offer(translate("Open in Colab"), colab), Offer(translate("Open in Binder"), binder)]
