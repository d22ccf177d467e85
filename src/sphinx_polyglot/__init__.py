"""A Sphinx extension for books in several languages: each page is in the language of its folder.

Each page has the `lang`, the title, the sidebar and the neighbours of its language, the interface of Sphinx
and its themes in that language, anchors that are the cells' ids, and a language switcher.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from sphinx_polyglot import addresses, alternates, anchors, navigation, private

_HERE = Path(__file__).parent


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.setup_extension("myst_nb")
    app.add_config_value("polyglot_languages", {}, "env", [dict])
    app.add_config_value("polyglot_folder", "book", "env", [str])
    app.add_config_value("polyglot_shared", [], "env", [list])
    app.add_config_value("polyglot_shared_title", "", "html", [str])
    app.add_config_value("polyglot_repository", "", "html", [str])
    # Only the command line of `polyglot_book` reads these; Sphinx warns of settings that nobody registers.
    app.add_config_value("polyglot_terms", None, "", [str])
    app.add_config_value("polyglot_library", [], "", [list])
    app.add_config_value("polyglot_verdicts", None, "", [dict])
    app.add_config_value("polyglot_language_call", "", "", [str])

    # With a notebook as a dict, after its cells are marked: extensions may change it before it is parsed.
    app.add_event("polyglot-notebook-read")
    app.connect("config-inited", addresses.configure)
    app.connect("config-inited", configure)
    # After 800: Sphinx loads its own catalogues then.
    app.connect("config-inited", private.install_catalogues, priority=950)
    app.connect("builder-inited", private.set_language_in_processes)
    # First, since other handlers may translate words of the page.
    app.connect("source-read", navigation.set_language_of_source, priority=0)
    app.connect("source-read", anchors.mark_cells)
    app.connect("env-updated", navigation.outdated_pages)
    # First, since themes (500) render their components with the language and the switcher of the context.
    app.connect("html-page-context", navigation.localise_page, priority=0)
    app.connect("html-page-context", alternates.add_switcher, priority=0)
    app.connect("build-finished", alternates.write_sitemap)

    app.add_transform(anchors.AnchorCells)
    app.add_post_transform(navigation.SetLanguage)
    private.replace_hidden_cell(app)
    return {
        "version": "1",
        "env_version": fingerprint(_HERE),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


# Sphinx event: config-inited
def configure(app: Sphinx, config: Config) -> None:
    """Add the templates, put the switcher on the pages of the book theme, drop what would mix languages."""
    config.templates_path.insert(0, str(_HERE / "templates"))
    config.html_static_path.append(str(_HERE / "static"))
    app.add_css_file("language-switcher.css")
    if config.html_theme == "sphinx_book_theme":
        buttons = ["language-switcher.html", "article-header-buttons.html"]
        config.html_theme_options.setdefault("article_header_end", buttons)
    # A build numbers the figures of all languages in one sequence: the second language would not begin at 1.
    config.numfig = False
    # An index lists the terms of all languages.
    config.html_use_index = False
    config.html_domain_indices = False


def fingerprint(*folders: Path) -> int:
    """Return a checksum of an extension's files: Sphinx reads every page again when it changes."""
    kinds = {".py", ".yml", ".html", ".css", ".js"}
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in kinds)
    return zlib.crc32(b"".join(path.read_bytes() for path in files))
