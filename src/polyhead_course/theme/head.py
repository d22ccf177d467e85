"""The head of every page: its script, policy and icons, and what it says to messengers and search engines."""

import base64
import hashlib
import json
from locale import normalize
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from polyhead_course.theme.description import description_of, text_of
from sphinx_polyglot.navigation import alternates_of
from sphinx_polyglot.pages import Pages, is_fallback, page_url, site_address

# In the head, before the page is painted: the reader's colours, where a browser lets a page remember them.
_SCRIPT = (
    "(r=>{let m;try{m=localStorage.mode}catch{}m||='auto';r.dataset.mode=m;"
    "r.dataset.theme=m!='auto'?m:matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light'"
    "})(document.documentElement)"
)
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
# A page loads only files of its own site, and has this one script in its text.
# Figures have style attributes; icons are part of the style sheet.
_POLICY = (
    f"default-src 'none'; script-src 'self' 'sha256-{_DIGEST}'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'"
)
# The folder of the pictures that messengers show of pages, and their size.
CARDS, CARD_SIZE = "cards", (1200, 630)


def icons_of(app: Sphinx) -> dict[str, tuple[str, Path]]:
    """Return relation -> name on the site and file of the book, for each icon that the book has."""
    if not app.config.html_favicon:
        return {}
    icon = Path(app.srcdir, app.config.html_favicon)
    icons = {"icon": (f"icon{icon.suffix}", icon)}
    if icon.with_suffix(".png").is_file():
        icons["apple-touch-icon"] = ("apple-touch-icon.png", icon.with_suffix(".png"))
    return icons


def head_of(app: Sphinx, docname: str, doctree: nodes.document | None = None) -> dict[str, Any]:
    """Return the context of the template `head-links.html`; addresses only where the site has one."""
    head: dict[str, Any] = {
        "polyglot_head_script": _SCRIPT,
        "polyglot_policy": _POLICY,
        "polyglot_icons": icons_of(app),
        "pageurl": "",
    }
    if docname not in app.env.found_docs:
        return head
    pages, site = Pages.from_config(app.config), site_address(app.config)
    root = pages.root
    language = pages.language_of(docname) or pages.reference
    homes = {pages.home(each) for each in pages.languages.values()}
    if site:
        fallback = is_fallback(app.env, docname)  # a copy of the reference's page
        head["pageurl"] = alternates_of(app, docname)["x-default"] if fallback else page_url(app, docname)
        head["polyglot_alternates"] = alternates_of(app, docname)
        head["polyglot_card"] = f"{site}{CARDS}/{language.code}.png"
        head["polyglot_card_size"] = CARD_SIZE
    head["polyglot_is_course"] = docname in {root, *homes}
    head["polyglot_language"] = language
    head["polyglot_heading"] = text_of(app.env.titles[docname])
    head["polyglot_description"] = _description(app, pages, docname, doctree)
    # With a country, as Open Graph requires: `ko` is `ko_KR`.
    head["polyglot_locales"] = [
        normalize(each.locale).partition(".")[0]
        for each in sorted(pages.languages.values(), key=lambda each: each != language)
        if each == language or docname == root or pages.counterpart(docname, each, app.env.found_docs)
    ]
    data = json.dumps(_data(app, pages, docname, head), ensure_ascii=False)
    head["polyglot_data"] = data.replace("<", "\\u003c")
    return head


def _description(app: Sphinx, pages: Pages, docname: str, doctree: nodes.document | None) -> str:
    metadata = app.env.metadata[docname]
    if pages.language_of(docname) is None and not metadata.get("description"):
        # The page where a reader chooses a language has the taglines of all.
        return " ".join(each.tagline for each in pages.languages.values() if each.tagline)
    return description_of(doctree, metadata) if doctree is not None else ""


def _data(app: Sphinx, pages: Pages, docname: str, head: dict[str, Any]) -> dict[str, Any]:
    """Describe a page in the vocabulary of schema.org."""
    language, course = pages.language_of(docname), head["polyglot_is_course"]
    data = {
        "@context": "https://schema.org",
        "@type": "Course" if course else "LearningResource",
        "name": head["polyglot_heading"],
        "description": head["polyglot_description"],
        "url": head["pageurl"],
        "image": head.get("polyglot_card"),
        "inLanguage": language.code if language else list(pages.languages),
        "license": app.config.polyglot_rights.get("text", {}).get("href"),
        "author": {"@type": "Organization", "name": app.config.author},
        "version": app.config.release,
        "isAccessibleForFree": True,
    }
    if language and not course:
        minutes = app.env.metadata[docname].get("minutes")
        home = {"url": page_url(app, pages.home(language))} if head["pageurl"] else {}
        data["timeRequired"] = f"PT{minutes}M" if minutes else ""
        data["isPartOf"] = {"@type": "Course", "name": language.title, **home}
    return {name: value for name, value in data.items() if value}
