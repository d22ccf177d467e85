"""Checks that a translation keeps what no language changes: links, formulas, code, directives, headings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from polyglot_book.chapters import read_all
from polyglot_book.config import Book
from polyglot_book.markdown import Anatomy, anatomy
from polyglot_book.translations import is_waiting
from polyglot_book.violations import Violation

_COUNTS = (
    ("links", "link to the same places, as often"),
    ("formulas", r"only the words in \text{…} may differ"),
    ("code", "keep the same `code` in the prose"),
    ("directives", "use the same directives, roles and fences"),
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
            if other is None or {cell.kind, other.kind} != {"markdown"}:
                continue
            if not is_waiting(cell, book.languages[code]):
                expected = anatomy(other.source, reference, book.extensions)
                actual = anatomy(cell.source, code, book.extensions)
                for finding in _compare(expected, actual):
                    violations.append(Violation(chapter.file, cell.id, *finding))
    return violations


def _compare(expected: Anatomy, actual: Anatomy) -> Iterator[tuple[str, str]]:
    if expected.headings != actual.headings:
        problem = f"headings of levels {actual.headings} where the reference has {expected.headings}"
        yield problem, "give the headings the same levels, in order"
    for name, remedy in _COUNTS:
        if difference := _difference(getattr(expected, name), getattr(actual, name)):
            yield f"{name}: {difference}", remedy


def _difference(expected: Counter[str], actual: Counter[str]) -> str:
    differences = (("lacks", expected - actual), ("adds", actual - expected))
    return " and ".join(
        f"{word} {', '.join(map(repr, counter.elements()))}" for word, counter in differences if counter
    )
