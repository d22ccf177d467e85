"""The course's theme as a Sphinx extension: layout, style, scripts, cards and files."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from polyhead_course.theme import (
    assets,
    cards,
    chinese_words,
    downloads,
    figures,
    formulas,
    language_choice,
    live,
    names,
    private,
    reference,
    rights,
    root_files,
    settings,
    sharing,
    tables,
)
from sphinx_polyglot import fingerprint
from sphinx_polyglot.strings import add_translations

_HERE = Path(__file__).parent
add_translations(_HERE / "strings")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    # A build allocates many objects and frees few before it ends: collections took a fifth of its time.
    gc.set_threshold(1_000_000)
    # First, since handlers of the same event run in the order in which they are registered: the context of a
    # page has a language when the theme's handlers run, and the theme's templates come before the others.
    app.setup_extension("sphinx_polyglot")
    app.add_config_value("polyglot_install", {}, "html", [dict])
    app.add_config_value("polyglot_live", None, "env", [str])
    app.add_config_value("polyglot_rights", {}, "html", [dict])
    app.add_config_value("polyglot_fonts", {}, "html", [dict])
    app.add_config_value("polyglot_api", {}, "env", [dict])

    app.connect("config-inited", settings.check)
    app.connect("config-inited", reference.share_pages)
    app.connect("config-inited", assets.configure)
    app.connect("config-inited", private.remove_thebe)
    app.connect("builder-inited", private.disable_search_index)
    app.connect("builder-inited", private.write_by_chapter)
    app.connect("builder-inited", private.cache_highlighting)
    app.connect("env-before-read-docs", reference.read_before_forks)
    app.connect("env-before-read-docs", private.use_all_processors)
    app.connect("polyglot-notebook-read", live.carry_data)
    app.connect("env-updated", reference.refresh_links)
    app.connect("html-page-context", sharing.add_sharing)
    app.connect("html-page-context", rights.add_rights)
    app.connect("html-page-context", downloads.add_downloads)
    # After MyST-NB and the themes (500). `finish_page` comes last: it removes markup that `link_code` reads.
    app.connect("html-page-context", names.link_code, priority=900)
    app.connect("html-page-context", assets.finish_page, priority=900)
    app.connect("build-finished", cards.write_cards)
    app.connect("build-finished", root_files.write_files)
    app.connect("build-finished", root_files.write_not_found)
    app.connect("build-finished", language_choice.write_root)
    # After the themes (500), which write style sheets, and the last pages: it removes the rules that no page
    # uses, and the files of `_static` that it does not know, such as the modules of the live figures.
    app.connect("build-finished", assets.write_assets, priority=900)
    app.connect("build-finished", live.copy_modules, priority=900)

    app.add_post_transform(figures.InlineFigures)
    app.add_post_transform(chinese_words.MarkChineseWords)
    app.add_post_transform(tables.NameRows)
    app.add_post_transform(names.LinkNames)
    app.add_html_math_renderer(
        formulas.RENDERER,
        inline_renderers=(formulas.visit_inline, None),
        block_renderers=(formulas.visit_block, None),
    )
    app.add_node(language_choice.language_cards, html=(language_choice.visit_cards, None))
    app.add_directive("choose-language", language_choice.ChooseLanguage)
    app.add_directive("api-reference", reference.ApiReference)
    return {
        "version": "1",
        "env_version": fingerprint(_HERE),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
