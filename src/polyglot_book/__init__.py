"""Tools for a book of MyST notebooks in several languages.

The commands are listed by `polyglot --help`. In a notebook of the book, `overview()` returns
`{chapter: Contents(title, needs, minutes, exercises)}`, where `chapter` is the stem of a file's name and
`needs` lists the chapters that it builds on:

    polyglot_book.overview("book/en")["01-sums"].title

Main modules: `config` (settings), `chapters` and `markdown` (reading), `translations` (stale and missing
cells), `wording` (terms and writing systems), `checks` (all checks), `freshness` (which notebooks are
outdated), `execution` and `notebooks` (making them), `initialize` (books of others),
`po` (translators' files).
"""

from polyglot_book.contents import overview

__all__ = ["overview"]
