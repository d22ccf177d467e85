"""The page where a reader chooses a language: the directive `choose-language`."""

import json
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import OptionSpec
from sphinx.writers.html5 import HTML5Translator

from polyglot_book.contents import overview
from polyglot_book.ipynb import read_notebook
from polyhead_course.theme.glance import glance, live_data
from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import in_language, translate

_CONTENTS = (
    "%(chapters)d chapters, %(exercises)d exercises with solutions. "
    "%(cells)d code cells, each executed again and compared."
)


class language_cards(nodes.General, nodes.Element):
    """A placeholder for the cards and the picture beside them."""


class ChooseLanguage(SphinxDirective):
    """A card for each language of the book.

    The option `figure` is a notebook's cell with a live translator, `<language>/<stem>#<cell>`: beside the
    cards it is shown as it is at a glance.
    """

    has_content = False
    option_spec: ClassVar[OptionSpec] = {"figure": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the placeholder."""
        picture = self._picture() if "figure" in self.options else ""
        return [language_cards(docname=self.env.docname, picture=picture)]

    def _picture(self) -> str:
        page, _, cell = self.options["figure"].partition("#")
        path = Path(self.env.srcdir, Pages.from_config(self.config).folder, f"{page}.ipynb")
        self.env.note_dependency(str(path))
        data = live_data(read_notebook(path, check=False), cell) if path.is_file() else None
        if data is None:
            raise self.error(f"no cell of a notebook is a live translator: {self.options['figure']!r}")
        return f'<div class="polyglot-cards-picture">{glance(data)}</div>\n'


def _contents(folder: Path) -> str:
    """Return a sentence with the numbers of chapters, exercises and code cells in a language's folder."""
    chapters = overview(folder)
    notebooks = [json.loads(path.read_bytes()) for path in folder.glob("*.ipynb")]
    cells = sum(cell["cell_type"] == "code" for each in notebooks for cell in each["cells"])
    exercises = sum(len(chapter.exercises) for chapter in chapters.values())
    numbers = {"chapters": len(chapters), "exercises": exercises, "cells": cells}
    return translate(_CONTENTS) % numbers if chapters else ""


def visit_cards(writer: HTML5Translator, node: language_cards) -> None:
    """Write a list of links, each in its own language."""
    app: Sphinx = writer.builder.app
    pages = Pages.from_config(app.config)
    cards = []
    for language in pages.languages.values():
        with in_language(language):
            card = {
                "language": language,
                "href": app.builder.get_relative_uri(node["docname"], pages.home(language)),
                # Sphinx writes this page again whenever a page below it has changed.
                "facts": _contents(Path(app.srcdir, pages.folder, language.code)),
                "suggestion": translate("Your language"),
                "go": translate("Go on with %(number)s, %(title)s"),
            }
        cards.append(card)
    # A title that is the same in all languages is the page's heading already.
    titles_differ = len({each.title for each in pages.languages.values()}) > 1
    context = {"cards": cards, "titles_differ": titles_differ, "picture": node["picture"]}
    writer.body.append(app.builder.templates.render("language-cards.html", context))
    raise nodes.SkipNode
