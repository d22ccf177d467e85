"""Tools for a book of MyST notebooks in several languages.

The commands are listed by `python -m polyglot_book --help`. In a notebook of the book, `overview()` returns
`{chapter: Contents(title, needs, minutes, exercises)}`, and `outline()` returns `{chapter: (title, needs)}`,
where `chapter` is the stem of a file's name and `needs` lists the chapters that it builds on.

Modules: `translations` (stale and missing cells), `wording` (terms and writing systems), `checks` (all
checks), `notebooks` (execution), `markdown` (parsing) and `config` (settings).
"""

from polyglot_book.contents import outline, overview

__all__ = ["outline", "overview"]
