"""The course's words in the reader's language: labels, terms, tables, and listings of source code."""

from polyhead_course.words.language import Glossary, get_language, sentence, set_language, text
from polyhead_course.words.listing import show
from polyhead_course.words.table import Table

__all__ = ["Glossary", "Table", "get_language", "sentence", "set_language", "show", "text"]
