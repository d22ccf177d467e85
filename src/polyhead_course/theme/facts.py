"""Counts what the book holds in one language, for the page where a language is chosen."""

from __future__ import annotations

from pathlib import Path

from polyglot_book.contents import overview
from polyglot_book.ipynb import code_cells, read_notebook


def facts_of(folder: Path) -> dict[str, int]:
    """Count the chapters in a language's folder, their exercises, and the code cells of all its notebooks.

    Returns:
        The numbers by these names; nothing where there are no chapters.
    """
    chapters = overview(folder)
    cells = sum(len(code_cells(read_notebook(path, check=False))) for path in folder.glob("*.ipynb"))
    exercises = sum(len(chapter.exercises) for chapter in chapters.values())
    return {"chapters": len(chapters), "exercises": exercises, "cells": cells} if chapters else {}
