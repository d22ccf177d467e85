"""Runs every check of a book."""

from __future__ import annotations

from polyglot_book.chapters import read_all
from polyglot_book.config import Book
from polyglot_book.outputs import check_notebooks
from polyglot_book.parity import check_parity
from polyglot_book.toc import check_toc
from polyglot_book.translations import check_translations
from polyglot_book.violations import Violation
from polyglot_book.wording import check_wording


def check_book(book: Book) -> list[Violation]:
    """Run every check.

    Returns:
        All violations, those of chapters that cannot be read first.
    """
    # check_translations names the chapters that cannot be read.
    checks = (check_translations, check_parity, check_wording, check_notebooks, check_toc)
    return list(dict.fromkeys(violation for check in checks for violation in check(book)))


def summary(book: Book, violations: list[Violation]) -> str:
    """Summarize in one line what was checked and how many violations there are."""
    chapters, _ = read_all(book)
    cells = sum(len(chapter.cells) for chapter in chapters.values())
    stems = len({stem for _, stem in chapters})
    return f"{stems} chapters, {len(book.languages)} languages, {cells} cells: {len(violations)} violations"
