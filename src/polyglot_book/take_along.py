"""Makes copies of notebooks to take along: plain Markdown, and figures that show before a cell is run.

The stored notebooks are what the site is built from and what the tests compare; the copies are for readers.
"""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import nbformat
from nbformat import NotebookNode

from polyglot_book.config import Book
from polyglot_book.ipynb import (
    SVG,
    alternative_text,
    code_cells,
    is_solution,
    read_notebook,
    write_notebook,
)
from polyglot_book.plain import plain

_v4: Any = nbformat.v4  # its functions carry no types
_new_node: Any = NotebookNode
# The folder of copies to work in, below the book's root.
WORKSHOP = "lab"
_LINK = re.compile(r"\]\(((?:[\w-]+\.ipynb)?)((?:#[\w-]+)?)\)")
# Gives the address of another page of the same language: its stem, and an anchor with its `#`, or nothing.
Address = Callable[[str, str], str]


def has_solutions(notebook: NotebookNode) -> bool:
    """Whether a copy for students differs from the whole one."""
    return any(map(is_solution, notebook.cells))


def take_along(
    notebook: NotebookNode, address: Address | None = None, *, note: str = "", install: str = ""
) -> NotebookNode:
    """Copy a notebook for a reader.

    Args:
        notebook: A stored notebook, which stays as it is.
        address: Where the other pages are; None where they lie beside the copy.
        note: A text before everything else.
        install: Code that comes before the chapter's own.
    """
    result = copy.deepcopy(notebook)
    for cell in result.cells:
        alt = alternative_text(cell)
        for key in ("mystnb", "of"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "markdown":
            cell.source = _with_links(plain(cell.source), address)
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                output.data = _figure(output.data[SVG], alt)
            if "text/markdown" in output.get("data", {}):
                output.data["text/markdown"] = _with_links(output.data["text/markdown"], address)
    first = [_v4.new_markdown_cell(note, id="about-this-copy")] if note else []
    first += [_v4.new_code_cell(install, id="install")] if install else []
    result.cells[:0] = first
    return result


def for_students(notebook: NotebookNode) -> NotebookNode:
    """Copy a notebook without its solutions and without any output."""
    result = copy.deepcopy(notebook)
    result.cells = [cell for cell in result.cells if not is_solution(cell)]
    for cell in code_cells(result):
        cell.outputs, cell.execution_count = [], None
    return result


def _with_links(text: str, address: Address | None) -> str:
    """Let the links of a Markdown cell lead somewhere in a copy: to its cells in JupyterLab's words."""

    def lead(found: re.Match[str]) -> str:
        page, anchor = found.groups()
        if page and address:
            return f"]({address(page.removesuffix('.ipynb'), anchor)})"
        return f"]({page}{anchor.replace('#', '#cell-id=')})"

    return _LINK.sub(lead, text)


def _figure(svg: str, alt: str) -> NotebookNode:
    """Show a figure as an image: programs that do not trust a notebook hide SVG, but not this."""
    alt = " ".join(alt.split())
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    html = f'<img alt="{escape(alt)}" src="{address}">'
    node: NotebookNode = _new_node({"text/html": html, "text/plain": alt})
    return node


def install_code(package: str, arguments: Sequence[str]) -> str:
    """Write the cell that installs a package, and what else pip is told to, where it is missing."""
    lines = [f"if importlib.util.find_spec({package!r}) is None:"]
    lines += [f"    %pip install -q {each}" for each in arguments]
    return "\n".join(["import importlib.util", "", *lines])


def fill_workshop(book: Book) -> list[str]:
    """Write copies of all notebooks into the folder to work in, `lab/<language>/<stem>.ipynb`.

    Returns:
        The notebooks that were copied. A copy that exists may hold somebody's work and is not replaced.
    """
    copied = []
    for code in book.languages:
        for path in sorted(book.notebooks_dir(code).glob("*.ipynb")):
            target = book.root / WORKSHOP / code / path.name
            if not target.exists():
                write_notebook(take_along(read_notebook(path)), target)
                copied.append(f"{code}/{path.stem}")
    return copied
