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
    own = pages.language_of(pagename)
    language = own or pages.reference
    set_language(language)
    context["language"] = language.code
    context["polyglot_reference"] = pages.reference.code
    context["polyglot_title"] = language.title
    context["polyglot_has_language"] = own is not None
    context["project"] = context["shorttitle"] = context["docstitle"] = language.title
    if own is None:
        context["sidebars"] = []
        context["prev"] = context["next"] = None
        return
    home = pages.home(own)
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
    own = pages.language_of(pagename)
    hreflang = "" if own == pages.reference else pages.reference.code
    parts, homes = [], []
    if pagename in shared:
        parts = [_entry(app, pagename, each) for each in shared[1:]]
        homes = [
            _entry(app, pagename, pages.home(each), each.name, hreflang=each.code, lang=each.code)
            for each in pages.languages.values()
            if each != own
        ]
    title = translate(app.config.polyglot_shared_title)
    first = _entry(app, pagename, shared[0], title, hreflang=hreflang, children=parts)
    return [{**first, "open": pagename in shared}, *homes]


def _descendants(env: BuildEnvironment, docname: str) -> Iterable[str]:
    for child in env.toctree_includes.get(docname, []):
        yield child
        yield from _descendants(env, child)


# Sphinx event: env-updated
def outdated_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages whose sidebar, neighbours or switcher has changed; remove pages without a source.

    Sphinx writes only the pages whose source has changed. But a title is on every page of its language, and
    a new or removed page changes the switchers of its counterparts.
    """
    pages = Pages.from_config(app.config)
    now: dict[str, Any] = {"docs": sorted(env.found_docs)}
    shared = [each for each in pages.shared if each in env.titles]
    now["shared"] = [env.titles[each].astext() for each in shared]
    for code, language in pages.languages.items():
        home = pages.home(language)
        order = [home, *_descendants(env, home)]
        now[code] = [(each, env.titles[each].astext()) for each in order if each in env.titles]
    before = getattr(env, _OUTLINE, None)
    setattr(env, _OUTLINE, now)
    if before is None or before == now:
        return []
    if before.get("docs") != now["docs"]:
        for gone in set(before.get("docs", ())) - env.found_docs:
            Path(app.outdir, f"{gone}.html").unlink(missing_ok=True)
        return sorted(env.found_docs)
    changed = {code for code in pages.languages if before.get(code) != now[code]}
    stale = shared if before.get("shared") != now["shared"] else []
    return stale + sorted(
        docname for docname in env.found_docs if (own := pages.language_of(docname)) and own.code in changed
    )
