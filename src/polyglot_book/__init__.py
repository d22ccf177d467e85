"""Makes one Jupyter Book speak several languages: the tools for its text, and the extension for its site."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyglot_book.config import Book
    from polyglot_book.violations import Violation

__all__ = ["check_book"]


def check_book(book: Book) -> list[Violation]:
    """Run every check of a book and return every violation.

    Args:
        book: The book, as `Book.load` gives it.

    Returns:
        All violations of translations, parity, wording and stored notebooks.
    """
    # Imported late: the Sphinx half, and Pythons without jupytext, import this package too.
    from polyglot_book.checks import check_book as run

    return run(book)
