"""Every hook into a part that Sphinx, MyST-Parser, MyST-NB or a theme keeps to itself.

They are why the versions of these packages are pinned; look here first when one of them is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any

import sphinx.locale
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator

from sphinx_polyglot.languages import Pages
from sphinx_polyglot.navigation import speak
from sphinx_polyglot.strings import catalogue_from, translate

# Catalogue -> the folders, package by package, in which its translations lie.
_CATALOGUES = {
    "sphinx": [("sphinx", "locale"), ("pydata_sphinx_theme", "locale")],
    "booktheme": [("sphinx_book_theme", "theme/sphinx_book_theme/static/locales")],
    "togglebutton": [("sphinx_togglebutton", "translations/locales")],
}


# Sphinx event: config-inited
def install_catalogues(app: Sphinx, config: Config) -> None:
    """Have Sphinx, its themes and Jinja ask catalogues that know the language of the page.

    Hooks: `sphinx.locale.translators`, where Sphinx looks every message up, and `app.translator`, which
    the template bridge hands to Jinja. Sphinx knows one language a build, so there is no public way.
    """
    languages = list(Pages.from_config(config).languages.values())
    for name, places in _CATALOGUES.items():
        folders = [str(files(package) / folder) for package, folder in places]
        sphinx.locale.translators["general", name] = catalogue_from(folders, name, languages)
    app.translator = sphinx.locale.translators["general", "sphinx"]


# Sphinx event: builder-inited
def speak_in_every_process(app: Sphinx) -> None:
    """Speak the language of a page while it is written, in a process that has not resolved it, too.

    Hooks: the method `write_doc` of the builder, the first that a writing process calls.
    """
    write: Callable[[str, nodes.document], None] = app.builder.write_doc

    def write_doc(docname: str, doctree: nodes.document) -> None:
        speak(app, docname)
        write(docname, doctree)

    app.builder.write_doc = write_doc  # type: ignore[method-assign]


def code_cells(document: nodes.document) -> Iterator[tuple[nodes.container, Mapping[str, Any]]]:
    """Give the code cells of a page, each with its metadata.

    Hooks: the attributes `nb_element` and `cell_metadata` that MyST-NB gives to its containers.
    """
    for container in document.findall(nodes.container):
        if container.get("nb_element") == "cell_code":
            yield container, container.get("cell_metadata", {})


def publish_anchors(
    document: nodes.document, anchors: Mapping[str, tuple[int, str, str]], renamed: Mapping[str, str]
) -> None:
    """Let Markdown links lead to the anchors of a page: `[](#id)` inside it, `[](page.ipynb#id)` to it.

    Hooks: `document.myst_slugs` and `env.metadata[docname]["myst_slugs"]`, where MyST-Parser keeps the
    anchors that it makes from headings: anchor -> line, id, title. Sphinx's labels, the public way, are
    global, and the same id stands in every language.

    Args:
        document: The page.
        anchors: The new ones.
        renamed: Ids that headings had -> the ids they have now.
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

    Hooks: `HideCodeCellNode` of MyST-NB, whose writer knows English only, and names the prompt "Toggle
    hidden content" to screen readers, whatever it shows to others.
    """
    classes = " ".join(node["classes"])
    writer.body.append(f'<details class="admonition hide {classes}">\n<summary>\n')
    for state, key in (("collapsed", "prompt_show"), ("expanded", "prompt_hide")):
        prompt = escape(translate(node[key]))
        writer.body.append(f'<p class="{state} admonition-title">{prompt}</p>\n')
    writer.body.append("</summary>\n")


def replace_hidden_cell(app: Sphinx) -> None:
    """Write hidden cells with `visit_hidden_cell`."""
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden_cell, depart_HideCellInput))
