"""`Table`: rows below headings in the reader's language."""

from collections.abc import Sequence

from polyhead_course.words.language import text


class Table:
    """Rows of Markdown below headings from `terms.yml`, in the reader's language.

    >>> Table(["course.chapter", "course.check"], [[1, "attention"]])
    Chapter | Check
    1 | attention

    Raises:
        ValueError: a row has not one cell for each heading, or a heading is not in `terms.yml`.
    """

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Take the headings' keys and the cells; the language is the one that is chosen now."""
        for row in rows:
            if len(row) != len(headings):
                raise ValueError(f"rows must have {len(headings)} cells, one for each heading, got {row!r}")
        self.lines = [[text(key) for key in headings], *([str(cell) for cell in row] for row in rows)]

    def __repr__(self) -> str:
        """The cells, each row on a line, for a terminal."""
        return "\n".join(" | ".join(line) for line in self.lines)

    def _repr_markdown_(self) -> str:
        """The table that a notebook and the site show."""
        head, *rows = ([cell.replace("|", "\\|") for cell in line] for line in self.lines)
        return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))
