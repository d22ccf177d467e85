"""Adds to every page its licences, how to cite it, and where to report an error."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx

from polyhead_course.theme.doctree import text_of
from sphinx_polyglot.addresses import github_name, source_file
from sphinx_polyglot.languages import Pages


# Sphinx event: html-page-context
def add_rights(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the licences and the links of the page's footer to the context."""
    context["polyglot_rights"] = app.config.polyglot_rights
    context["polyglot_author"] = app.config.author
    context["polyglot_heading"] = text_of(app.env.titles[pagename]) if pagename in app.env.titles else ""
    pages = Pages.from_config(app.config)
    language = pages.language_of(pagename) or pages.reference
    cite, _, anchor = app.config.polyglot_rights.get("cite", "").partition("#")
    docname = f"{pages.folder}/{language.code}/{cite}"
    if cite and docname in app.env.found_docs:
        address = app.builder.get_relative_uri(pagename, docname)
        context["polyglot_cite"] = f"{address}#{anchor}" if anchor else address
    if (project := github_name(app.config)) and pagename in app.env.found_docs:
        repository = f"https://github.com/{project}"
        context["polyglot_project"] = repository
        context["polyglot_report"] = f"{repository}/issues/new?title={quote(pagename, safe='')}"
        context["polyglot_source"] = f"{repository}/blob/HEAD/{quote(source_file(app, pagename))}"
