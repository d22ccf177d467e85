"""Leads from page to page: sidebar and neighbours in the page's language, counterparts in the others.

The counterparts are in the language switcher for readers, and in `sitemap.xml` for search engines.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform

from sphinx_polyglot.inventories import use
from sphinx_polyglot.pages import Pages, direction, is_fallback, page_url, site_address, source_file
from sphinx_polyglot.strings import set_current_language, translate

_SWITCHER = "language-switcher.html"
# The themes with an option for where the switcher is, and with its value; in others it is in the sidebar.
PLACES = {
    "sphinx_book_theme": ("article_header_end", [_SWITCHER, "article-header-buttons.html"]),
    "pydata_sphinx_theme": ("navbar_end", [_SWITCHER, "theme-switcher", "navbar-icon-links"]),
}
# The pages that Sphinx has once and each language has for itself.
_OWN_PAGES = ("genindex", "search")
# The attribute of the environment with the titles and the order of all pages, as of the last build.
_OUTLINE = "polyglot_outline"


# Sphinx event: source-read
def set_page_language(app: Sphinx, docname: str, *_: object) -> None:
    """Set the language of messages and of the inventory to that of a page."""
    pages = Pages.from_config(app.config)
    set_current_language(pages.language_of(docname) or pages.reference)
    use(app.env, docname)


# Sphinx events: doctree-read, doctree-resolved
def use_reference_inventory(app: Sphinx, *_: object) -> None:
    """Use the inventory of the reference language until the next page sets its own."""
    use(app.env)


class SetLanguage(SphinxPostTransform):
    """Set the language of the page that is written next."""

    # First, since other transforms may translate words of the page.
    default_priority = 1

    def run(self, **kwargs: Any) -> None:
        """Set the language."""
        set_page_language(self.env.app, self.env.docname)


# Sphinx event: build-finished
def restore_root(app: Sphinx, exception: Exception | None) -> None:
    """Set Sphinx's own root again, after the last page."""
    if exception is None:
        set_root(app, Pages.from_config(app.config).root)


# Sphinx event: html-page-context
def localise_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Set the language, titles, switcher, contents and neighbours of a page in its context."""
    pages = Pages.from_config(app.config)
    page_language = pages.language_of(pagename)
    language = page_language or pages.reference
    set_current_language(language)
    context["language"] = language.code
    context["polyglot_direction"] = direction(language)
    context["polyglot_reference"] = pages.reference.code
    context["polyglot_title"] = language.title
    context["polyglot_has_language"] = page_language is not None
    context["polyglot_switcher"] = _switcher(app, pages, pagename)
    context["project"] = context["shorttitle"] = context["docstitle"] = language.title
    if page_language is None:
        set_root(app, context["root_doc"])
        context["sidebars"] = []
        context["prev"] = context["next"] = None
        return
    home = pages.home(page_language)
    set_root(app, home)
    context["root_doc"] = context["master_doc"] = home
    order = [home, *_descendants(app.env, home)]
    if pagename not in order[1:]:
        context["prev"] = None
    elif pagename == order[1] and context.get("prev"):
        context["prev"]["title"] = translate("Home")
    if pagename not in order[:-1]:
        context["next"] = None
    sidebars = context["sidebars"] or []
    if app.config.html_theme not in PLACES and _SWITCHER not in sidebars:
        context["sidebars"] = [*sidebars[:1], _SWITCHER, *sidebars[1:]]
    _localise_index({each: pages.page(page_language, each) for each in _OWN_PAGES}, context)
    if is_fallback(app.env, pagename) and "body" in context:
        context["pageurl"] = alternates_of(app, pagename)["x-default"] if app.config.html_baseurl else None
        note = {"original": pages.reference, "direction": direction(pages.reference), "body": context["body"]}
        context["body"] = app.builder.templates.render("untranslated.html", note)


def _localise_index(own: dict[str, str], context: dict[str, Any]) -> None:
    """Lead to the index and the search of the page's language, and to no page of another language."""
    pathto = context["pathto"]
    context["pathto"] = lambda name, *args, **kwargs: pathto(own.get(name, name), *args, **kwargs)
    context["rellinks"] = [
        (name, _(title), key, _(label)) if name == "genindex" else (name, title, key, label)
        for name, title, key, label in context.get("rellinks", ())
        if context[{"P": "prev", "N": "next"}.get(key, "pagename")]
    ]


