"""Says what a check found: where, what, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Violation:
    """One finding of a check.

    Attributes:
        where: The file, relative to the book's root.
        cell: The id of the cell, or "" where the finding concerns the whole file.
        what: What is wrong.
        remedy: What to do.
    """

    where: str
    cell: str
    what: str
    remedy: str

    def __str__(self) -> str:
        """Write it on one line, as `file#cell: what; what to do`."""
        place = f"{self.where}#{self.cell}" if self.cell else self.where
        return f"{place}: {self.what}; {self.remedy}"
