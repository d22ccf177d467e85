"""The settings, styles and scripts of the site: a page loads nothing from another host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polyhead_course.theme.formulas import RENDERER
from polyhead_course.theme.head import HEAD_SCRIPT
from polyhead_course.theme.markup import simplify
from polyhead_course.theme.policy import content_policy
from polyhead_course.theme.stylesheet import write_stylesheet
from sphinx_polyglot.search import indexing
from sphinx_polyglot.strings import translate

_HERE = Path(__file__).parent
# The messages of the scripts.
_MESSAGES = (
    "Copy to clipboard", "Copied!", "Failed to copy", "Close",
    "Color mode: %s", "Light", "Dark", "System Settings",
    "Search", "Search in all languages", "Results: %d", "Nothing found", "The search could not be loaded.",
    "The search works on a website, not in pages opened as files.", "Formula", "Table",
)  # fmt: skip


# Sphinx event: config-inited
def configure(app: Sphinx, config: Config) -> None:
    """Set the options of Sphinx, its themes and MyST that the site needs."""
    config.templates_path.insert(0, str(_HERE / "templates"))
    # A book that has a folder `_static` needs no entry: Jupyter Book loads every script in it on every page.
    config.html_static_path.append(str(_HERE / "static"))
    config.html_math_renderer = RENDERER
    config.myst_update_mathjax = False
    # The reader downloads the notebooks of `downloads` instead.
    config.html_copy_source = False
    config.html_sidebars = {"**": ["navbar-logo.html", "sbt-sidebar-nav.html"]}


# Sphinx event: html-page-context
def finish_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the messages, the script and the policy of the page to its context, and simplify its body."""
    context["polyglot_words"] = {each: translate(each) for each in _MESSAGES}
    context["polyglot_head_script"] = HEAD_SCRIPT
    context["polyglot_policy"] = content_policy(HEAD_SCRIPT)
    if "body" in context:
        context["body"] = simplify(context["body"])


# Sphinx event: build-finished
def write_assets(app: Sphinx, exception: Exception | None) -> None:
    """Write the style sheet while other processes write the search indexes."""
    if exception is None and app.builder.format == "html":
        with indexing(app):
            write_stylesheet(app)
