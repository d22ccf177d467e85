"""Decides what a page loads: this package's style and script, and nothing from another host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polyhead_course.theme.formulas import RENDERER
from polyhead_course.theme.head import HEAD_SCRIPT
from polyhead_course.theme.markup import lighter
from polyhead_course.theme.policy import policy_for
from polyhead_course.theme.stylesheet import write_stylesheet
from sphinx_polyglot.search import indexing
from sphinx_polyglot.strings import translate

_HERE = Path(__file__).parent
# The words that the scripts write into a page.
_WORDS = (
    "Copy to clipboard", "Copied!", "Failed to copy", "Close",
    "Color mode: %s", "Light", "Dark", "System Settings",
    "Search", "Search in all languages", "Results: %d", "Nothing found", "The search could not be loaded.",
    "The search works on a website, not in pages opened as files.", "Formula", "Table",
)  # fmt: skip


# Sphinx event: config-inited
def configure(app: Sphinx, config: Config) -> None:
    """Set what the site needs of Sphinx, the themes and MyST."""
    config.templates_path.insert(0, str(_HERE / "templates"))
    # Not the book's own `_static`: Jupyter Book puts every script there on every page, twice if named here.
    config.html_static_path.append(str(_HERE / "static"))
    config.html_math_renderer = RENDERER
    config.myst_update_mathjax = False
    # One build counts the figures of all languages through: the second language would begin at 4.
    config.numfig = False
    # An index of terms would mix the languages.
    config.html_use_index = False
    config.html_domain_indices = False
    # Readers get the notebooks that `downloads` writes.
    config.html_copy_source = False
    config.html_theme_options["disable_search"] = True
    config.html_sidebars = {"**": ["navbar-logo.html", "sbt-sidebar-nav.html"]}


# Sphinx event: html-page-context (after everybody else)
def finish_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the layout its words and its script, and make the body of the page lighter."""
    context["polyglot_words"] = {each: translate(each) for each in _WORDS}
    context["polyglot_head_script"] = HEAD_SCRIPT
    context["polyglot_policy"] = policy_for(HEAD_SCRIPT)
    context.setdefault("polyglot_downloads", [])
    if "body" in context:
        context["body"] = lighter(context["body"])


# Sphinx event: build-finished (after the themes, which write style sheets; before our own files come)
def write_assets(app: Sphinx, exception: Exception | None) -> None:
    """Write the search indexes, which other processes make, and the style sheet meanwhile."""
    if exception is None and app.builder.format == "html":
        with indexing(app):
            write_stylesheet(app)
