"""The sidebar: the chapters of the page's language, then the pages that all languages share."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from sphinx_polyglot.pages import Pages, is_fallback
from sphinx_polyglot.strings import translate


# Sphinx event: html-page-context
def add_sidebar(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the entries of a page's sidebar to its context; none for a page that is in no language's folder."""
    pages = Pages.from_config(app.config)
    if language := pages.language_of(pagename):
        entries = [*_sidebar(app, pagename, pages.home(language)), *_shared(app, pages, pagename)]
        context["polyglot_sidebar"] = entries


def _sidebar(app: Sphinx, pagename: str, root: str) -> list[dict[str, Any]]:
    """Return the sidebar's entries for the pages below a page."""
    docnames = [each for each in app.env.toctree_includes.get(root, []) if each in app.env.titles]
    return [_entry(app, pagename, each, children=_sidebar(app, pagename, each)) for each in docnames]


def _entry(app: Sphinx, pagename: str, docname: str, title: str = "", **others: Any) -> dict[str, Any]:
    """Return a sidebar entry for a page; `hreflang` and `lang` are set if it is in another language."""
    current = docname == pagename
    if is_fallback(app.env, docname):
        others["untranslated"] = Pages.from_config(app.config).reference.code
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
    title = translate("API reference")
    first = _entry(app, pagename, shared[0], title, hreflang=hreflang)
    if pagename not in shared:
        return [{**first, "open": False}]
    children = [_entry(app, pagename, each) for each in shared[1:]]
    language_links = [
        _entry(app, pagename, pages.home(each), each.name, hreflang=each.code, lang=each.code)
        for each in pages.languages.values()
        if each != page_language
    ]
    return [{**first, "open": True, "children": children}, *language_links]
