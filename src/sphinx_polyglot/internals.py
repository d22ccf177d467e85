"""All uses of what is not public in Sphinx, MyST-Parser and MyST-NB.

They are why the versions of these packages are pinned: check them first when one is raised.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sphinx.locale
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput  # type: ignore[import-untyped]
from myst_parser.sphinx_ext.myst_refs import MystReferenceResolver
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.locale import _
from sphinx.writers.html5 import HTML5Translator

from sphinx_polyglot.inventories import using
from sphinx_polyglot.navigation import set_page_language, set_root, use_reference_inventory
from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import PageCatalogue, load_catalogue, note_missing

# Packages with catalogues that no extension may have registered before the catalogues are replaced.
_PACKAGES = ["sphinx", "pydata_sphinx_theme", "sphinx_book_theme", "sphinx_togglebutton"]


# Sphinx event: config-inited
def install_catalogues(app: Sphinx, config: Config) -> None:
    """Replace the catalogues of Sphinx, its themes and Jinja by those in the language of the page.

    Not public: `sphinx.locale.translators`, the catalogues of all messages, and `app.translator`, which the
    template bridge gives to Jinja. Sphinx has one language for a build.
    """
    languages = list(Pages.from_config(config).languages.values())
    packages = [*_PACKAGES, config.html_theme, *(each.partition(".")[0] for each in app.extensions)]
    specs = [find_spec(each) for each in dict.fromkeys(packages) if each.isidentifier()]
    folders: dict[str, list[str]] = {"sphinx": [str(Path(app.srcdir, each)) for each in config.locale_dirs]}
    for package in [Path(each.origin).parent for each in specs if each and each.origin]:
        for path in sorted(package.glob("**/en/LC_MESSAGES")) or sorted(package.glob("**/de/LC_MESSAGES")):
            for name in {each.stem for each in path.parents[1].glob("*/LC_MESSAGES/*.mo")}:
                folders.setdefault(name, []).append(str(path.parents[1]))
    for name, places in folders.items():
        sphinx.locale.translators["general", name] = load_catalogue(places, name, languages)
    app.translator = sphinx.locale.translators["general", "sphinx"]


class _Formats(dict[str, str]):
    """The formats of numbers, `Fig. %s`, in the language of the page."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a format: translated as a whole, or the word before the number."""
        text = super().get(key, default)
        return _in_any_catalogue(text) or _(text) if text else text

    def __getitem__(self, key: str) -> str:
        """Return a format."""
        return str(self.get(key))


def _in_any_catalogue(text: str) -> str:
    """Return the translation of a message of any extension, or of the word before `%s`; "" without one."""
    for catalogue in sphinx.locale.translators.values():
        if isinstance(catalogue, PageCatalogue) and (translation := catalogue.find(text)):
            return translation
    word, space, number = text.partition(" %s")
    return f"{_in_any_catalogue(word)} %s" if space and not number and _in_any_catalogue(word) else ""


# Sphinx event: builder-inited
def set_language_in_processes(app: Sphinx) -> None:
    """Set the language of a page in the process that writes it, which may not be the one that resolved it.

    Not public: the method `write_doc` of the builder, the first that a writing process calls.
    """
    write: Callable[[str, nodes.document], None] = app.builder.write_doc
    root = Pages.from_config(app.config).root
    app.config.numfig_format = _Formats(app.config.numfig_format)

    def write_doc(docname: str, doctree: nodes.document) -> None:
        set_page_language(app, docname)
        write(docname, doctree)
        set_root(app, root)
        use_reference_inventory(app)
        note_missing(Path(app.doctreedir))

    app.builder.write_doc = write_doc  # type: ignore[method-assign]


# Sphinx event: builder-inited
def set_direction(app: Sphinx) -> None:
    """Write the direction of the page's language into its first tag, for which templates have no setting.

    Not public: the method `render` of `builder.templates`.
    """
    if app.builder.format != "html":
        return
    render: Callable[[str, dict[str, Any]], str] = app.builder.templates.render

    def render_page(template: str, context: dict[str, Any]) -> str:
        text = render(template, context)
        if context.get("polyglot_direction") == "rtl":
            text = re.sub(r"<html\b(?![^>]*\sdir=)", '<html dir="rtl"', text, count=1)
        return text

    app.builder.templates.render = render_page


# Sphinx event: builder-inited
def number_by_language(app: Sphinx) -> None:
    """Number the sections, figures, tables and listings of each language on their own.

    Not public: `assign_section_numbers` and `assign_figure_numbers`, methods of a listener, which number all
    pages in one sequence.
    """
    pages = Pages.from_config(app.config)
    homes = [pages.home(each) for each in pages.languages.values()]

    def by_language(
        collector: Any, method: Callable[..., object], attribute: str
    ) -> Callable[..., list[str]]:
        def assign(env: BuildEnvironment) -> list[str]:
            root, numbered = env.config.root_doc, env.numbered_toctrees
            before, merged = getattr(env, attribute), dict[str, Any]()
            for start in [*homes, root]:
                # sphinx-external-toc and sphinx-multitoc-numbering count on where they were.
                counters = [name for name, each in vars(collector).items() if type(each) is int]
                vars(collector).update(dict.fromkeys(counters, 0))
                language = pages.language_of(start)
                env.numbered_toctrees = {each for each in numbered if pages.language_of(each) == language}
                env.config.root_doc = start
                method(env)
                found = getattr(env, attribute)
                if start in homes:  # the first page of all may have those of other languages below it
                    found = {each: found[each] for each in found if pages.language_of(each) == language}
                merged = found | merged
            env.config.root_doc, env.numbered_toctrees = root, numbered
            setattr(env, attribute, merged)
            return [each for each in merged if merged[each] != before.get(each)]

        return assign

    for listener in app.events.listeners["env-get-updated"]:
        collector: Any = getattr(listener.handler, "__self__", None)
        if isinstance(collector, TocTreeCollector):
            for kind in ("section", "figure"):
                method = getattr(collector, f"assign_{kind}_numbers")
                assign = by_language(collector, method, f"toc_{kind[:3]}numbers")
                setattr(collector, f"assign_{kind}_numbers", assign)


def replace_doctree(app: Sphinx, docname: str, doctree: nodes.document) -> None:
    """Store another doctree of a page that has been read.

    Not public: the caches of the environment.
    """
    app.builder.write_doctree(docname, doctree, _cache=False)
    app.env._pickled_doctree_cache.pop(docname, None)
    app.env._write_doc_doctree_cache.pop(docname, None)


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


def resolve_myst_in_reference() -> None:
    """Resolve Markdown links to labels that a language lacks in the reference language.

    Not public: the method `resolve_myst_ref_any` of MyST-Parser's resolver, which asks no other extension.
    """
    original = MystReferenceResolver.resolve_myst_ref_any

    def resolve(self: Any, *args: Any) -> nodes.Element | None:
        node = original(self, *args)
        if node is not None or "polyglot_languages" not in self.config:
            return node
        with using(self.env):
            return original(self, *args)

    if original.__module__ != __name__:
        MystReferenceResolver.resolve_myst_ref_any = resolve  # type: ignore[method-assign, assignment]
