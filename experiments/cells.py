"""Runs code cells of a chapter: the code on its page, for seeds that the page does not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polyglot_book.chapters import parse_chapter

CHAPTERS = Path(__file__).parents[1] / "chapters/en"


def cell_sources(stem: str) -> dict[str, str]:
    """Read the code of each code cell of a chapter, such as "08-cross-attention", by the cell's id."""
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    cells = parse_chapter(text, f"{stem}.md").cells
    return {cell.id: cell.source for cell in cells if cell.kind == "code"}


def run_cells(
    stem: str, *cells: str | tuple[str, str], names: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Run cells of a chapter and return the names that they define, besides the given ones.

    Args:
        stem: The chapter's file without its ending.
        cells: The ids of the cells; with an id, the line before which the cell's code ends, such as the one
            that starts an experiment of minutes.
        names: Names that the cells use, of cells that do not run.

    Raises:
        ValueError: A cell has no such line.
    """
    names, sources = dict(names or {}), cell_sources(stem)
    for each in cells:
        cell, until = each if isinstance(each, tuple) else (each, "")
        code, found, _ = sources[cell].partition(f"\n{until}") if until else (sources[cell], "all", "")
        if not found:
            raise ValueError(f"expected a line that begins with {until!r} in cell {cell!r} of {stem}.md")
        exec(compile(code, f"{stem}.md:{cell}", "exec"), names)
    return names
