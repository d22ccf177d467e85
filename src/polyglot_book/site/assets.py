"""Decides what a page loads: this package's style and script, and nothing from another host."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from polyglot_book.site.formulas import RENDERER
from polyglot_book.site.strings import translate

_HERE = Path(__file__).parent
# The words that scripts write into a page.
_OF_COPY_BUTTONS = ("Copy", "Copy to clipboard", "Copied!", "Failed to copy")
_OF_TOGGLE_BUTTONS = ("Click to show", "Click to hide", "Toggle hidden content")


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
    # Without a mode the theme's script writes an error to the console.
    config.html_context.setdefault("default_mode", "auto")
    config.html_theme_options["disable_search"] = True
    # The theme's default is a place for advertisements.
    config.html_theme_options.setdefault("primary_sidebar_end", [])


# Sphinx event: html-page-context (after everybody else)
def finish_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give this package's script its words."""
    # The layout says it already.
    context["metatags"] = re.sub(r'<meta [^>]*name="viewport"[^>]*>\s*', "", context.get("metatags") or "")
    context["polyglot_words"] = {each: translate(each) for each in _OF_COPY_BUTTONS + _OF_TOGGLE_BUTTONS}
