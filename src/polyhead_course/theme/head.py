"""The head of every page: its script, policy and icons, and what it says to messengers and search engines."""

import base64
import hashlib
from locale import normalize
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from polyhead_course.theme.description import description_of, text_of
from sphinx_polyglot.navigation import alternates_of
from sphinx_polyglot.pages import Pages, is_fallback, page_url, site_address

# In the head, before the page is painted: the reader's colours, where a browser lets a page remember them.
_SCRIPT = Path(__file__).with_name("templates").joinpath("head-script.js").read_text(encoding="utf-8").strip()
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
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
        "polyglot_digest": _DIGEST,
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
    # What `head-links.html` says of the page in the vocabulary of schema.org.
    own = pages.language_of(docname)
    head["polyglot_codes"] = own.code if own else list(pages.languages)
    head["polyglot_license"] = app.config.polyglot_rights.get("text", {}).get("href")
    head |= {"polyglot_author": app.config.author, "release": app.config.release}
    if own and not head["polyglot_is_course"]:
        head["polyglot_minutes"] = app.env.metadata[docname].get("minutes")
        head["polyglot_home"] = page_url(app, pages.home(own)) if head["pageurl"] else ""
    return head


def _description(app: Sphinx, pages: Pages, docname: str, doctree: nodes.document | None) -> str:
    metadata = app.env.metadata[docname]
    if pages.language_of(docname) is None and not metadata.get("description"):
        # The page where a reader chooses a language has the taglines of all.
        return " ".join(each.tagline for each in pages.languages.values() if each.tagline)
    return description_of(doctree, metadata) if doctree is not None else ""
