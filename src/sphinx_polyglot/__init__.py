"""A Sphinx extension for one book in several languages: each page is in the language of its folder.

    extensions = ["sphinx_polyglot"]
    polyglot_languages = {
        "en": {"locale": "en", "name": "English", "title": "Gardens"},
        "ko": {"locale": "ko", "name": "한국어", "title": "정원"},
    }

Each page, `book/<code>/<name>`, has the `lang`, the title, the sidebar and the neighbours of its language,
the interface of Sphinx and its themes in that language, anchors that are the cells' ids, and a language
switcher.

`pages.py` has the settings and finds a page's language, `inventories.py` keeps the labels of each language,
`fallback.py` fills in the pages that a language lacks, `navigation.py` makes what surrounds a page (sidebar,
neighbours, switcher, sitemap), `anchors.py` gives cells and headings their anchors, `strings.py` translates
the interface, `prose.py` has quotation marks and the search; `internals.py` changes Sphinx where it has no
setting for it.
"""

import zlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from sphinx_polyglot import anchors, fallback, internals, inventories, navigation, pages, prose, strings

_HERE = Path(__file__).parent


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the settings, the handlers of Sphinx's events, and the transforms.

    Sphinx calls the handlers of an event by their priority, 500 if none is given, then in this order. The
    documentation, docs/polyglot, describes the settings.
    """
    app.setup_extension("myst_nb")
    app.add_config_value("polyglot_languages", {}, "env", [dict])
    app.add_config_value("polyglot_folder", "book", "env", [str])
    app.add_config_value("polyglot_shared", [], "env", [list])
    app.add_config_value("polyglot_repository", "", "html", [str])
    app.add_config_value("polyglot_fallback", True, "env", [bool])
    app.add_config_value("polyglot_strings", "", "env", [str])
    # Attributes of the environment, label -> entry with a `docname`, where extensions keep their labels.
    app.add_config_value("polyglot_registries", ["proof_list", "sphinx_exercise_registry"], "env", [list])
    # Only the command line of `polyglot_book` reads these; Sphinx warns of settings that nobody registers.
    names = ("terms", "library", "verdicts", "language_call", "free_words", "vector_figures", "commands")
    for name in names:
        app.add_config_value(f"polyglot_{name}", None, "")

    # With a notebook as a dict, after its cells are marked: extensions may change it before it is parsed.
    app.add_event("polyglot-notebook-read")
    app.connect("config-inited", pages.read_environment)
    app.connect("config-inited", add_files_and_settings)
    # After 800: Sphinx loads its own catalogues then.
    app.connect("config-inited", internals.install_catalogues, priority=950)
    app.connect("builder-inited", internals.set_language_in_processes)
    app.connect("builder-inited", internals.set_direction)
    app.connect("builder-inited", internals.number_by_language)
    app.connect("builder-inited", fallback.install)
    app.connect("env-get-outdated", fallback.outdated)
    app.connect("env-before-read-docs", inventories.prepare)
    app.connect("env-purge-doc", inventories.forget)
    # First, since other handlers may translate words of the page.
    app.connect("source-read", navigation.set_page_language, priority=0)
    app.connect("source-read", anchors.mark_cells)
    # Last, when other handlers have entered what the page defines, or what they need to write it.
    app.connect("doctree-read", navigation.use_reference_inventory, priority=999)
    app.connect("doctree-resolved", navigation.use_reference_inventory, priority=999)
    # First, since other handlers read the contents.
    app.connect("env-updated", fallback.share_contents, priority=0)
    app.connect("env-updated", fallback.complete_contents, priority=0)
    app.connect("env-updated", anchors.share_anchors)
    app.connect("env-updated", inventories.update)
    app.connect("env-updated", navigation.refresh_outdated_pages)
    # Before 500: other projects are asked later.
    app.connect("missing-reference", inventories.resolve_in_reference, priority=400)
    # First, since themes (500) render their components with the language and the switcher of the context.
    app.connect("html-page-context", navigation.localise_page, priority=0)
    app.connect("html-collect-pages", inventories.index_pages)
    app.connect("html-collect-pages", prose.search_pages)
    app.connect("build-finished", navigation.restore_root, priority=0)
    app.connect("build-finished", navigation.write_sitemap)
    app.connect("build-finished", strings.report_missing)

    app.add_search_language(prose.Search)
    app.add_transform(prose.SmartQuotes)
    app.add_transform(anchors.AnchorCells)
    app.add_post_transform(navigation.SetLanguage)
    app.add_post_transform(anchors.ShareAnchors)
    internals.resolve_myst_in_reference()
    internals.replace_hidden_cell(app)
    return extension_metadata(_HERE)


# Sphinx event: config-inited
def add_files_and_settings(app: Sphinx, config: Config) -> None:
    """Add the book's words, templates, the search, and the switcher where the theme has an option for it."""
    if config.polyglot_strings:
        strings.add_translations(Path(app.srcdir, config.polyglot_strings))
    config.templates_path.insert(0, str(_HERE / "templates"))
    config.html_static_path.append(str(_HERE / "static"))
    if config.language.startswith("en"):  # the search of another language has its own stems
        config.html_search_language = config.html_search_language or prose.Search.lang
    app.add_css_file("language-switcher.css")
    app.add_js_file("language-switcher.js", loading_method="defer")
    if config.html_theme in navigation.PLACES:
        option, components = navigation.PLACES[config.html_theme]
        config.html_theme_options.setdefault(option, [*components])


def extension_metadata(folder: Path) -> dict[str, Any]:
    """Return what an extension's `setup` tells Sphinx.

    Args:
        folder: The folder of the extension.

    Returns:
        `env_version` is a checksum of the extension's files: Sphinx reads every page again when one changes.
        The other two keys say that pages may be read and written in parallel.
    """
    kinds = {".py", ".yml", ".html", ".css", ".js"}
    files = sorted(path for path in folder.rglob("*") if path.suffix in kinds)
    checksum = zlib.crc32(b"".join(path.read_bytes() for path in files))
    return {"env_version": checksum, "parallel_read_safe": True, "parallel_write_safe": True}
