"""Keeps a page's title, sidebar and previous/next links inside the page's language."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from sphinx_polyglot.languages import Pages
from sphinx_polyglot.strings import set_language, translate

# The attribute of the environment with the titles and the order of all pages, as of the last build.
_OUTLINE = "polyglot_outline"


def set_page_language(app: Sphinx, docname: str) -> None:
    """Set the current language to that of a page."""
    pages = Pages.from_config(app.config)
    set_language(pages.language_of(docname) or pages.reference)


# Sphinx event: source-read
def set_language_of_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Set the language of the page that is read next."""
    set_page_language(app, docname)


class SetLanguage(SphinxPostTransform):
    """Set the language of the page that is written next."""

    # First, since other transforms may translate words of the page.
    default_priority = 1

    def run(self, **kwargs: Any) -> None:
        """Set the language."""
        set_page_language(self.env.app, self.env.docname)


# Sphinx event: html-page-context
def localise_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Set the language, titles, sidebar and neighbours of a page in its context."""
    pages = Pages.from_config(app.config)
    page_language = pages.language_of(pagename)
    language = page_language or pages.reference
    set_language(language)
    context["language"] = language.code
    context["polyglot_reference"] = pages.reference.code
    context["polyglot_title"] = language.title
    context["polyglot_has_language"] = page_language is not None
    context["project"] = context["shorttitle"] = context["docstitle"] = language.title
    if page_language is None:
        context["sidebars"] = []
        context["prev"] = context["next"] = None
        return
    home = pages.home(page_language)
    context["root_doc"] = context["master_doc"] = home
    context["polyglot_sidebar"] = [*_sidebar(app, pagename, home), *_shared(app, pages, pagename)]
    order = [home, *_descendants(app.env, home)]
    if pagename not in order[1:]:
        context["prev"] = None
    elif pagename == order[1] and context.get("prev"):
        context["prev"]["title"] = translate("Home")
    if pagename not in order[:-1]:
        context["next"] = None


def _sidebar(app: Sphinx, pagename: str, root: str) -> list[dict[str, Any]]:
    """Return the sidebar's entries for the pages below a page."""
    docnames = [each for each in app.env.toctree_includes.get(root, []) if each in app.env.titles]
    return [_entry(app, pagename, each, children=_sidebar(app, pagename, each)) for each in docnames]


def _entry(app: Sphinx, pagename: str, docname: str, title: str = "", **others: Any) -> dict[str, Any]:
    """Return a sidebar entry for a page; `hreflang` and `lang` are set if it is in another language."""
    current = docname == pagename
    return {
        "title": title or app.env.titles[docname].astext(),
        "href": "#" if current else app.builder.get_relative_uri(pagename, docname),
        "current": current,
        "open": current or any(each["open"] for each in others.get("children", ())),
        **others,
    }


def _shared(app: Sphinx, pages: Pages, pagename: str) -> list[dict[str, Any]]:
    """Return the entries of the pages that all languages share, and on these, of the languages' homes."""
    shared = [each for each in pages.shared if each in app.env.found_docs]
    if not shared:
        return []
    page_language = pages.language_of(pagename)
    hreflang = "" if page_language == pages.reference else pages.reference.code
    child_entries, language_links = [], []
    if pagename in shared:
        child_entries = [_entry(app, pagename, each) for each in shared[1:]]
        language_links = [
            _entry(app, pagename, pages.home(each), each.name, hreflang=each.code, lang=each.code)
            for each in pages.languages.values()
            if each != page_language
        ]
    title = translate(app.config.polyglot_shared_title)
    first = _entry(app, pagename, shared[0], title, hreflang=hreflang, children=child_entries)
    return [{**first, "open": pagename in shared}, *language_links]


def _descendants(env: BuildEnvironment, docname: str) -> Iterable[str]:
    for child in env.toctree_includes.get(docname, []):
        yield child
        yield from _descendants(env, child)


# Sphinx event: env-updated
def refresh_outdated_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Delete the HTML of removed pages; return the pages to write again.

    Sphinx writes only the pages whose source has changed. But a page's title also appears in the sidebar of
    every page in its language, and a new or removed page changes the switchers of its counterparts.
    """
    pages = Pages.from_config(app.config)
    new_outline: dict[str, Any] = {"docs": sorted(env.found_docs)}
    shared = [each for each in pages.shared if each in env.titles]
    new_outline["shared"] = [env.titles[each].astext() for each in shared]
    for code, language in pages.languages.items():
        home = pages.home(language)
        order = [home, *_descendants(env, home)]
        new_outline[code] = [(each, env.titles[each].astext()) for each in order if each in env.titles]
    old_outline = getattr(env, _OUTLINE, None)
    setattr(env, _OUTLINE, new_outline)
    if old_outline is None or old_outline == new_outline:
        return []
    if old_outline.get("docs") != new_outline["docs"]:
        for removed_page in set(old_outline.get("docs", ())) - env.found_docs:
            Path(app.outdir, f"{removed_page}.html").unlink(missing_ok=True)
        return sorted(env.found_docs)
    changed = {code for code in pages.languages if old_outline.get(code) != new_outline[code]}
    stale = shared if old_outline.get("shared") != new_outline["shared"] else []
    return stale + sorted(
        docname
        for docname in env.found_docs
        if (page_language := pages.language_of(docname)) and page_language.code in changed
    )
