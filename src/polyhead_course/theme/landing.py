"""The directive `choose-language`: one card for each language of the book."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import OptionSpec
from sphinx.writers.html5 import HTML5Translator

from polyglot_book.ipynb import figure, read_notebook
from polyhead_course.theme.facts import facts_of
from polyhead_course.theme.head import HEAD_SCRIPT
from polyhead_course.theme.policy import policy_for
from polyhead_course.theme.sharing import head_of
from polyhead_course.theme.svg import inline
from sphinx_polyglot.languages import Pages
from sphinx_polyglot.strings import SPEAKER, translate

_FACTS = (
    "%(chapters)d chapters, %(exercises)d exercises with solutions. "
    "%(cells)d code cells, each executed again and compared."
)


class language_cards(nodes.General, nodes.Element):
    """Stands where the cards will be, and a picture beside them."""


class ChooseLanguage(SphinxDirective):
    """Let a reader choose a language.

    The option `figure` names a picture that a notebook has drawn, `<language>/<stem>#<cell>`, which is shown
    beside the cards; `alt` is its alternative text.
    """

    has_content = False
    option_spec: ClassVar[OptionSpec] = {
        "figure": directives.unchanged_required,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Mark the place."""
        picture = self._picture() if "figure" in self.options else ""
        return [language_cards(docname=self.env.docname, picture=picture)]

    def _picture(self) -> str:
        pages = Pages.from_config(self.config)
        page, _, wanted = self.options["figure"].partition("#")
        path = Path(self.env.srcdir, pages.folder, f"{page}.ipynb")
        self.env.note_dependency(str(path))
        svg = figure(read_notebook(path, check=False), wanted) if path.is_file() else ""
        if not svg:
            raise self.error(f"no cell of a notebook has drawn {self.options['figure']!r}")
        picture = inline(svg, prefix=wanted, label=self.options.get("alt", ""))
        # Its words are in the notebook's language, the alternative text is in this page's.
        picture = picture.replace("<svg", f'<svg lang="{pages.reference.code}"', 1)
        return f'<div class="polyglot-cards-picture" lang="{page.split("/")[0]}">{picture}</div>\n'


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
        # Sphinx writes this page again whenever a page below it has changed.
        facts = facts_of(Path(app.srcdir, pages.folder, language.code))
        holds = translate(_FACTS) % facts if facts else ""
        texts = [("name", language.name), ("title", title), ("tagline", language.tagline), ("facts", holds)]
        spans = [f'<span class="polyglot-card-{kind}">{escape(text)}</span>' for kind, text in texts if text]
        # The script shows it on the card that it suggests.
        suggestion = escape(translate("Your language"))
        spans.append(f'<span class="polyglot-card-suggestion" hidden>{suggestion}</span>')
        rows.append(
            f'<li><a class="polyglot-card" lang="{code}" hreflang="{code}" href="{href}"'
            f' data-language="{code}">{"".join(spans)}</a></li>'
        )
    SPEAKER.language = speaking
    cards = '<ul class="polyglot-cards">\n' + "\n".join(rows) + "\n</ul>\n"
    picture = node["picture"]
    writer.body.append(f'<div class="polyglot-welcome">\n{cards}{picture}</div>\n' if picture else cards)
    raise nodes.SkipNode


# Sphinx event: build-finished (before sphinx-external-toc, which writes a page without a title there)
def write_entrance(app: Sphinx, exception: Exception | None) -> None:
    """Lead from the site's root to the page where a language is chosen."""
    if exception is not None or app.builder.format != "html" or app.config.root_doc == "index":
        return
    context = {
        **head_of(app, app.config.root_doc),
        "language": Pages.from_config(app.config).reference.code,
        "title": app.env.titles[app.config.root_doc].astext(),
        "target": app.builder.get_target_uri(app.config.root_doc),
        "policy": policy_for(HEAD_SCRIPT),
        "pathto": lambda name, *_: name,
    }
    text = app.builder.templates.render("entrance.html", context)
    Path(app.outdir, "index.html").write_text(text, encoding="utf-8")
