"""Every hook into a part that Sphinx, MyST-Parser, MyST-NB or a theme keeps to itself.

They are why the versions of these packages are pinned; look here first when one of them is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import sphinx.locale
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import ParallelTasks
from sphinx.writers.html5 import HTML5Translator

from polyglot_book.site.languages import Pages
from polyglot_book.site.navigation import speak
from polyglot_book.site.strings import catalogue_from, translate

# How many pages are worth processes of their own; and the extensions that do not say that they allow it.
_MANY, _MOST = 20, 8
_SILENT = {"sphinx_multitoc_numbering", "sphinx_jupyterbook_latex"}
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
def switch_search_off(app: Sphinx) -> None:
    """Write no search index.

    Hooks: the attribute `search` of the HTML builder. There is no setting.
    """
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]


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


# Sphinx event: env-before-read-docs
def share_the_work(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Have many pages read and written by all processors; a few are done sooner by one.

    Hooks: `app.parallel`, for which Jupyter Book has no option, and `app.extensions`, two of which do not say
    that pages can be read in parallel; one adds numbers when all are read, the other writes LaTeX.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if app.parallel == 1 < processors and len(docnames) > _MANY:
        # The process that shares the work out has little to do itself.
        app.parallel = min(processors, _MOST) + 1
    for extension in app.extensions.values():
        if extension.name in _SILENT:
            extension.parallel_read_safe = True


# Sphinx event: builder-inited
def write_chapter_by_chapter(app: Sphinx) -> None:
    """Have one process resolve and write a chapter in all languages: what is the same is highlighted once.

    Hooks: the methods `_write_parallel` and `_write_serial` of the builder, and `images`, which it copies
    when all is written. Sphinx has one process resolve all pages, and others write them by their names.
    """
    builder: Any = app.builder
    if builder.format != "html":
        return

    def write(docnames: list[str]) -> dict[str, str]:
        builder._write_serial(docnames)
        images: dict[str, str] = builder.images
        return images

    def write_parallel(docnames: Sequence[str], nproc: int) -> None:
        write([docnames[0]])  # here: what is loaded and compiled for it is there for all
        chapters: dict[str, list[str]] = {}
        for docname in docnames[1:]:
            chapters.setdefault(docname.rpartition("/")[2], []).append(docname)
        tasks = ParallelTasks(nproc)
        # Of those that wait the last is begun first; the short ones are for when a process has none left.
        for chapter in sorted(chapters.values(), key=lambda each: sum(map(length, each))):
            tasks.add_task(write, chapter, lambda _, images: builder.images.update(images))
        tasks.join()

    def length(docname: str) -> int:
        return os.path.getsize(app.env.doc2path(docname))

    builder._write_parallel = write_parallel


# Sphinx event: builder-inited
def remember_highlighted(app: Sphinx) -> None:
    """Highlight the same code once.

    Hooks: `builder.highlighter`, its method `highlight_block`.
    """
    highlighter = getattr(app.builder, "highlighter", None)
    if highlighter is None:
        return
    highlight: Callable[..., str] = highlighter.highlight_block
    known: dict[str, str] = {}

    def highlight_block(*args: Any, location: Any = None, **kwargs: Any) -> str:
        key = repr((args, kwargs))
        if key not in known:
            known[key] = highlight(*args, location=location, **kwargs)
        return known[key]

    highlighter.highlight_block = highlight_block


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


# Sphinx event: config-inited
def silence_thebe(app: Sphinx, config: Config) -> None:
    """Keep sphinx-thebe, which Jupyter Book always loads, from writing another host's kernel into every page.

    Hooks: `app.events.listeners` and `app.registry.css_files`, where Sphinx keeps what extensions ask for.
    """
    for listeners in app.events.listeners.values():
        listeners[:] = [each for each in listeners if each.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [each for each in app.registry.css_files if "thebe" not in each[0]]
