"""Reads which chapters a language has and which builds on which, for a page that draws their map."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
_HEADING = re.compile(r"^# +(.+?) *$", re.MULTILINE)


def outline(folder: str | Path = ".") -> dict[str, tuple[str, list[str]]]:
    """Tell each chapter's title, and the chapters that it needs, in their order.

    It reads the chapters' text where that lies beside the notebooks, and else the notebooks. Pages that do
    not say what they need, such as an index, are no chapters.

    Args:
        folder: A language's folder of notebooks, `<book>/<language>`; a running notebook's own by default.

    Returns:
        For each chapter's stem its first heading and the stems of the chapters it needs.
    """
    here = Path(folder).resolve()
    texts = here.parents[1] / "chapters" / here.name
    read = _read_chapter if texts.is_dir() else _read_notebook
    chapters = {}
    for path in sorted(texts.glob("*.md") if texts.is_dir() else here.glob("*.ipynb")):
        metadata, text = read(path)
        if "needs" not in metadata:
            continue
        needs, heading = metadata["needs"], _HEADING.search(text)
        if not isinstance(needs, list) or not all(isinstance(each, str) for each in needs):
            raise ValueError(f"{path}: needs must be a list of chapters, such as [01-first], got {needs!r}")
        if heading is None:
            raise ValueError(f"{path}: expected a title, a line that begins with '# '; there is none")
        chapters[path.stem] = heading[1], needs
    return chapters


def _read_chapter(path: Path) -> tuple[dict[str, Any], str]:
    import yaml

    parts = _FRONT_MATTER.match(path.read_text(encoding="utf-8"))
    return (yaml.safe_load(parts[1]), parts[2]) if parts else ({}, "")


def _read_notebook(path: Path) -> tuple[dict[str, Any], str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    texts = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    return notebook["metadata"], "\n".join(texts)
