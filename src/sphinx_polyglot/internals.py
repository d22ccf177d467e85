"""All uses of what is not public in Sphinx, MyST-Parser and MyST-NB.

They are why the versions of these packages are pinned: check them first when one is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import sphinx.locale
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator

from sphinx_polyglot.navigation import set_page_language
from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import load_catalogue

# Catalogue -> packages, and the folders with its translations in them.
_CATALOGUES = {
    "sphinx": [("sphinx", "locale"), ("pydata_sphinx_theme", "locale")],
    "booktheme": [("sphinx_book_theme", "theme/sphinx_book_theme/static/locales")],
    "togglebutton": [("sphinx_togglebutton", "translations/locales")],
}


# Sphinx event: config-inited
def install_catalogues(app: Sphinx, config: Config) -> None:
    """Replace the catalogues of Sphinx, its themes and Jinja by those in the language of the page.

    Not public: `sphinx.locale.translators`, the catalogues of all messages, and `app.translator`, which the
    template bridge gives to Jinja. Sphinx has one language for a build.
    """
    languages = list(Pages.from_config(config).languages.values())
    for name, locations in _CATALOGUES.items():
        folders = [str(files(package) / folder) for package, folder in locations if find_spec(package)]
        sphinx.locale.translators["general", name] = load_catalogue(folders, name, languages)
    app.translator = sphinx.locale.translators["general", "sphinx"]


# Sphinx event: builder-inited
def set_language_in_processes(app: Sphinx) -> None:
    """Set the language of a page in the process that writes it, which may not be the one that resolved it.

    Not public: the method `write_doc` of the builder, the first that a writing process calls.
    """
    write: Callable[[str, nodes.document], None] = app.builder.write_doc

    def write_doc(docname: str, doctree: nodes.document) -> None:
        set_page_language(app, docname)
        write(docname, doctree)

    app.builder.write_doc = write_doc  # type: ignore[method-assign]


def code_cells(document: nodes.document) -> Iterator[tuple[nodes.container, Mapping[str, Any]]]:
    """Iterate over the code cells of a page and their metadata.

    Not public: the attributes `nb_element` and `cell_metadata` that MyST-NB gives to its containers.
    """
    for container in document.findall(nodes.container):
        if container.get("nb_element") == "cell_code":
            yield container, container.get("cell_metadata", {})


def publish_anchors(
    document: nodes.document, anchors: Mapping[str, tuple[int, str, str]], renamed: Mapping[str, str]
) -> None:
    """Register anchors as targets of Markdown links: `[](#id)` on the page, `[](page.ipynb#id)` elsewhere.

    Not public: `document.myst_slugs` and `env.metadata[docname]["myst_slugs"]`, where MyST-Parser keeps the
    anchors of headings: anchor -> line, id, title. Sphinx's labels, which are public, are global, and all
    languages have the same ids.

    Args:
        document: The page.
        anchors: The new anchors.
        renamed: Old id of a heading -> new id.
    """
    slugs = {
        slug: (line, renamed.get(identifier, identifier), title)
        for slug, (line, identifier, title) in getattr(document, "myst_slugs", {}).items()
    }
    slugs.update(anchors)
    document.myst_slugs = slugs  # type: ignore[attr-defined]
    env = document.settings.env
    env.metadata[env.docname]["myst_slugs"] = slugs


def visit_hidden_cell(writer: HTML5Translator, node: HideCodeCellNode) -> None:
    """Write the prompt of a hidden cell in the language of the page.

    Not public: `HideCodeCellNode` of MyST-NB. Its own writer has English prompts only, and labels all of them
    "Toggle hidden content" for screen readers.
    """
    writer.body.append(writer.builder.templates.render("hidden-cell.html", {"node": node}))


def replace_hidden_cell(app: Sphinx) -> None:
    """Write hidden cells with `visit_hidden_cell`."""
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden_cell, depart_HideCellInput))
