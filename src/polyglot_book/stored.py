"""Checks the stored notebooks for what nbval lets pass: cells never executed, old text, bitmaps, stderr."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from polyglot_book.chapters import read_all
from polyglot_book.config import Book
from polyglot_book.notebooks import COMMAND, library_hash, make_notebook, orphans, read_notebook
from polyglot_book.violations import Violation

_BITMAPS = ("image/png", "image/jpeg", "image/gif")
_MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|tmp|var|opt|usr|private|mnt|work|workspace|builds?|srv|data)/[\w.@-]+"
    r"|\b[A-Za-z]:\\+(?:Users|Windows|Program|tmp|Temp)\b"
)
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_AGAIN = f"run `{COMMAND}`"


def check_stored(book: Book) -> list[Violation]:
    """Check every notebook against its chapter, and its outputs against what must not be stored."""
    chapters, _ = read_all(book)
    library = library_hash(book)
    violations = [
        Violation(book.relative(path), "", "a notebook without a chapter", f"{_AGAIN}, which removes it")
        for path in orphans(book)
    ]
    for (code, stem), chapter in chapters.items():
        path = book.notebooks_dir(code) / f"{stem}.ipynb"
        where = book.relative(path)
        if not path.is_file():
            violations.append(Violation(where, "", f"{chapter.where} has no notebook", _AGAIN))
            continue
        stored = read_notebook(path)
        if stored is None:
            violations.append(Violation(where, "", "not a valid notebook", _AGAIN))
            continue
        violations += _compare(where, make_notebook(book, chapter, library), stored)
        violations += _outputs(where, stored)
    return violations


def _compare(where: str, fresh: NotebookNode, stored: NotebookNode) -> Iterator[Violation]:
    """Compare a notebook with what its chapter makes, outputs apart."""
    inputs = stored.metadata.get("polyglot_book", {}).get("inputs")
    if inputs != fresh.metadata.polyglot_book.inputs:
        what = "its code, or the library, has changed since it was executed"
        yield Violation(where, "", what, _AGAIN)
    fresh_metadata, stored_metadata = dict(fresh.metadata), dict(stored.metadata)
    for metadata in (fresh_metadata, stored_metadata):
        metadata["polyglot_book"] = {**metadata.get("polyglot_book", {}), "inputs": ""}
    versions = {(notebook.nbformat, notebook.nbformat_minor) for notebook in (fresh, stored)}
    if fresh_metadata != stored_metadata or len(versions) > 1:
        yield Violation(where, "", "its metadata is not what the chapter makes", _AGAIN)
    theirs, ours = [cell.id for cell in fresh.cells], [cell.get("id") for cell in stored.cells]
    if theirs != ours:
        for cell in theirs:
            if cell not in ours:
                yield Violation(where, cell, "the chapter has this cell, the notebook lacks it", _AGAIN)
        for cell in ours:
            if cell not in theirs:
                yield Violation(where, str(cell), "the chapter has no such cell", _AGAIN)
        if sorted(theirs) == sorted(map(str, ours)):
            yield Violation(where, "", "its cells are in another order than the chapter's", _AGAIN)
    by_id = {cell.get("id"): cell for cell in stored.cells}
    for cell in fresh.cells:
        old = by_id.get(cell.id)
        if old is None:
            continue
        for key in ("cell_type", "source", "metadata"):
            if old[key] != cell[key]:
                yield Violation(
                    where, cell.id, f"its {key} is not the chapter's", f"edit the chapter, then {_AGAIN}"
                )


def _outputs(where: str, notebook: NotebookNode) -> Iterator[Violation]:
    number = 0
    for cell in notebook.cells:
        cell_id = str(cell.get("id", ""))
        if "execution" in cell.metadata:
            yield Violation(where, cell_id, "execution timestamps", _AGAIN)
        if cell.cell_type != "code":
            continue
        number += 1
        if cell.execution_count is None:
            yield Violation(where, cell_id, "never executed", _AGAIN)
        elif cell.execution_count != number:
            what = f"executed as number {cell.execution_count}, expected {number}"
            yield Violation(where, cell_id, what, _AGAIN)
        for output in cell.outputs:
            yield from _output(where, cell_id, cell, output)


def _output(where: str, cell_id: str, cell: NotebookNode, output: NotebookNode) -> Iterator[Violation]:
    if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", []):
        yield Violation(
            where, cell_id, f"stored error {output.ename}", "mend the code, or tag it raises-exception"
        )
    if output.output_type == "stream" and output.name == "stderr":
        start = " ".join(output.text.split())[:80]
        yield Violation(where, cell_id, f"output on stderr: {start}", "mend what the code warns of")
    data = output.get("data", {})
    for kind in _BITMAPS:
        if kind in data:
            yield Violation(
                where, cell_id, f"a bitmap ({kind}), which nbval does not compare", "draw it as SVG"
            )
    alt = ((cell.metadata.get("mystnb") or {}).get("image") or {}).get("alt") or ""
    if "image/svg+xml" in data and not alt.strip():
        yield Violation(
            where, cell_id, "a figure without alternative text", "describe it under mystnb: image: alt"
        )
    texts = [value for value in data.values() if isinstance(value, str)]
    texts += [output.text] if output.output_type == "stream" else []
    texts += [output.evalue, *output.traceback] if output.output_type == "error" else []
    for pattern, what in ((_MACHINE_PATH, "a path of one machine"), (_ADDRESS, "a memory address")):
        found = next((match.group() for text in texts if (match := pattern.search(text))), None)
        if found:
            yield Violation(
                where, cell_id, f"{what} in its output: {found}", "print something every machine prints"
            )
