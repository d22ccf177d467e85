"""The course's theme as a Sphinx extension: layout, style, scripts, cards and files."""

import gc
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polyhead_course.theme import (
    figures,
    glance,
    internals,
    language_choice,
    markup,
    mathml,
    names,
    reference,
    root_files,
)
from polyhead_course.theme.head import head_of
from polyhead_course.theme.page_links import ChapterFiles, check_rights, downloads_of, rights_of
from polyhead_course.theme.search import write_indexes
from polyhead_course.theme.sidebar import add_sidebar
from polyhead_course.theme.stylesheet import write_stylesheet
from sphinx_polyglot import extension_metadata
from sphinx_polyglot.strings import add_translations

_HERE = Path(__file__).parent

add_translations(_HERE / "strings")


# Sphinx event: config-inited
def configure(app: Sphinx, config: Config) -> None:
    """Set the options of Sphinx, its themes and MyST that the site needs."""
    config.templates_path.insert(0, str(_HERE / "templates"))
    # A book that has a folder `_static` needs no entry: Jupyter Book loads every script in it on every page.
    config.html_static_path.append(str(_HERE / "static"))
    config.html_math_renderer = mathml.RENDERER
    config.myst_update_mathjax = False
    # The reader downloads the notebooks of `page_links` instead.
    config.html_copy_source = False
    config.html_use_index = config.html_domain_indices = False
    config.html_sidebars = {"**": ["navbar-logo.html", "sbt-sidebar-nav.html"]}


# Sphinx event: html-page-context
def complete_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add what the theme's templates need to the context of a page, and complete its body."""
    context.update(head_of(app, pagename, doctree))
    context.update(rights_of(app, pagename))
    context["polyglot_downloads"] = downloads_of(app, pagename)
    if context.get("polyglot_is_course"):
        words = Path(app.outdir, "_static", f"later-{context['language']}.json")
        words.parent.mkdir(exist_ok=True)
        words.write_text(app.builder.templates.render("later-words.html", context), encoding="utf-8")
    if "body" in context:
        # Links first: they need markup that is removed then.
        context["body"] = markup.simplify(names.link_code(app, pagename, context["body"], doctree))
        figures.write_embeds(app, pagename, context)


# Sphinx event: build-finished
def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the files that are made from all pages, or from none."""
    if exception is not None or app.builder.format != "html":
        return
    root_files.write_cards(app)
    root_files.write_files(app)
    root_files.write_not_found(app)
    root_files.write_root(app)
    # After the last pages: it removes the rules that no page uses, and from `_static` the files that it does
    # not know, such as the modules of the live figures.
    write_stylesheet(app)
    if app.config.polyglot_live:
        figures.copy_modules(Path(app.srcdir, app.config.polyglot_live), Path(app.outdir, "_static"))
    write_indexes(app)
    root_files.write_offline(app)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    # A build allocates many objects and frees few before it ends: collections took a fifth of its time.
    gc.set_threshold(1_000_000)
    # First, since handlers of the same event run in the order in which they are registered: the context of a
    # page has a language when the theme's handlers run, and the theme's templates come before the others.
    app.setup_extension("sphinx_polyglot")
    app.add_config_value("polyglot_install", {}, "html", [dict])
    app.add_config_value("polyglot_live", "", "env", [str])
    app.add_config_value("polyglot_rights", {}, "html", [dict])
    app.add_config_value("polyglot_api", {}, "env", [dict])

    app.connect("config-inited", check_rights)
    app.connect("config-inited", reference.configure)
    app.connect("config-inited", configure)
    app.connect("config-inited", internals.remove_thebe)
    # After Jupyter Book's extensions (500), which come later than this one.
    app.connect("config-inited", internals.number_no_figures, priority=900)
    app.connect("builder-inited", internals.disable_search_index)
    app.connect("builder-inited", internals.write_letters_in_json)
    app.connect("builder-inited", internals.write_by_chapter)
    app.connect("env-before-read-docs", internals.use_all_processors)
    app.connect("polyglot-notebook-read", figures.carry_data)
    app.connect("env-updated", reference.refresh_links)
    # Before the themes (500), which leave out a sidebar that is empty.
    app.connect("html-page-context", add_sidebar, priority=1)
    # After MyST-NB and the themes (500), which make the body and some of the context.
    app.connect("html-page-context", complete_page, priority=900)
    app.connect("build-finished", finish, priority=900)  # after the themes (500), which write style sheets

    app.add_post_transform(figures.InlineFigures)
    app.add_post_transform(glance.FirstGlance)
    app.add_post_transform(ChapterFiles)
    app.add_post_transform(markup.MarkChineseWords)
    app.add_post_transform(markup.NameRows)
    app.add_post_transform(names.LinkNames)
    app.add_html_math_renderer(
        mathml.RENDERER,
        inline_renderers=(mathml.visit_inline, None),
        block_renderers=(mathml.visit_block, None),
    )
    app.add_node(language_choice.language_cards, html=(language_choice.visit_cards, None))
    app.add_directive("choose-language", language_choice.ChooseLanguage)
    app.add_directive("api-reference", reference.ApiReference)
    return extension_metadata(_HERE)
