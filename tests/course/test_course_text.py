"""Checks the course's text, translations and notebooks; nbval, beside it, executes the notebooks again."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from pathlib import Path

import pytest
import yaml

from polyglot_book.chapters import Chapter
from polyglot_book.checks import check_book
from polyglot_book.config import Book

ROOT = Path(__file__).parents[2]
Chapters = dict[tuple[str, str], Chapter]


def test_the_book_violates_nothing(book: Book) -> None:
    violations = check_book(book)
    assert violations == [], "\n" + "\n".join(book.in_own_words(str(each)) for each in violations)


def test_every_language_has_the_same_chapters_in_the_same_order(book: Book) -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    orders = {
        home["file"].split("/")[1]: [page["file"].split("/")[2] for page in home["sections"]]
        for home in toc["chapters"]
        if "sections" in home
    }
    assert list(orders) == list(book.languages)
    assert len({tuple(order) for order in orders.values()}) == 1


def test_chapters_end_with_exercises_summary_and_sources(book: Book) -> None:
    for path in (ROOT / "chapters" / book.reference.code).glob("[0-9]*.md"):
        text = path.read_text(encoding="utf-8")
        exercises = text.count(":class: exercise")
        assert exercises >= 3, f"{path.name} has {exercises} exercises; write three or more"
        assert "checks." in text, f"{path.name}: no exercise has a check"
        ids = re.findall(r'^\+\+\+ \{"id": "([^"]+)"', text, flags=re.M)
        assert ids[-2:] == ["summary", "sources"], f"{path.name} ends with {ids[-2:]}"


def test_reading_times_are_the_same_everywhere(book: Book, chapters: Chapters) -> None:
    """In the front matter, in a chapter's first cell, on the index and in the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = {(code, stem): chapter.metadata.get("minutes") for (code, stem), chapter in chapters.items()}
    for stem in {stem for _, stem in chapters if stem[0].isdigit()}:
        minutes = told[book.reference.code, stem]
        assert isinstance(minutes, int), f"{stem}: no `minutes` in the front matter"
        for code in book.languages:
            file, told_here = f"chapters/{code}/{stem}.md", told[code, stem]
            assert told_here == minutes, f"{file}: minutes: {told_here}, {minutes} in the reference"
            first = chapters[code, stem].cells[0].source
            assert re.search(rf"(?<!\d){minutes}(?!\d)", first), f"{file}: its first cell lacks {minutes}"
            contents = chapters[code, "index"].by_id["contents"].source
            lines = re.findall(rf"\({stem}\.ipynb\)(\D+{minutes}\D.*)", contents)
            assert len(lines) == 1, f"chapters/{code}/index.md#contents: a line with {stem} and {minutes}"
        assert re.search(rf"/{stem}\.ipynb\) \| {minutes} \|", readme), f"README.md: {stem}, {minutes}"


def test_the_citation_is_that_of_the_project(book: Book, chapters: Chapters) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
    parts = [citation["authors"][0]["name"], citation["title"], citation["version"]]
    parts.append(str(citation["date-released"].year))
    for code in book.languages:
        cell = chapters[code, "teaching"].by_id["cite"].source
        *_, bibtex, sentence = re.split("```(?:bibtex)?", " ".join(cell.split()))
        assert [part for part in parts if part not in bibtex or part not in sentence] == [], code


def test_comments_in_code_give_shapes_only(chapters: Chapters) -> None:
    """They are the same in every language: `# (batch, num_tokens)`, `# 4 × (2, 3, 5)`, `# (4, 6) each`."""
    shape = re.compile(r"(\d+ × )?\(.*\)( each)?")
    told = [
        f"{chapter.file}#{cell.id}: {token.string}"
        for chapter in chapters.values()
        for cell in chapter.cells
        if cell.kind == "code"
        for token in tokenize.generate_tokens(io.StringIO(cell.source).readline)
        if token.type == tokenize.COMMENT and not shape.fullmatch(token.string.removeprefix("#").strip())
    ]
    assert told == [], "\n" + "\n".join(told)


def test_a_figure_or_a_listing_ends_its_cell(chapters: Chapters) -> None:
    """Jupyter displays the value of a cell's last expression, and no other."""
    for chapter in chapters.values():
        for cell in chapter.cells:
            if cell.kind == "code":
                tree = ast.parse(cell.source)
                for node in ast.walk(tree):
                    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                        called = ast.unparse(node.value.func).split(".")[0]
                        lost = called in ("show", "live", "plots") and node is not tree.body[-1]
                        assert not lost, f"{chapter.path}#{cell.id}: nobody sees {ast.unparse(node)}"


def test_code_fits_into_the_column_beside_both_bars(chapters: Chapters) -> None:
    wide = [
        f"{chapter.file}#{cell.id}: {len(line)} characters, at most 82: {line.strip()}"
        for chapter in chapters.values()
        for cell in chapter.cells
        if cell.kind == "code"
        for line in cell.source.splitlines()
        if len(line) > 82
    ]
    assert wide == [], "\n" + "\n".join(wide)


def test_requirements_pin_what_the_project_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + [
        name for names in project["optional-dependencies"].values() for name in names
    ]
    names = {re.split(r"[<>=\[]", need)[0].lower().replace("_", "-") for need in needed}
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    assert names <= {pin.split("==")[0].lower().replace("_", "-") for pin in pins}


GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs/contributing").glob("*.md")]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_guides_name_only_targets_and_files_that_exist(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert set(re.findall(r"`make ([a-z]+)", text)) <= targets
    folders = "src|tests|chapters|docs|experiments|benchmarks"
    for path in re.findall(rf"`((?:{folders})/[^`\s]*)`", text):
        patterns = re.sub(r"<[a-z]+>|\{.*\}", "*", path.rstrip("/"))
        assert list(ROOT.glob(patterns)), path
    for link in re.findall(r"\]\(([^)#:]+)[)#]", re.sub("`[^`]*`", "", text)):
        assert (guide.parent / link).exists(), link


def test_no_file_is_over_five_megabytes() -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]  # also what is new
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert ROOT / "README.md" in paths
    assert [path for path in paths if path.is_file() and path.stat().st_size > 5e6] == []
