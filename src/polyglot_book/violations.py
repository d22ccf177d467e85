"""What a check reports: the file, the cell, the problem and the remedy; the commands that remedies name."""

from __future__ import annotations

from dataclasses import dataclass

# As the Makefile of this project has them.
NOTEBOOKS = "make notebooks"
SYNC = "make sync"
MARK = "make mark CELL="


@dataclass(frozen=True, order=True)
class Violation:
    """One thing that is wrong with a book.

    Attributes:
        file: The file, relative to the book's root.
        cell: The id of the cell, or "" where the whole file is concerned.
        problem: What is wrong.
        remedy: What to do.
    """

    file: str
    cell: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """Format it as one line.

        >>> print(Violation("chapters/ko/01-one.md", "why", "missing", "run `make sync`"))
        chapters/ko/01-one.md#why: missing; run `make sync`
        """
        cell = f"#{self.cell}" if self.cell else ""
        return f"{self.file}{cell}: {self.problem}; {self.remedy}"
