"""Says what a page is to those who share it and to those who search: in its head, for programs to read."""

from __future__ import annotations

import json
from typing import Any

from babel.core import get_global
from docutils import nodes
from sphinx.application import Sphinx

from polyglot_book.config import Language
from polyhead_course.theme import cards
from polyhead_course.theme.description import description_of, outcomes_of, text_of
from polyhead_course.theme.robots import icon_names
from sphinx_polyglot import places
from sphinx_polyglot.alternates import alternates_of, public_url
from sphinx_polyglot.languages import Pages


# Sphinx event: html-page-context (after the page's language is known)
def add_sharing(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the templates the page's addresses, its description, what messengers show of it, and its data."""
    context.update(head_of(app, pagename, doctree))


def head_of(app: Sphinx, docname: str, doctree: nodes.document | None = None) -> dict[str, Any]:
    """Give what the template `head-links.html` says of a page; addresses only where the site has one."""
    head: dict[str, Any] = {"polyglot_icons": icon_names(app), "pageurl": "", "polyglot_alternates": {}}
    if docname not in app.env.found_docs:
        return head
    if places.site_of(app.config):
        head["pageurl"] = public_url(app, docname)
        head["polyglot_alternates"] = alternates_of(app, docname)
    pages = Pages.from_config(app.config)
    title, description = text_of(app.env.titles[docname]), _description(app, pages, docname, doctree)
    head["polyglot_description"] = description
    head["polyglot_shared"] = _shared(app, pages, docname, title, description)
    data = json.dumps(_data(app, pages, docname, title, description, doctree), ensure_ascii=False)
    head["polyglot_data"] = data.replace("<", "\\u003c")
    return head


def _description(app: Sphinx, pages: Pages, docname: str, doctree: nodes.document | None) -> str:
    metadata = app.env.metadata[docname]
    if pages.language_of(docname) is None and not metadata.get("description"):
        # Where a language is chosen, every language has its word.
        return " ".join(each.tagline for each in pages.languages.values() if each.tagline)
    return description_of(doctree, metadata) if doctree is not None else ""


def _shared(app: Sphinx, pages: Pages, docname: str, title: str, description: str) -> dict[str, list[str]]:
    """Give what Open Graph and Twitter want to know: property -> values."""
    own, known = pages.language_of(docname) or pages.reference, app.env.found_docs
    everywhere = docname == app.config.root_doc
    others = [
        each
        for each in pages.languages.values()
        if each != own and (everywhere or pages.sister(docname, each, known))
    ]
    found = {
        "og:type": ["website" if docname in _entrances(app, pages) else "article"],
        "og:site_name": [own.title],
        "og:title": [title],
        "og:description": [description],
        "og:locale": [locale_of(own)],
        "og:locale:alternate": [locale_of(each) for each in others],
        "twitter:card": ["summary"],
    }
    if places.site_of(app.config):
        found["og:url"] = [public_url(app, docname)]
    if card := cards.address_of(app, docname):
        found["og:image"] = [card]
        found["og:image:type"] = ["image/png"]
        found["og:image:width"], found["og:image:height"] = ([str(each)] for each in cards.SIZE)
        found["og:image:alt"] = [f"{title} · {own.title}" if title != own.title else title]
        found["twitter:card"] = ["summary_large_image"]
    return {name: values for name, values in found.items() if any(values)}


def locale_of(language: Language) -> str:
    """Give a language's locale with the country that Open Graph asks for: `ko` is `ko_KR`."""
    likely = get_global("likely_subtags").get(language.locale, "").split("_")
    return language.locale if "_" in language.locale or len(likely) < 2 else f"{likely[0]}_{likely[-1]}"


def _entrances(app: Sphinx, pages: Pages) -> set[str]:
    return {str(app.config.root_doc), *(pages.home(each) for each in pages.languages.values())}


def _data(
    app: Sphinx, pages: Pages, docname: str, title: str, description: str, doctree: nodes.document | None
) -> dict[str, Any]:
    """Describe a page in the words of schema.org."""
    own = pages.language_of(docname)
    course = docname in _entrances(app, pages)
    address, home = (public_url(app, each) for each in (docname, pages.home(own or pages.reference)))
    published = bool(places.site_of(app.config))
    found = {
        "@context": "https://schema.org",
        "@type": "Course" if course else "LearningResource",
        "name": title,
        "description": description,
        "url": address if published else "",
        "image": cards.address_of(app, docname),
        "inLanguage": own.code if own else list(pages.languages),
        "license": app.config.polyglot_rights.get("text", {}).get("href"),
        "author": {"@type": "Organization", "name": app.config.author},
        "version": app.config.release,
        "isAccessibleForFree": True,
    }
    if own and not course:
        minutes = app.env.metadata[docname].get("minutes")
        found["timeRequired"] = f"PT{minutes}M" if minutes else ""
        found["teaches"] = outcomes_of(doctree) if doctree is not None else []
        found["isPartOf"] = {"@type": "Course", "name": own.title, **({"url": home} if published else {})}
    return {name: value for name, value in found.items() if value}
