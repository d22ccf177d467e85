"""The download menu of a page: its notebook, a copy for students, links to Colab and Binder, and the PDF.

The copies are in a folder of the site. `make pages` publishes this folder also as the branch of the same
name, since Colab opens notebooks only from a repository; Binder runs the repository itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polyglot_book.config import Language
from polyglot_book.copies import LAB, has_solutions, install_code, reader_copy, student_copy
from polyglot_book.ipynb import read_notebook, write_notebook
from sphinx_polyglot.addresses import github_name, site_address
from sphinx_polyglot.languages import Pages
from sphinx_polyglot.strings import translate

FOLDER = "notebooks"


class Entry(NamedTuple):
    """An entry of the menu: a file to download, or a link if it has no filename."""

    label: str
    href: str
    filename: str = ""


# Sphinx event: html-page-context
def add_downloads(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the copies of a page's notebook, and add the menu's entries to the context.

    A language's first page has no copies: its code reads the notebooks beside it.
    """
    entries: list[Entry] = []
    context["polyglot_downloads"] = entries
    pages = Pages.from_config(app.config)
    own = pages.language_of(pagename)
    if own is None or pagename not in app.env.found_docs:
        return
    path, root = Path(app.env.doc2path(pagename)), "../" * pagename.count("/")
    published = bool(github_name(app.config) and site_address(app.config))
    if path.suffix == ".ipynb" and pagename != pages.home(own):
        names = _write_copies(app, pages, own, path)
        entries += [Entry(label, f"{root}{FOLDER}/{name}", name) for label, name in names.items()]
        if published:
            entries += _launch_links(app.config, own, path.stem, entries[0].filename)
    if published:
        name = f"{pages.reference.slug}-{own.code}.pdf"
        entries.append(Entry(translate("All chapters (PDF)"), f"{root}pdf/{name}", name))


def _write_copies(app: Sphinx, pages: Pages, language: Language, path: Path) -> dict[str, str]:
    """Write the copies; return the files by their labels in the menu."""
    config, notebook = app.config, read_notebook(path, check=False)
    site, folder = site_address(config), Path(app.outdir) / FOLDER
    prefix = f"{pages.reference.slug}-{language.code}-"

    def address(stem: str, anchor: str) -> str:
        page = f"{pages.folder}/{language.code}/{stem}.html"
        if not site and page == f"{pages.home(language)}.html":
            return f"../{page}"  # there is no copy
        return f"{site}{page}{anchor}" if site else f"{prefix}{stem}.ipynb"

    settings = config.polyglot_install
    pip = [each.format(site=site) for each in settings.get("pip", [])]
    install = install_code(settings["import"], pip) if site and pip else ""
    names = {translate("Notebook"): f"{prefix}{path.stem}.ipynb"}
    write_notebook(
        reader_copy(notebook, address, install=install), folder / f"{prefix}{path.stem}.ipynb", check=False
    )
    if has_solutions(notebook):
        name = f"{prefix}{path.stem}-student.ipynb"
        note = translate("For students: this copy has neither solutions nor outputs.")
        write_notebook(
            reader_copy(student_copy(notebook), address, note=f"*{note}*", install=install),
            folder / name,
            check=False,
        )
        names[translate("Notebook without solutions")] = name
    return names


def _launch_links(config: Config, language: Language, stem: str, name: str) -> list[Entry]:
    """Return the links that open a notebook in Colab and in Binder."""
    project = github_name(config)
    colab = f"https://colab.research.google.com/github/{project}/blob/{FOLDER}/{name}"
    inside = quote(f"{LAB}/{language.code}/{stem}.ipynb", safe="")
    binder = f"https://mybinder.org/v2/gh/{project}/HEAD?labpath={inside}"
    return [Entry(translate("Open in Colab"), colab), Entry(translate("Open in Binder"), binder)]
