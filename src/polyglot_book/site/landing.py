"""The directive `choose-language`: one card for each language of the book."""

from __future__ import annotations

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from polyglot_book.site.languages import Pages
from polyglot_book.site.strings import SPEAKER, translate


class language_cards(nodes.General, nodes.Element):
    """Stands where the cards will be."""


class ChooseLanguage(SphinxDirective):
    """Let a reader choose a language."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Mark the place."""
        return [language_cards(docname=self.env.docname)]


def visit_cards(writer: HTML5Translator, node: language_cards) -> None:
    """Write a list of links: each in its own language, for readers who know no other."""
    app: Sphinx = writer.builder.app
    pages = Pages.from_config(app.config)
    speaking = SPEAKER.language
    rows: list[str] = []
    # The page's own heading says a title that is the same in all languages.
    titles_differ = len({language.title for language in pages.languages.values()}) > 1
    for language in pages.languages.values():
        SPEAKER.language = language
        code = escape(language.code)
        href = escape(app.builder.get_relative_uri(node["docname"], pages.home(language)))
        title = language.title if titles_differ else ""
        texts = [("name", language.name), ("title", title), ("tagline", language.tagline)]
        spans = [f'<span class="polyglot-card-{kind}">{escape(text)}</span>' for kind, text in texts if text]
        # The script shows it on the card that it suggests.
        suggestion = escape(translate("Your language"))
        spans.append(f'<span class="polyglot-card-suggestion" hidden>{suggestion}</span>')
        rows.append(
            f'<li><a class="polyglot-card" lang="{code}" hreflang="{code}" href="{href}"'
            f' data-language="{code}">{"".join(spans)}</a></li>'
        )
    SPEAKER.language = speaking
    writer.body.append('<ul class="polyglot-cards">\n' + "\n".join(rows) + "\n</ul>\n")
    raise nodes.SkipNode


# Sphinx event: build-finished (before sphinx-external-toc, which writes a page without a title there)
def write_entrance(app: Sphinx, exception: Exception | None) -> None:
    """Lead from the site's root to the page where a language is chosen."""
    if exception is not None or app.builder.format != "html" or app.config.root_doc == "index":
        return
    language = Pages.from_config(app.config).reference
    target = escape(app.builder.get_target_uri(app.config.root_doc))
    title = escape(language.title)
    (Path(app.outdir) / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="{escape(language.code)}">\n<head>\n<meta charset="utf-8"/>\n'
        f'<title>{title}</title>\n<meta http-equiv="Refresh" content="0; url={target}"/>\n'
        f'<link rel="canonical" href="{target}"/>\n<link rel="icon" href="data:,"/>\n</head>\n'
        f'<body><a href="{target}">{title}</a></body>\n</html>\n',
        encoding="utf-8",
    )
