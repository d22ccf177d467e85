"""Checks that a translation keeps what no language changes: links, formulas, code, directives, headings."""

from __future__ import annotations

from collections import Counter

from polyglot_book.chapters import read_all
from polyglot_book.config import Book
from polyglot_book.markdown import Anatomy, anatomy
from polyglot_book.translations import is_waiting
from polyglot_book.violations import Violation


def _difference(expected: Counter[str], actual: Counter[str]) -> str:
    """Say what lacks and what is too much."""
    differences = (("lacks", expected - actual), ("adds", actual - expected))
    return " and ".join(
        f"{word} {', '.join(map(repr, counter.elements()))}" for word, counter in differences if counter
    )


def check_parity(book: Book) -> list[Violation]:
    """Compare every Markdown cell with the reference's cell of the same id."""
    chapters, _ = read_all(book)
    reference = book.reference.code
    violations = []
    for (code, stem), chapter in chapters.items():
        original = chapters.get((reference, stem))
        if code == reference or original is None:
            continue
        for cell in chapter.cells:
            other = original.by_id.get(cell.id)
            if is_waiting(cell, book.languages[code]):
                continue
            if other is not None and cell.kind == other.kind == "markdown":
                expected = anatomy(other.source, reference, book.config)
                violations += _compare(
                    chapter.where, cell.id, expected, anatomy(cell.source, code, book.config)
                )
    return violations


def _compare(where: str, cell: str, expected: Anatomy, actual: Anatomy) -> list[Violation]:
    violations = []
    if expected.headings != actual.headings:
        what = f"headings of levels {actual.headings} where the reference has {expected.headings}"
        violations.append(Violation(where, cell, what, "give the headings the same levels, in order"))
    for label, theirs, ours, remedy in (
        ("links", expected.links, actual.links, "link to the same places, as often"),
        ("formulas", expected.formulas, actual.formulas, r"only the words in \text{…} may differ"),
        ("inline code", expected.code, actual.code, "keep the same `code` in the prose"),
        ("directives", expected.names, actual.names, "use the same directives, roles and fences"),
    ):
        if difference := _difference(theirs, ours):
            violations.append(Violation(where, cell, f"{label}: {difference}", remedy))
    return violations
