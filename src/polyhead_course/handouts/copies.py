"""Makes copies of notebooks for readers: CommonMark, and figures that every program shows.

The site is built from the stored notebooks, and the tests compare these; the copies are for readers.
`python -m polyhead_course.handouts.copies` copies all of them to `lab/`, to work in.
"""

import base64
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import takewhile
from typing import Any

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat import NotebookNode

from polyglot_book.config import Book
from polyglot_book.ipynb import SVG, alternative_text, code_cells, is_solution, read_notebook, write_notebook

_v4: Any = nbformat.v4  # its functions carry no types
_new_node: Any = NotebookNode
# The folder of the copies, below the book's root.
LAB = "lab"
_LINK = re.compile(r"\]\(((?:[\w-]+\.ipynb)?)((?:#[\w-]+)?)\)")
_PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)
_FENCE = re.compile(r"^ {0,3}(?::::|```|~~~)", re.MULTILINE)
_DIRECTIVE = re.compile(r"\{(\w+)\} *(.*)")
_OPTION = re.compile(r":[\w-]+:")
# From the stem of another page of the same language, and an anchor with its `#` or "", to an address.
Address = Callable[[str, str], str]


def has_solutions(notebook: NotebookNode) -> bool:
    """Whether a notebook has solutions, which a copy for students lacks."""
    return any(map(is_solution, notebook.cells))


def reader_copy(
    notebook: NotebookNode, address: Address | None = None, *, note: str = "", install: str = ""
) -> NotebookNode:
    """Copy a notebook for a reader.

    Args:
        notebook: A stored notebook, which stays as it is.
        address: The addresses of the other pages; None if they are beside the copy.
        note: A text for a cell at the beginning.
        install: Code for a cell before the chapter's cells.
    """
    result = copy.deepcopy(notebook)
    for cell in result.cells:
        alt = alternative_text(cell)
        for key in ("mystnb", "of"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "markdown":
            cell.source = _with_links(to_commonmark(cell.source), address)
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                output.data = _figure(output.data[SVG], alt)
            if "text/markdown" in output.get("data", {}):
                output.data["text/markdown"] = _with_links(output.data["text/markdown"], address)
    first = [_v4.new_markdown_cell(note, id="about-this-copy")] if note else []
    first += [_v4.new_code_cell(install, id="install")] if install else []
    result.cells[:0] = first
    return result


def student_copy(notebook: NotebookNode) -> NotebookNode:
    """Copy a notebook without its solutions and without any output."""
    result = copy.deepcopy(notebook)
    result.cells = [cell for cell in result.cells if not is_solution(cell)]
    for cell in code_cells(result):
        cell.outputs, cell.execution_count = [], None
    return result


def _with_links(text: str, address: Address | None) -> str:
    """Rewrite the links between pages for a copy; JupyterLab writes a cell's anchor as `#cell-id=`."""

    def target(match: re.Match[str]) -> str:
        page, anchor = match.groups()
        if page and address:
            return f"]({address(page.removesuffix('.ipynb'), anchor)})"
        return f"]({page}{anchor.replace('#', '#cell-id=')})"

    return _LINK.sub(target, text)


def _figure(svg: str, alt: str) -> NotebookNode:
    """Return a figure as an image: programs that do not trust a notebook hide SVG, but not images."""
    alt = " ".join(alt.split())
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    html = f'<img alt="{escape(alt)}" src="{address}">'
    node: NotebookNode = _new_node({"text/html": html, "text/plain": alt})
    return node


def to_commonmark(text: str) -> str:
    r"""Rewrite admonitions as quotations with a bold title, and dropdowns as `<details>`.

    Other directives stay as they are.

    >>> print(to_commonmark(":::{admonition} Why?\n:class: exercise\nSay it.\n:::"))
    > **Why?**
    >
    > Say it.
    """
    if not _FENCE.search(text):
        return text
    lines = text.split("\n")
    for token in reversed(_PARSER.parse(text)):
        if token.type in {"colon_fence", "fence"} and token.level == 0 and token.map:
            start, end = token.map
            if replacement := _directive(token):
                # Without an empty line, the next line would belong to the quotation.
                follows = end < len(lines) and lines[end].strip()
                lines[start:end] = [*replacement, ""] if follows else replacement
    return "\n".join(lines)


def _directive(token: Token) -> list[str] | None:
    """Return a directive as CommonMark, None where it has no such form."""
    directive = _DIRECTIVE.fullmatch(token.info.strip())
    if directive is None or directive[1] not in {"admonition", "dropdown"}:
        return None
    lines = token.content.rstrip("\n").split("\n")
    options = list(takewhile(_OPTION.match, lines))
    body = to_commonmark("\n".join(lines[len(options) :]).strip("\n")).split("\n")
    if directive[1] == "dropdown":
        # Between HTML, Markdown begins and ends at an empty line.
        summary = f"<summary>{_PARSER.renderInline(directive[2])}</summary>"
        return ["<details>", summary, "", *body, "", "</details>"]
    return [f"> {line}".rstrip() for line in (f"**{directive[2]}**", "", *body)]


def install_code(missing: Mapping[str, Sequence[str]], wheels: str = "") -> str:
    """Return the code that installs packages where they are missing.

    Args:
        missing: By the name by which a package is imported, the lines that pip is given where it is missing.
        wheels: An expression for the address of the folder that the lines call `{wheels}`.

    >>> print(install_code({"polyhead": ["polyhead==0.1.0", "--no-deps d2l"]}))
    import importlib.util
    <BLANKLINE>
    if importlib.util.find_spec('polyhead') is None:
        %pip install -q polyhead==0.1.0
        %pip install -q --no-deps d2l
    """
    lines = ["import importlib.util"]
    lines += ["from pathlib import Path", "", f"wheels = {wheels}"] if wheels else [""]
    for package, arguments in missing.items():
        lines += [f"if importlib.util.find_spec({package!r}) is None:"]
        lines += [f"    %pip install -q {each}" for each in arguments]
    return "\n".join(lines)


def copy_notebooks(book: Book) -> list[str]:
    """Copy all notebooks to a folder for work in them, as `lab/<language>/<stem>.ipynb`.

    Returns:
        The names of the copied notebooks. A copy that exists may hold somebody's work and is not replaced.
    """
    copied = []
    for code in book.languages:
        folder = book.notebooks_dir(code)
        for path in sorted(folder.rglob("*.ipynb")):
            name = path.relative_to(folder)
            target = book.root / LAB / code / name
            if not target.exists():
                write_notebook(reader_copy(read_notebook(path)), target)
                copied.append(f"{code}/{name.with_suffix('').as_posix()}")
    return copied


if __name__ == "__main__" and (names := copy_notebooks(Book.load("."))):
    print(f"{len(names)} notebooks copied to {LAB}/")
