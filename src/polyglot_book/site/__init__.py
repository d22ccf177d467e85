"""The Sphinx extension that lets every page of a Jupyter Book speak the language of its folder."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from polyglot_book.site import alternates, anchors, assets, figures, formulas, landing, navigation, private


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.setup_extension("myst_nb")
    app.add_config_value("polyglot_languages", {}, "env", [dict])
    app.add_config_value("polyglot_folder", "book", "env", [str])
    # Read by the tools alone; Sphinx wants to know every name of its configuration.
    app.add_config_value("polyglot_terms", None, "", [str])
    app.add_config_value("polyglot_library", [], "", [list])

    app.connect("config-inited", assets.configure, priority=910)
    app.connect("config-inited", private.install_catalogues, priority=950)
    app.connect("config-inited", private.silence_thebe)
    app.connect("builder-inited", private.switch_search_off)
    app.connect("source-read", navigation.speak_while_reading, priority=0)
    app.connect("source-read", anchors.mark_cells, priority=900)
    app.connect("env-updated", navigation.refresh_neighbours)
    app.connect("html-page-context", navigation.localise_page, priority=0)
    app.connect("html-page-context", alternates.add_alternates, priority=1)
    app.connect("html-page-context", assets.finish_assets, priority=999)
    app.connect("build-finished", alternates.write_sitemap)
    app.connect("build-finished", landing.write_entrance, priority=400)

    app.add_transform(anchors.AnchorCells)
    app.add_post_transform(navigation.SpeakWhileWriting)
    app.add_post_transform(figures.InlineFigures)
    app.add_html_math_renderer(
        formulas.RENDERER,
        inline_renderers=(formulas.visit_inline, None),
        block_renderers=(formulas.visit_block, None),
    )
    app.add_node(landing.language_cards, html=(landing.visit_cards, None))
    app.add_directive("choose-language", landing.ChooseLanguage)
    private.replace_hidden_cell(app)
    app.add_css_file("polyglot.css")
    app.add_js_file("polyglot.js", loading_method="defer")
    # One language is spoken at a time: pages can be read side by side in processes of their own, each of
    # which is told the language; a process that only writes is not.
    return {
        "version": "1",
        "env_version": _fingerprint(),
        "parallel_read_safe": True,
        "parallel_write_safe": False,
    }


def _fingerprint() -> int:
    """A number that changes with the extension, so that Sphinx then reads every page anew."""
    kinds = {".py", ".yml", ".html", ".css", ".js"}
    files = sorted(path for path in Path(__file__).parent.rglob("*") if path.suffix in kinds)
    return zlib.crc32(b"".join(path.read_bytes() for path in files))
