"""A substitute for kernels, and functions that make the notebooks of a tiny book."""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_output

from polyglot_book.execution import CellFailure
from polyglot_book.notebooks import make_notebooks
from tests.polyglot_book.tiny_book import TinyBook


class Kernels:
    """A substitute for kernels that counts them."""

    def __init__(self) -> None:
        self.started = 0
        self.terms: tuple[str, ...] | None = None

    async def run(self, notebook: NotebookNode, *_: object) -> tuple[str, ...] | None:
        self.started += 1
        number = 0
        for cell in notebook.cells:
            if cell.cell_type == "code":
                number += 1
                cell.execution_count = number
                cell.outputs = [new_output("stream", text="executed")]
                if "1 / 0" in cell.source:
                    raise CellFailure(cell.id, "ZeroDivisionError: division by zero")
        return self.terms


def make(tiny: TinyBook, *names: str, everything: bool = False) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return make_notebooks(tiny.book, names, everything=everything, jobs=2, report=lines.append), lines


def stored(tiny: TinyBook) -> dict[str, bytes]:
    return {str(path.relative_to(tiny.root)): path.read_bytes() for path in tiny.root.glob("book/*/*")}
