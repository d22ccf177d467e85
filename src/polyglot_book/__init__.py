"""Tools for a book of MyST notebooks in several languages.

Commands: `python -m polyglot_book --help`. From notebooks: `overview()` reads each chapter's title,
prerequisites and exercises; `outline()` titles and prerequisites only.
"""

from polyglot_book.contents import outline, overview

__all__ = ["outline", "overview"]
