"""The notebooks and the library that readers take along from the built site."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
import yaml

from polyglot_book.chapters import read_all
from polyglot_book.config import Book

ROOT = Path(__file__).parents[2]
# In an environment that has everything but this project: its words, its fonts and its checks are there.
TRY = """\
import sys, polyhead, polyglot_book
from polyhead_course.exercises import checks
from polyhead_course.figures import plots
assert polyhead.__file__.startswith(sys.argv[1]) and polyglot_book.__file__.startswith(sys.argv[1])
polyhead.set_language("ko")
import torch
assert plots.heatmap(torch.eye(2), ["머리", "둘"]).svg
checks.attention(polyhead.scaled_dot_product_attention)
"""


@pytest.fixture(scope="module")
def wheel(site: Path) -> Path:
    found = sorted(site.glob("*.whl"))
    assert len(found) == 1, "`make site` puts one wheel beside the pages"
    return found[0]


def test_the_notebooks_ask_for_the_wheel_that_is_there(book: Book, wheel: Path) -> None:
    wanted = yaml.safe_load(book.config)["sphinx"]["config"]["polyglot_install"]["pip"]
    assert any(f"{{site}}{wheel.name}" in line for line in wanted)
    pinned = (ROOT / "requirements-no-deps.txt").read_text(encoding="utf-8").splitlines()
    for line in wanted:
        if "--no-deps" in line:
            assert line.removeprefix("--no-deps ") in pinned


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    every = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    names = {path.relative_to(ROOT / "src").as_posix() for path in every if path.suffix != ".pyc"}
    files = {name for name in names if ".egg-info/" not in name}
    assert files
    assert files <= set(ZipFile(wheel).namelist())


def test_the_wheel_works_where_nothing_else_of_the_project_is(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    (packages,) = home.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--target", str(packages), str(wheel)], check=True)
    # A line of a .pth file that is a folder brings its packages, but not what its own .pth files bring.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    done = subprocess.run(
        [str(python), "-I", "-c", TRY, str(packages)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_chapter_can_be_taken_along(book: Book, site: Path) -> None:
    chapters = {key: each for key, each in read_all(book)[0].items() if key[1] != "index"}
    for (code, stem), chapter in chapters.items():
        path = site / "notebooks" / f"polyhead-{code}-{stem}.ipynb"
        whole = nbformat.read(path, as_version=4)
        assert path.stat().st_size < 5_000_000
        texts = [cell.source for cell in whole.cells if cell.cell_type == "markdown"]
        # No directive is left that only this site understands.
        assert not [text for text in texts if ":::" in text or "{admonition}" in text]
        data = [out.data for cell in whole.cells for out in cell.get("outputs", []) if "data" in out]
        figures = [each for each in data if "data:image/svg+xml" in each.get("text/html", "")]
        assert len(figures) == len([cell for cell in chapter.code if cell.alt])
        student = path.with_name(f"{path.stem}-student.ipynb")
        solutions = [cell.id for cell in chapter.cells if cell.id.startswith("solution-")]
        assert student.exists() == bool(solutions)
        if solutions:
            left = nbformat.read(student, as_version=4).cells
            assert not {cell.id for cell in left} & set(solutions)
            assert not [cell.id for cell in left if cell.get("outputs")]