def set_root(app: Sphinx, docname: str) -> None:
    """Let themes begin their contents at a page: the first one of a language.

    Not public: Sphinx reads the setting `root_doc` anew for each page, but keeps what it has read of it.
    """
    app.config.root_doc = app.config.master_doc = docname
    vars(app.env).pop("master_doctree", None)


def _switcher(app: Sphinx, pages: Pages, pagename: str) -> list[dict[str, Any]]:
    """Return the entries of the language switcher; none for a shared page, which is in one language only."""
    current = pages.language_of(pagename)
    own_pages = {pages.page(each, name) for each in pages.languages.values() for name in _OWN_PAGES}
    names = app.env.found_docs | own_pages
    counterparts = {each: pages.counterpart(pagename, each, names) for each in pages.languages.values()}
    return [
        {
            "code": language.code,
            "name": language.name,
            "href": app.builder.get_relative_uri(pagename, counterpart or pages.home(language)),
            "current": language == current,
            # Only a counterpart has the same anchors; a home page has not.
            "same": counterpart is not None,
        }
        for language, counterpart in counterparts.items()
        if pagename not in pages.shared
    ]


def _descendants(env: BuildEnvironment, docname: str) -> Iterable[str]:
    for child in env.toctree_includes.get(docname, []):
        yield child
        yield from _descendants(env, child)


# Sphinx event: env-updated
def refresh_outdated_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Delete the HTML of removed pages; return the pages to write again.

    Sphinx writes only the pages whose source has changed. But a page's title also appears in the sidebars of
    other pages, and a new or removed page changes the switchers of its counterparts.
    """
    names = sorted(env.found_docs)
    outline = [(each, env.titles[each].astext(), env.toctree_includes.get(each)) for each in names]
    old_outline = getattr(env, _OUTLINE, outline)
    setattr(env, _OUTLINE, outline)
    for removed_page in {page for page, *_others in old_outline} - env.found_docs:
        Path(app.outdir, f"{removed_page}.html").unlink(missing_ok=True)
    return [] if outline == old_outline else names


def alternates_of(app: Sphinx, docname: str) -> dict[str, str]:
    """Return the address of a page on the published site in each language, and its x-default."""
    pages = Pages.from_config(app.config)
    language, root = pages.language_of(docname), pages.root
    if language is None and docname != root:
        return {}
    docnames = {each for each in app.env.found_docs if not is_fallback(app.env, each)}
    names = {
        each.code: pages.home(each) if language is None else pages.counterpart(docname, each, docnames)
        for each in pages.languages.values()
    }
    urls = {code: page_url(app, name) for code, name in names.items() if name and name in docnames}
    # The page where a reader chooses a language is the x-default of all home pages.
    if language is None or docname == pages.home(language):
        return {**urls, "x-default": page_url(app, root)}
    return {**urls, "x-default": urls.get(pages.reference.code, next(iter(urls.values())))}


def commit_dates(root: Path) -> dict[str, str]:
    """Return the date of each file's last commit; nothing in a shallow clone or outside a repository."""

    def git(*arguments: str) -> str:
        command = ["git", "-c", "core.quotePath=false", *arguments]
        try:
            return subprocess.run(command, cwd=root, capture_output=True, check=True, encoding="utf-8").stdout
        except (OSError, subprocess.CalledProcessError):
            return ""

    dates: dict[str, str] = {}
    if git("rev-parse", "--is-shallow-repository").strip() == "false":
        date = ""
        for line in git("log", "--format=/%cs", "--name-only", "--relative").splitlines():
            if line.startswith("/"):
                date = line[1:]
            elif line:
                dates.setdefault(line, date)
    return dates


# Sphinx event: build-finished
def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """Write `sitemap.xml`: each page with its counterparts and the date of its last commit."""
    if exception is not None or app.builder.format != "html" or not site_address(app.config):
        return
    dates = commit_dates(Path(app.srcdir))
    pages = [
        (page_url(app, docname), dates.get(source_file(app, docname)), alternates_of(app, docname))
        for docname in sorted(app.env.found_docs)
        if not is_fallback(app.env, docname)
    ]
    text = app.builder.templates.render("sitemap.xml", {"pages": pages})
    (Path(app.outdir) / "sitemap.xml").write_text(text, encoding="utf-8")
