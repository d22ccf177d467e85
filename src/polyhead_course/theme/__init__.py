"""The theme of the course as a Sphinx extension: what its pages look like, load, show and offer."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from polyhead_course.theme import (
    assets,
    cards,
    downloads,
    figures,
    foreign,
    formulas,
    landing,
    live,
    names,
    private,
    reference,
    rights,
    robots,
    settings,
    sharing,
    tables,
)
from sphinx_polyglot import fingerprint


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    # A build makes much and drops little before it ends: to look for that took a fifth of its time.
    gc.set_threshold(1_000_000)
    app.setup_extension("sphinx_polyglot")
    app.add_config_value("polyglot_install", {}, "html", [dict])
    app.add_config_value("polyglot_live", None, "env", [str])
    app.add_config_value("polyglot_rights", {}, "html", [dict])
    app.add_config_value("polyglot_fonts", {}, "html", [dict])
    app.add_config_value("polyglot_api", {}, "env", [dict])

    app.connect("config-inited", reference.share_pages, priority=0)
    app.connect("config-inited", settings.check)
    app.connect("config-inited", assets.configure, priority=910)
    app.connect("config-inited", private.silence_thebe)
    app.connect("builder-inited", private.switch_search_off)
    app.connect("builder-inited", private.write_chapter_by_chapter)
    app.connect("builder-inited", private.remember_highlighted)
    app.connect("env-before-read-docs", reference.read_before_forks)
    app.connect("env-before-read-docs", private.share_the_work)
    app.connect("source-read", live.carry_data, priority=901)
    app.connect("env-updated", reference.refresh_links)
    app.connect("html-page-context", sharing.add_sharing, priority=1)
    app.connect("html-page-context", rights.add_rights, priority=1)
    app.connect("html-page-context", downloads.offer_notebooks, priority=1)
    app.connect("html-page-context", names.link_code, priority=998)
    app.connect("html-page-context", assets.finish_assets, priority=999)
    app.connect("build-finished", assets.write_assets, priority=600)
    app.connect("build-finished", live.copy_modules, priority=700)
    app.connect("build-finished", cards.write_cards)
    app.connect("build-finished", robots.write_files)
    app.connect("build-finished", robots.write_missing, priority=500)
    app.connect("build-finished", landing.write_entrance, priority=400)

    app.add_post_transform(figures.InlineFigures)
    app.add_post_transform(foreign.MarkChineseWords)
    app.add_post_transform(tables.NameRows)
    app.add_post_transform(names.LinkNames)
    app.add_html_math_renderer(
        formulas.RENDERER,
        inline_renderers=(formulas.visit_inline, None),
        block_renderers=(formulas.visit_block, None),
    )
    app.add_node(landing.language_cards, html=(landing.visit_cards, None))
    app.add_directive("choose-language", landing.ChooseLanguage)
    app.add_directive("api-reference", reference.ApiReference)
    return {
        "version": "1",
        "env_version": fingerprint(Path(__file__).parent),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
