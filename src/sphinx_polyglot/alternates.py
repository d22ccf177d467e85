"""Links each page to its counterparts in the other languages, for readers and for search engines."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from docutils import nodes
from sphinx.application import Sphinx

from sphinx_polyglot.addresses import page_url, site_address, source_file
from sphinx_polyglot.languages import Pages


def alternates_of(app: Sphinx, docname: str) -> dict[str, str]:
    """Return the address of a page on the published site in each language, and its x-default."""
    pages = Pages.from_config(app.config)
    language, root = pages.language_of(docname), app.config.root_doc
    if language is None and docname != root:
        return {}
    docnames = app.env.found_docs
    names = {
        each.code: pages.home(each) if language is None else pages.counterpart(docname, each, docnames)
        for each in pages.languages.values()
    }
    urls = {code: page_url(app, name) for code, name in names.items() if name and name in docnames}
    # The page where a reader chooses a language is the x-default of all home pages.
    if language is None or docname == pages.home(language):
        return {**urls, "x-default": page_url(app, root)}
    return {**urls, "x-default": urls.get(pages.reference.code, next(iter(urls.values())))}


# Sphinx event: html-page-context
def add_switcher(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the entries of the language switcher to the context."""
    pages = Pages.from_config(app.config)
    current = pages.language_of(pagename)
    switcher: list[dict[str, Any]] = []
    context["polyglot_switcher"] = switcher
    if pagename in pages.shared:
        return  # the page exists in one language only
    for language in pages.languages.values():
        counterpart = pages.counterpart(pagename, language, app.env.found_docs)
        target = counterpart or pages.home(language)
        switcher.append(
            {
                "code": language.code,
                "name": language.name,
                "href": app.builder.get_relative_uri(pagename, target),
                "current": language == current,
                # Only a counterpart has the same anchors; a home page has not.
                "same": counterpart is not None,
            }
        )


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
    rows, dates = [], commit_dates(Path(app.srcdir))
    for docname in sorted(app.env.found_docs):
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang={quoteattr(code)} href={quoteattr(url)}/>'
            for code, url in alternates_of(app, docname).items()
        )
        date = dates.get(source_file(app, docname), "")
        modified = f"<lastmod>{date}</lastmod>" if date else ""
        rows.append(f"<url><loc>{escape(page_url(app, docname))}</loc>{modified}{links}</url>")
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n' + "\n".join(rows) + "\n</urlset>\n"
    )
    (Path(app.outdir) / "sitemap.xml").write_text(text, encoding="utf-8")
