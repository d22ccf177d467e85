"""Describes a page in its head to messengers and search engines: Open Graph, Twitter cards and schema.org."""

from __future__ import annotations

import json
from typing import Any

from babel.core import get_global
from docutils import nodes
from sphinx.application import Sphinx

from polyglot_book.config import Language
from polyhead_course.theme import cards
from polyhead_course.theme.description import description_of, outcomes_of
from polyhead_course.theme.doctree import text_of
from polyhead_course.theme.head import icon_names
from sphinx_polyglot.addresses import page_url, site_address
from sphinx_polyglot.alternates import alternates_of
from sphinx_polyglot.languages import Pages


# Sphinx event: html-page-context
def add_sharing(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the page's addresses, description, Open Graph properties and schema.org data to the context."""
    context.update(head_of(app, pagename, doctree))


def head_of(app: Sphinx, docname: str, doctree: nodes.document | None = None) -> dict[str, Any]:
    """Return the context of the template `head-links.html`; addresses only where the site has one."""
    head: dict[str, Any] = {"polyglot_icons": icon_names(app), "pageurl": "", "polyglot_alternates": {}}
    if docname not in app.env.found_docs:
        return head
    if site_address(app.config):
        head["pageurl"] = page_url(app, docname)
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
        # The page where a reader chooses a language has the taglines of all.
        return " ".join(each.tagline for each in pages.languages.values() if each.tagline)
    return description_of(doctree, metadata) if doctree is not None else ""


def _shared(app: Sphinx, pages: Pages, docname: str, title: str, description: str) -> dict[str, list[str]]:
    """Return the properties of Open Graph and Twitter: property -> values."""
    language, docnames = pages.language_of(docname) or pages.reference, app.env.found_docs
    is_root = docname == app.config.root_doc
    others = [
        each
        for each in pages.languages.values()
        if each != language and (is_root or pages.counterpart(docname, each, docnames))
    ]
    properties = {
        "og:type": ["website" if docname in _entrances(app, pages) else "article"],
        "og:site_name": [language.title],
        "og:title": [title],
        "og:description": [description],
        "og:locale": [locale_of(language)],
        "og:locale:alternate": [locale_of(each) for each in others],
        "twitter:card": ["summary"],
    }
    if site_address(app.config):
        properties["og:url"] = [page_url(app, docname)]
    if card := cards.address_of(app, docname):
        alt = f"{title} · {language.title}" if title != language.title else title
        properties["og:image"] = [card]
        properties["og:image:type"] = ["image/png"]
        properties["og:image:width"], properties["og:image:height"] = ([str(each)] for each in cards.SIZE)
        properties["og:image:alt"] = [alt]
        properties["twitter:card"] = ["summary_large_image"]
    return {name: values for name, values in properties.items() if any(values)}


def locale_of(language: Language) -> str:
    """Return a language's locale with a country, as Open Graph requires: `ko` is `ko_KR`."""
    likely = get_global("likely_subtags").get(language.locale, "").split("_")
    return language.locale if "_" in language.locale or len(likely) < 2 else f"{likely[0]}_{likely[-1]}"


def _entrances(app: Sphinx, pages: Pages) -> set[str]:
    return {str(app.config.root_doc), *(pages.home(each) for each in pages.languages.values())}


def _data(
    app: Sphinx, pages: Pages, docname: str, title: str, description: str, doctree: nodes.document | None
) -> dict[str, Any]:
    """Describe a page in the vocabulary of schema.org."""
    language = pages.language_of(docname)
    course = docname in _entrances(app, pages)
    address, home = (page_url(app, each) for each in (docname, pages.home(language or pages.reference)))
    published = bool(site_address(app.config))
    data = {
        "@context": "https://schema.org",
        "@type": "Course" if course else "LearningResource",
        "name": title,
        "description": description,
        "url": address if published else "",
        "image": cards.address_of(app, docname),
        "inLanguage": language.code if language else list(pages.languages),
        "license": app.config.polyglot_rights.get("text", {}).get("href"),
        "author": {"@type": "Organization", "name": app.config.author},
        "version": app.config.release,
        "isAccessibleForFree": True,
    }
    if language and not course:
        minutes = app.env.metadata[docname].get("minutes")
        data["timeRequired"] = f"PT{minutes}M" if minutes else ""
        data["teaches"] = outcomes_of(doctree) if doctree is not None else []
        data["isPartOf"] = {"@type": "Course", "name": language.title, **({"url": home} if published else {})}
    return {name: value for name, value in data.items() if value}
