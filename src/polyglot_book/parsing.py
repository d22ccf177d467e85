"""Reads a chapter's text with jupytext, and says in which line something is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jupytext.myst import get_parser, myst_to_notebook, read_fenced_cell
from nbformat import NotebookNode

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_HASH = re.compile(r"[0-9a-f]{8}")
# jupytext's splitlines() breaks lines at these, Markdown does not: cells would be cut at the wrong place.
_ODD_BREAKS = re.compile("[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]|\r")
# What a code cell holds whose closing fence is missing.
_NEXT_CELL = re.compile(r"^(`{3,}\{code-cell\}|\+\+\+ )", re.MULTILINE)


class ChapterError(ValueError):
    """A chapter whose text cannot be read."""

    def __init__(self, where: str, line: int, message: str, remedy: str) -> None:
        """Name the file and the line (from 1)."""
        super().__init__(f"{where}:{line}: {message}; {remedy}")
        self.where, self.line, self.message, self.remedy = where, line, message, remedy


def read_notebook(text: str, where: str) -> NotebookNode:
    r"""Read a text with jupytext, and refuse what later steps would misread.

    Args:
        text: The text; its lines end with \n.
        where: What messages call the file.

    Returns:
        The notebook; every cell's metadata holds its id.
    """
    if odd := _ODD_BREAKS.search(text):
        line = text[: odd.start()].count("\n") + 1
        raise ChapterError(where, line, f"the line separator {odd.group()!r}", "use \\n alone")
    try:
        tokens = get_parser().parse(f"{text}\n")
        for token in tokens:
            if token.type == "fence" and token.info.startswith("{code-cell}"):
                tags = read_fenced_cell(token, 0, "Code")[0].get("tags", [])
                if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
                    raise ChapterError(where, token.map[0] + 1, f"tags {tags!r}", "write a list of words")
        notebook: NotebookNode = myst_to_notebook(text, add_source_map=True)
        lines: list[int] = notebook.metadata.pop("source_map")
    except ChapterError:
        raise
    except Exception as error:  # YAML's errors, and jupytext's own, which are plain Exceptions
        message = " ".join(str(error).split())
        found = re.search(r"cell \d+ at line (\d+)", message)
        raise ChapterError(where, int(found[1]) if found else 1, message, "mend the header") from None
    for token in tokens:
        if token.type == "myst_block_break" and token.level == 0 and token.map[1] not in lines:
            remedy = "write it or remove its +++ line"
            raise ChapterError(where, token.map[1], "a Markdown cell without text", remedy)
    ids: dict[str, int] = {}
    for cell, line in zip(notebook.cells, (max(1, each) for each in lines), strict=True):
        if problem := _problem(cell):
            raise ChapterError(where, line, *problem)
        if (first := ids.setdefault(cell.metadata["id"], line)) != line:
            message = f"id {cell.metadata['id']!r} again, first in line {first}"
            raise ChapterError(where, line, message, "rename one")
    return notebook


def _problem(cell: NotebookNode) -> tuple[str, str] | None:
    """Say what is wrong with a cell, and what to do about it."""
    if cell.cell_type == "raw":
        return "a raw cell", "only Markdown and code cells can be translated"
    if cell.cell_type == "code" and _NEXT_CELL.search(cell.source):
        return "a code cell's fence is not closed", "close it"
    metadata = cell.metadata
    if "id" not in metadata:
        remedy = 'open it with +++ {"id": "…"}' if cell.cell_type == "markdown" else "give it an :id:"
        return f"a {cell.cell_type} cell without id", remedy
    cell_id, of = metadata["id"], metadata.get("of", "0" * 8)
    if not isinstance(cell_id, str) or not _ID.fullmatch(cell_id) or len(cell_id) > 64:
        return f"id {cell_id!r}", "write kebab-case: a-z, 0-9, single hyphens, at most 64"
    # YAML reads the unquoted hash 12345678 as a number.
    if not isinstance(of, str) or not _HASH.fullmatch(of):
        return f"of {of!r} is not 8 hex digits in quotes", "let `make mark` write it"
    image: Any = metadata
    for key in ("mystnb", "image"):
        image = image.get(key, {})
        if not isinstance(image, Mapping):
            return f"{key} {image!r}", "write a mapping"
    if not isinstance(image.get("alt", ""), str):
        return f"alt {image['alt']!r} is not text", "put it in quotes"
    return None
