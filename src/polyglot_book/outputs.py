"""Checks the stored notebooks for what nbval accepts: cells never executed, old text, bitmaps, stderr."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from polyglot_book.chapters import read_all
from polyglot_book.commands import NOTEBOOKS
from polyglot_book.config import Book, Verdicts
from polyglot_book.ipynb import (
    SVG,
    NotebookError,
    alternative_text,
    is_solution,
    is_starter,
    read_notebook,
    tags,
)
from polyglot_book.notebooks import make_notebook, orphans
from polyglot_book.violations import Violation

_BITMAPS = ("image/png", "image/jpeg", "image/gif")
_MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|tmp|var|opt|usr|private|mnt|work|workspace|builds?|srv|data)/[\w.@-]+"
    r"|\b[A-Za-z]:\\+(?:Users|Windows|Program|tmp|Temp)\b"
)
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_AGAIN = f"run `{NOTEBOOKS}`"
_Finding = tuple[str, str, str]  # the cell's id, what is wrong, what to do


def check_notebooks(book: Book) -> list[Violation]:
    """Compare every notebook with its chapter, and find what its outputs must not hold."""
    violations = [
        Violation(book.relative(path), "", "a notebook without a chapter", f"{_AGAIN}, which removes it")
        for path in orphans(book)
    ]
    for (code, stem), chapter in read_all(book)[0].items():
        path = book.notebooks_dir(code) / f"{stem}.ipynb"
        try:
            notebook = read_notebook(path)
            findings = [*_compare(make_notebook(chapter), notebook), *_outputs(notebook, book)]
        except FileNotFoundError:
            findings = [("", f"{chapter.file} has no notebook", _AGAIN)]
        except NotebookError:
            findings = [("", "not a valid notebook", _AGAIN)]
        violations += [Violation(book.relative(path), *finding) for finding in findings]
    return violations


def _compare(expected: NotebookNode, actual: NotebookNode) -> Iterator[_Finding]:
    """Compare a notebook with what its chapter makes, except for its outputs."""
    if (expected.metadata, expected.nbformat_minor) != (actual.metadata, actual.nbformat_minor):
        yield "", "its metadata is not what the chapter makes", _AGAIN
    cells, others = (
        {cell.id: (cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells}
        for notebook in (expected, actual)
    )
    if list(cells) != list(others) and cells.keys() == others.keys():
        yield "", "its cells are in another order than the chapter's", _AGAIN
    for cell_id in {**cells, **others}:
        if cells.get(cell_id) != others.get(cell_id):
            yield cell_id, "it differs from the chapter's cell", f"edit the chapter, then {_AGAIN}"


def _outputs(notebook: NotebookNode, book: Book) -> Iterator[_Finding]:
    number = 0
    for cell in notebook.cells:
        if "execution" in cell.metadata:
            yield cell.id, "execution timestamps", _AGAIN
        if cell.cell_type != "code":
            continue
        number += 1
        if cell.execution_count is None:
            yield cell.id, "never executed", _AGAIN
        elif cell.execution_count != number:
            yield cell.id, f"executed as number {cell.execution_count}, expected {number}", _AGAIN
        if cell.outputs and is_starter(cell):
            yield cell.id, "the output of a starter", _AGAIN
        for output in cell.outputs:
            yield from ((cell.id, *finding) for finding in _output(cell, output))
        if is_solution(cell) and book.verdicts:
            line = _last_verdict(cell, book.verdicts)
            if line.startswith(book.verdicts.wrong):
                yield cell.id, f"its check calls the solution wrong: {line}", "correct one of them"


def _last_verdict(cell: NotebookNode, verdicts: Verdicts) -> str:
    """Return the last line in which a check judges an answer: a solution may show a mistake first."""
    lines = [line for output in cell.outputs for text in _texts(output) for line in text.splitlines()]
    return next((line for line in reversed(lines) if line.startswith((verdicts.right, verdicts.wrong))), "")


def _output(cell: NotebookNode, output: NotebookNode) -> Iterator[tuple[str, str]]:
    if output.output_type == "error" and "raises-exception" not in tags(cell):
        yield f"stored error {output.ename}", "correct the code, or tag it raises-exception"
    if output.output_type == "stream" and output.name == "stderr":
        start = " ".join(output.text.split())[:80]
        yield f"output on stderr: {start}", "remove the cause of the warning"
    data = output.get("data", {})
    for kind in _BITMAPS:
        if kind in data:
            yield f"a bitmap ({kind}), which nbval does not compare", "draw it as SVG"
    if SVG in data and not alternative_text(cell).strip():
        yield "a figure without alternative text", "describe it under mystnb: image: alt"
    texts = _texts(output)
    for pattern, what in ((_MACHINE_PATH, "a path of one machine"), (_ADDRESS, "a memory address")):
        if match := next(filter(None, map(pattern.search, texts)), None):
            yield f"{what} in its output: {match.group()}", "print what every machine prints"


def _texts(output: NotebookNode) -> list[str]:
    """List the texts of an output, of every kind."""
    match output.output_type:
        case "stream":
            return [output.text]
        case "error":
            return [output.evalue, *output.traceback]
    return [value for value in output.data.values() if isinstance(value, str)]
