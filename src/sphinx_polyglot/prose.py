"""Treats the words of a page by its language: its quotation marks, and the search of Sphinx."""

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
        own = None if is_fallback(self.env, self.env.docname) else pages.language_of(self.env.docname)
        language = own or pages.reference
        known = any(tag in smartchars.quotes for tag in normalize_language_tag(language.code))
        if known and language.locale not in self.config.smartquotes_excludes.get("languages", ()):
            build, settings.language_code = settings.language_code, language.code
            super().apply()
            settings.language_code = build


class Search(SearchEnglish):
    """Sphinx's search in English; text without spaces between words is found by pairs of characters."""

    lang = "polyglot"
    js_splitter_code = (Path(__file__).parent / "templates" / "split-query.js").read_text(encoding="utf-8")

    def split(self, input: str) -> list[str]:
        """Return the words of a text; of text without spaces, the characters and the pairs of neighbours."""
        words = super().split(_RUN.sub(" ", input))
        for run in _RUN.findall(input):
            words += [*run, *map("".join, pairwise(run))]
        return words

    def word_filter(self, word: str) -> bool:
        """Return whether a word goes into the index; Sphinx leaves out short words of kana."""
        return bool(_RUN.match(word)) or super().word_filter(word)


# Sphinx event: html-collect-pages
def search_pages(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Return the search page of each language, which `language-switcher.js` keeps to this language."""
    builder: Any = app.builder
    pages = Pages.from_config(app.config)
    languages = pages.languages.values() if builder.search else ()
    return [(pages.page(each, "search"), {}, "search.html") for each in languages]
