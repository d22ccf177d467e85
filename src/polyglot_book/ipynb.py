"""Reads and writes notebook files, completely or not at all, and recognizes the kinds of their cells."""

import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

_v4: Any = nbformat.v4  # its functions carry no types
SVG = "image/svg+xml"
STARTER_TAG = "starter"  # of the code cell that a reader begins an exercise with
SOLUTION_PREFIX = "solution-"  # of the ids of a solution's cells


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that no reader ever sees a part of it.

    Raises:
        OSError: The file cannot be written; the error names `path`, and the file is as it was.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            half.write_bytes(data)
            if path.exists():
                shutil.copymode(path, half)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as error:
        # Write errors name no file, and the others name the temporary one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


class NotebookError(ValueError):
    """A file that is not a notebook of the present format, with ids of its cells."""


def parse_notebook(text: str | bytes, file: str = "notebook", *, check: bool = True) -> NotebookNode:
    """Read a notebook's text.

    Args:
        text: The JSON of the file; bytes are UTF-8.
        file: The file's name for messages.
        check: Whether to compare it with the format's schema, which takes as long as reading it.

    Raises:
        NotebookError: It is not a valid notebook.
    """
    try:
        notebook: NotebookNode = _v4.reads(text)
        if check:
            nbformat.validate(notebook)
    except Exception as error:  # nbformat's reader fails on bad files in any way
        raise NotebookError(f"{file}: not a valid notebook: {' '.join(str(error).split())[:200]}") from None
    if check and not all("id" in cell for cell in notebook.cells):
        raise NotebookError(f"{file}: not a valid notebook: a cell has no id")
    return notebook


def read_notebook(path: Path, *, check: bool = True) -> NotebookNode:
    """Read a notebook file, as `parse_notebook` reads its text.

    Raises:
        NotebookError: It is not a valid notebook.
        FileNotFoundError: There is no such file.
    """
    return parse_notebook(path.read_bytes(), str(path), check=check)


def to_bytes(notebook: NotebookNode, *, check: bool = True) -> bytes:
    """Return the content of a notebook's file as Jupyter writes it: saving it there changes nothing."""
    if check:
        nbformat.validate(notebook)
    return f"{_v4.writes(notebook)}\n".encode()


def write_notebook(notebook: NotebookNode, path: Path, *, check: bool = True) -> None:
    """Write a notebook file, and make its folder."""
    write_atomically(path, to_bytes(notebook, check=check))


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """List the code cells of a notebook."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> list[str]:
    """List the tags of a cell."""
    return list(cell.metadata.get("tags", []))


def is_starter(cell: NotebookNode) -> bool:
    """Whether a reader begins an exercise with this cell; its output would be the answer."""
    return STARTER_TAG in tags(cell)


def is_solution(cell: NotebookNode) -> bool:
    """Whether a cell is part of an exercise's solution."""
    return bool(cell.id.startswith(SOLUTION_PREFIX))


def alternative_text(cell: NotebookNode) -> str:
    """Return the alternative text of a cell's figure, "" where it has none."""
    image = (cell.metadata.get("mystnb") or {}).get("image") or {}
    return image.get("alt") or ""


def figures(notebook: NotebookNode) -> dict[str, str]:
    """Return the SVG in the outputs of each cell that has one, by the cell's id."""
    outputs = ((str(cell.get("id")), each) for cell in code_cells(notebook) for each in cell.outputs)
    return {cell_id: each.data[SVG] for cell_id, each in outputs if SVG in each.get("data", {})}
