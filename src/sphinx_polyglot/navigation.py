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
from sphinx_polyglot.strings import SPEAKER, translate

# Where the environment keeps what the sidebars and switchers were made from.
_SEEN = "polyglot_navigation"


def speak(app: Sphinx, docname: str) -> None:
    """Speak the language of a page from now on."""
    pages = Pages.from_config(app.config)
    SPEAKER.language = pages.language_of(docname) or pages.reference


# Sphinx event: source-read (every event of a page's reading follows it)
def speak_while_reading(app: Sphinx, docname: str, source: list[str]) -> None:
    """Speak the language of the page that is about to be parsed."""
    speak(app, docname)


class SpeakWhileWriting(SphinxPostTransform):
    """Speak the language of the page that is about to be written."""

    # Before every other: some of them already say words of the page.
    default_priority = 1

    def run(self, **kwargs: Any) -> None:
        """Set the language."""
        speak(self.env.app, self.env.docname)


# Sphinx event: html-page-context (before the themes')
def localise_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the templates the language, the titles, the sidebar and the neighbours of a page."""
    pages = Pages.from_config(app.config)
    own = pages.language_of(pagename)
    language = own or pages.reference
    SPEAKER.language = language
    context["language"] = language.code
    context["polyglot_reference"] = pages.reference.code
    context["polyglot_title"] = language.title
    context["polyglot_landing"] = own is None
    context["project"] = context["shorttitle"] = language.title
    # "Polyhead - Polyhead" would say nothing twice: a home that is called like the book needs no suffix.
    title = app.env.titles[pagename].astext() if pagename in app.env.titles else ""
    context["docstitle"] = "" if title == language.title else language.title
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
    """List the pages below a page, each with its own, for the sidebar's template."""
    entries = []
    for docname in app.env.toctree_includes.get(root, []):
        if docname not in app.env.titles:
            continue
        children = _sidebar(app, pagename, docname)
        current = docname == pagename
        entries.append(
            {
                "title": app.env.titles[docname].astext(),
                "href": app.builder.get_relative_uri(pagename, docname) if not current else "#",
                "current": current,
                "open": current or any(each["open"] for each in children),
                "children": children,
            }
        )
    return entries


def _shared(app: Sphinx, pages: Pages, pagename: str) -> list[dict[str, Any]]:
    """List the pages that all languages share; beside them, the other languages' first pages."""
    present = [each for each in pages.shared if each in app.env.found_docs]
    if not present:
        return []
    here, own = pagename in present, pages.language_of(pagename)

    def entry(docname: str, title: str, children: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "title": title,
            "href": "#" if docname == pagename else app.builder.get_relative_uri(pagename, docname),
            "current": docname == pagename,
            "open": docname == pagename or bool(children),
            "language": "" if own == pages.reference else pages.reference.code,
            "children": children,
        }

    first, *others = present
    parts = [entry(each, app.env.titles[each].astext(), []) for each in others if here]
    homes = [
        {
            "title": each.name,
            "href": app.builder.get_relative_uri(pagename, pages.home(each)),
            "language": each.code,
            "says": each.code,
        }
        for each in pages.languages.values()
        if here and each != own
    ]
    return [entry(first, translate("API reference"), parts), *homes]


def _descendants(env: BuildEnvironment, docname: str) -> Iterable[str]:
    for child in env.toctree_includes.get(docname, []):
        yield child
        yield from _descendants(env, child)


# Sphinx event: env-updated
def refresh_neighbours(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have pages written again whose sidebar, neighbours or switcher is stale; remove those without source.

    Sphinx writes only the pages whose own source has changed; a title shows on every page of its
    language, and a page that appears or goes changes the switchers of its sisters.
    """
    pages = Pages.from_config(app.config)
    now: dict[str, Any] = {"docs": sorted(env.found_docs)}
    shared = [each for each in pages.shared if each in env.titles]
    now["shared"] = [env.titles[each].astext() for each in shared]
    for code, language in pages.languages.items():
        home = pages.home(language)
        order = [home, *_descendants(env, home)]
        now[code] = [(each, env.titles[each].astext()) for each in order if each in env.titles]
    before = getattr(env, _SEEN, None)
    setattr(env, _SEEN, now)
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
