"""Checks that a translation keeps what no language changes: links, formulas, code, directives, headings."""

from __future__ import annotations

from collections import Counter

from polyglot_book.chapters import Cell, read_all
from polyglot_book.config import Book
from polyglot_book.markdown import anatomy
from polyglot_book.violations import Violation


def _difference(expected: Counter[str], actual: Counter[str]) -> str:
    """Say what lacks and what is too much."""

    def listed(counter: Counter[str]) -> str:
        return ", ".join(
            f"{key!r}" + (f" ({count} times)" if count > 1 else "") for key, count in counter.items()
        )

    parts = [
        f"{word} {listed(counter)}"
        for word, counter in (("lacks", expected - actual), ("adds", actual - expected))
        if counter
    ]
    return " and ".join(parts)


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
            if other is not None and cell.kind == other.kind == "markdown":
                violations += _compare(chapter.where, (reference, other), (code, cell))
    return violations


def _compare(where: str, reference: tuple[str, Cell], translation: tuple[str, Cell]) -> list[Violation]:
    expected = anatomy(reference[1].source, reference[0])
    actual = anatomy(translation[1].source, translation[0])
    cell = translation[1].id
    violations = []
    if expected.headings != actual.headings:
        what = f"headings of levels {actual.headings} where the reference has {expected.headings}"
        violations.append(
            Violation(where, cell, what, "give the headings the same levels, in the same order")
        )
    for name, remedy in (
        ("links", "link to the same places, as often"),
        ("formulas", r"write the same formulas; only the words in \text{…} may differ"),
        ("code", "keep the same `code` in the prose"),
        ("names", "use the same directives, roles and fences"),
    ):
        if difference := _difference(getattr(expected, name), getattr(actual, name)):
            label = {"code": "inline code", "names": "directives"}.get(name, name)
            violations.append(Violation(where, cell, f"{label}: {difference}", remedy))
    return violations
