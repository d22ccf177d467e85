"""Treats the words of a page by its language: its quotation marks, and the search of Sphinx."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils.utils import normalize_language_tag
from docutils.utils.smartquotes import smartchars
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.transforms import SphinxSmartQuotes

from sphinx_polyglot.pages import Pages, is_fallback

# Characters of scripts without spaces between words, or, in Korean, between a word and its particle: Thai,
# Lao, Burmese, Khmer, kana, Han, Hangul. As in `templates/split-query.js`.
_RUN = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")


class SmartQuotes(SphinxSmartQuotes):
    """Writes quotation marks of the page's language, before Sphinx writes those of the build's language."""

    default_priority = SphinxSmartQuotes.default_priority - 1

    def apply(self, **kwargs: Any) -> None:
        """Write them, where docutils knows those of the language and Sphinx does not exclude it."""
        pages, settings = Pages.from_config(self.config), self.document.settings
        language = pages.reference
        if not is_fallback(self.env, self.env.docname):
            language = pages.language_of(self.env.docname) or language
        known = any(tag in smartchars.quotes for tag in normalize_language_tag(language.code))
        if known and language.locale not in self.config.smartquotes_excludes.get("languages", ()):
            build, settings.language_code = settings.language_code, language.code
            super().apply()
            settings.language_code = build


class Search(SearchEnglish):
    """The search in English, for any language: a run of characters without spaces is a word for each pair."""

    lang = "polyglot"
    js_splitter_code = (Path(__file__).parent / "templates" / "split-query.js").read_text(encoding="utf-8")

    def split(self, input: str) -> list[str]:
        """Return the words of a text; of such a run, each character, too."""
        words = super().split(_RUN.sub(" ", input))
        for run in _RUN.findall(input):
            words += [*run, *map("".join, pairwise(run))]
        return words

    def word_filter(self, word: str) -> bool:
        """Return whether a word is found."""
        return bool(_RUN.match(word)) or super().word_filter(word)


# Sphinx event: html-collect-pages
def search_pages(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Return the search page of each language, which `language-switcher.js` keeps to this language."""
    builder: Any = app.builder
    pages = Pages.from_config(app.config)
    return [
        (pages.page(each, "search"), {}, "search.html") for each in pages.languages.values() if builder.search
    ]
