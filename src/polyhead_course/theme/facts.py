"""Counts what the book holds in one language, for the page where a language is chosen."""

from __future__ import annotations

import json
from pathlib import Path

from polyglot_book.contents import overview


def facts_of(folder: Path) -> dict[str, int]:
    """Count the chapters in a language's folder, their exercises, and the code cells of all its notebooks.

    Returns:
        The numbers by these names; nothing where there are no chapters.
    """
    chapters = overview(folder)
    notebooks = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.ipynb")]
    code = [cell for notebook in notebooks for cell in notebook["cells"] if cell["cell_type"] == "code"]
    exercises = sum(len(chapter.exercises) for chapter in chapters.values())
    return {"chapters": len(chapters), "exercises": exercises, "cells": len(code)} if chapters else {}
