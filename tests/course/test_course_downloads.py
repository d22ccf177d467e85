"""The notebooks and the library that readers take along from the built site."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import yaml

from polyglot_book.chapters import Chapter
from polyglot_book.config import Book

ROOT = Path(__file__).parents[2]


def test_the_notebooks_ask_for_the_wheels_that_are_there(book: Book, site: Path) -> None:
    config = yaml.safe_load((book.root / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    install = config["polyglot_install"]
    lines = [*install["pip"], *(line for each in install["pip_where"].values() for line in each.values())]
    wheels = set(re.findall(r"{site}(\S+\.whl)", " ".join(lines)))
    assert wheels
    assert wheels <= {path.name for path in site.glob("*.whl")}
    pinned = {
        line
        for name in ("requirements-no-deps.txt", "requirements-model.txt")
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
    }
    for line in lines:
        if "--no-deps" in line:
            assert set(line.removeprefix("--no-deps ").split()) <= pinned


def read(path: Path) -> nbformat.NotebookNode:
    """Without a validation, of which `nbformat.read` would only log what it finds."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def test_every_chapter_can_be_taken_along(chapters: dict[tuple[str, str], Chapter], site: Path) -> None:
    for (code, stem), chapter in chapters.items():
        if stem == "index":
            continue
        path = site / "notebooks" / f"polyhead-{code}-{stem}.ipynb"
        whole = read(path)
        assert path.stat().st_size < 5_000_000
        texts = [cell.source for cell in whole.cells if cell.cell_type == "markdown"]
        # No directive is left that only this site understands.
        assert not [text for text in texts if ":::" in text or "{admonition}" in text]
        data = [out.data for cell in whole.cells for out in cell.get("outputs", []) if "data" in out]
        figures = [each for each in data if "data:image/svg+xml" in each.get("text/html", "")]
        assert len(figures) == len([cell for cell in chapter.cells if cell.kind == "code" and cell.alt])
        student = path.with_name(f"{path.stem}-student.ipynb")
        solutions = [cell.id for cell in chapter.cells if cell.id.startswith("solution-")]
        assert student.exists() == bool(solutions)
        if solutions:
            left = read(student).cells
            assert not {cell.id for cell in left} & set(solutions)
            assert not [cell.id for cell in left if cell.get("outputs")]


def test_the_teachers_page_links_the_sheet_of_each_chapter_with_exercises(book: Book, site: Path) -> None:
    for code in book.languages:
        page = (site / book.folder / code / "teaching.html").read_text(encoding="utf-8")
        sheets = re.findall(r'<a href="([^"?]+)\.html\?sheet">', page.split('id="main-content"')[1])
        copies = sorted((site / "notebooks").glob(f"polyhead-{code}-[0-9]*-student.ipynb"))
        files = [path.name for path in copies]
        assert [f"polyhead-{code}-{stem}-student.ipynb" for stem in sheets] == files
        assert len(sheets) >= 14
