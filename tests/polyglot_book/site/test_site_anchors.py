"""The ids of cells are the anchors of their page, and links to them are checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.building import Built, build

CODES = ["en", "zh-TW", "zh-CN", "ko"]
CELLS = [
    "title",
    "setup",
    "why",
    "polarity",
    "polarity-2",
    "paragraph",
    "exercise",
    "figure",
    "hidden",
    "again",
]


@pytest.mark.parametrize("code", CODES)
def test_every_cell_is_an_anchor_in_every_language(four: Built, code: str) -> None:
    page = four.page(f"book/{code}/01-masks")
    assert [each["id"] for each in page.select("article [id]") if each["id"] in CELLS] == CELLS
    # Nothing else is left that would differ by language.
    others = [each["id"] for each in page.select("article [id]") if each["id"] not in CELLS]
    assert [each for each in others if not each.startswith("figure-")] == []


def test_an_anchor_stands_on_what_the_cell_became(four: Built) -> None:
    page = four.page("book/ko/01-masks")
    assert page.find(id="why").name == "section"
    assert page.find(id="why").h2.get_text().startswith("마스크가 필요한 이유")
    assert page.find(id="paragraph").name == "p"
    assert "exercise" in page.find(id="exercise")["class"]
    assert "cell" in page.find(id="figure")["class"]
    assert [each["href"] for each in page.select("#pst-page-toc-nav a")] == [
        "#why",
        "#polarity",
        "#polarity-2",
    ]


def test_links_lead_to_anchors(four: Built) -> None:
    first = four.page("book/ko/01-masks")
    assert [each["href"] for each in first.select("article p a.internal")] == ["#why", "#exercise"]
    second = four.page("book/ko/02-heads")
    links = second.select("article p a.internal")
    assert [each["href"] for each in links] == [
        "01-masks.html#polarity",
        "01-masks.html#why",
        "01-masks.html#figure",
    ]
    # A link without words takes the heading's.
    assert links[1].get_text() == "마스크가 필요한 이유"


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_broken_links_fail_the_build(fresh: Built) -> None:
    _edit(fresh.root / "book/ko/01-masks.ipynb", "(#why)", "(#nowhere-here)")
    _edit(fresh.root / "book/ko/02-heads.ipynb", "01-masks.ipynb#polarity", "01-masks.ipynb#nowhere-there")
    again = build(fresh.root)
    assert again.code != 0
    assert len(again.warnings) == 2
    assert "'nowhere-here'" in again.log and "'nowhere-there'" in again.log


def test_a_cell_that_shows_nothing_is_still_an_anchor(fresh: Built) -> None:
    path = fresh.root / "book/ko/02-heads.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    empty = {"cell_type": "markdown", "id": "silent", "metadata": {}, "source": ["<!-- nothing -->"]}
    notebook["cells"].insert(1, empty)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    again = build(fresh.root)
    assert again.code == 0, again.log
    page = again.page("book/ko/02-heads")
    assert page.find(id="silent") is not None
    assert page.find(id="back").name == "section"
