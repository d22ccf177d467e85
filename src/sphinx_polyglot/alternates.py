"""Links a page to the same page in the other languages, for readers and for search engines."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from docutils import nodes
from sphinx.application import Sphinx

from sphinx_polyglot import places
from sphinx_polyglot.languages import Pages


def public_url(app: Sphinx, docname: str) -> str:
    """Return the address of a page on the published site."""
    uri = app.builder.get_target_uri(docname)
    if uri == "index.html" or uri.endswith("/index.html"):
        uri = uri.removesuffix("index.html")
    return places.site_of(app.config) + uri


def alternates_of(app: Sphinx, docname: str) -> dict[str, str]:
    """Return the public addresses of a page by language, and of its x-default."""
    pages = Pages.from_config(app.config)
    language, root = pages.language_of(docname), app.config.root_doc
    if language is None and docname != root:
        return {}
    docnames = app.env.found_docs
    names = {
        each.code: pages.home(each) if language is None else pages.sister(docname, each, docnames)
        for each in pages.languages.values()
    }
    urls = {code: public_url(app, name) for code, name in names.items() if name and name in docnames}
    # The page where a reader chooses a language is the x-default of all home pages.
    if language is None or docname == pages.home(language):
        return {**urls, "x-default": public_url(app, root)}
    return {**urls, "x-default": urls.get(pages.reference.code, next(iter(urls.values())))}


# Sphinx event: html-page-context (before the themes')
def add_alternates(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the links of the language switcher to the context."""
    pages = Pages.from_config(app.config)
    current = pages.language_of(pagename)
    switcher: list[dict[str, Any]] = []
    context["polyglot_switcher"] = switcher
    if pagename in pages.shared:
        return  # the page exists in one language only
    for language in pages.languages.values():
        sister = pages.sister(pagename, language, app.env.found_docs)
        target = sister or pages.home(language)
        switcher.append(
            {
                "code": language.code,
                "name": language.name,
                "href": app.builder.get_relative_uri(pagename, target),
                "current": language == current,
                # Only a sister has the same sections.
                "same": sister is not None,
            }
        )


def days_of_change(root: Path) -> dict[str, str]:
    """Return the day of the last commit of each file; nothing where git has not the whole history."""

    def git(*arguments: str) -> str:
        command = ["git", "-c", "core.quotePath=false", *arguments]
        try:
            return subprocess.run(command, cwd=root, capture_output=True, check=True, encoding="utf-8").stdout
        except (OSError, subprocess.CalledProcessError):
            return ""

    days: dict[str, str] = {}
    if git("rev-parse", "--is-shallow-repository").strip() == "false":
        day = ""
        for line in git("log", "--format=/%cs", "--name-only", "--relative").splitlines():
            if line.startswith("/"):
                day = line[1:]
            elif line:
                days.setdefault(line, day)
    return days


# Sphinx event: build-finished
def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """Write `sitemap.xml`, in which every page names its sisters, and when it changed."""
    if exception is not None or app.builder.format != "html" or not places.site_of(app.config):
        return
    rows, days = [], days_of_change(Path(app.srcdir))
    for docname in sorted(app.env.found_docs):
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang={quoteattr(code)} href={quoteattr(url)}/>'
            for code, url in alternates_of(app, docname).items()
        )
        day = days.get(places.source_of(app, docname), "")
        changed = f"<lastmod>{day}</lastmod>" if day else ""
        rows.append(f"<url><loc>{escape(public_url(app, docname))}</loc>{changed}{links}</url>")
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n' + "\n".join(rows) + "\n</urlset>\n"
    )
    (Path(app.outdir) / "sitemap.xml").write_text(text, encoding="utf-8")
