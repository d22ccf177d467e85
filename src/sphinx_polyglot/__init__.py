"""The Sphinx extension that lets every page of a book speak the language of its folder.

Each page gets its `lang`, the title, sidebar and neighbours of its language, the words of Sphinx and its
themes in that language, anchors that are the cells' ids, and the links that
`language-switcher.html` shows.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from sphinx_polyglot import alternates, anchors, navigation, places, private


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.setup_extension("myst_nb")
    app.add_config_value("polyglot_languages", {}, "env", [dict])
    app.add_config_value("polyglot_folder", "book", "env", [str])
    app.add_config_value("polyglot_shared", [], "env", [list])
    app.add_config_value("polyglot_repository", "", "html", [str])
    # Read by the tools alone; Sphinx wants to know every name of its configuration.
    app.add_config_value("polyglot_terms", None, "", [str])
    app.add_config_value("polyglot_library", [], "", [list])
    app.add_config_value("polyglot_verdicts", None, "", [dict])

    app.connect("config-inited", places.configure, priority=0)
    app.connect("config-inited", add_templates, priority=900)
    # After the theme has set its own translator.
    app.connect("config-inited", private.install_catalogues, priority=950)
    app.connect("builder-inited", private.speak_in_every_process)
    # Before every other reader of the source, which may already say words of the page.
    app.connect("source-read", navigation.speak_while_reading, priority=0)
    app.connect("source-read", anchors.mark_cells, priority=900)
    app.connect("env-updated", navigation.refresh_neighbours)
    # Before the themes, which read the context that these two fill.
    app.connect("html-page-context", navigation.localise_page, priority=0)
    app.connect("html-page-context", alternates.add_alternates, priority=1)
    app.connect("build-finished", alternates.write_sitemap)

    app.add_transform(anchors.AnchorCells)
    app.add_post_transform(navigation.SpeakWhileWriting)
    private.replace_hidden_cell(app)
    # Pages can be read and written side by side: each process is told the language of each of its pages.
    return {
        "version": "1",
        "env_version": fingerprint(Path(__file__).parent),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


# Sphinx event: config-inited (before a theme of the book's own adds its templates)
def add_templates(app: Sphinx, config: Config) -> None:
    """Let templates include `language-switcher.html`."""
    config.templates_path.insert(0, str(Path(__file__).parent / "templates"))


def fingerprint(*folders: Path) -> int:
    """Return a number that changes with an extension's files, so that Sphinx then reads every page anew."""
    kinds = {".py", ".yml", ".html", ".css", ".js"}
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in kinds)
    return zlib.crc32(b"".join(path.read_bytes() for path in files))
