"""What the course's pages say of themselves: one description each, and the facts that stand elsewhere too."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

from polyglot_book.config import Book
from polyhead_course.theme.description import LONGEST
from tests.pages import parse, value

ROOT = Path(__file__).parents[2]


def test_every_page_has_a_description_of_its_own(book: Book, site: Path) -> None:
    for code in book.languages:
        found = {}
        for path in sorted((site / "book" / code).glob("*.html")):
            (meta,) = parse(path.read_text(encoding="utf-8")).css('meta[name="description"]')
            found[path.stem] = value(meta, "content")
            assert (30 if code in ("en", "ko") else 20) < len(found[path.stem]) <= LONGEST, path
            assert found[path.stem].endswith((".", "。", "?", "？")) and "\\" not in found[path.stem], path
        assert len(set(found.values())) == len(found) > 9


def test_the_version_and_the_licences_are_those_of_the_project(book: Book) -> None:
    settings = yaml.safe_load((book.root / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert settings["release"] == project["version"] == str(citation["version"])
    rights = settings["polyglot_rights"]
    assert rights["code"]["name"] == project["license"]
    assert f"({rights['text']['name']})" in (ROOT / "LICENSE-text").read_text(encoding="utf-8")
    stem, _, cell = rights["cite"].partition("#")
    for code in book.languages:
        assert f'"id": "{cell}"' in (book.chapters_dir(code) / f"{stem}.md").read_text(encoding="utf-8")
