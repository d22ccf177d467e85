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
    ids = [each.attributes["id"] for each in page.css("article [id]")]
    assert [name for name in ids if name in CELLS] == CELLS
    # Nothing else is left that would differ by language.
    assert [name for name in ids if name not in CELLS and not name.startswith("figure-")] == []


def test_an_anchor_stands_on_what_the_cell_became(four: Built) -> None:
    page = four.page("book/ko/01-masks")
    assert page.css_first("#why").tag == "section"
    assert page.css_first("#why h2").text().startswith("마스크가 필요한 이유")
    assert page.css_first("#paragraph").tag == "p"
    assert "exercise" in page.css_first("#exercise").attributes["class"].split()
    assert "cell" in page.css_first("#figure").attributes["class"].split()
    assert [each.attributes["href"] for each in page.css("#pst-page-toc-nav a")] == [
        "#why",
        "#polarity",
        "#polarity-2",
    ]


def test_links_lead_to_anchors(four: Built) -> None:
    first = four.page("book/ko/01-masks")
    assert [each.attributes["href"] for each in first.css("article p a.internal")] == ["#why", "#exercise"]
    second = four.page("book/ko/02-heads")
    links = second.css("article p a.internal")
    assert [each.attributes["href"] for each in links] == [
        "01-masks.html#polarity",
        "01-masks.html#why",
        "01-masks.html#figure",
    ]
    # A link without words takes the heading's.
    assert links[1].text() == "마스크가 필요한 이유"


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_broken_links_fail_the_build(fresh: Path) -> None:
    _edit(fresh / "book/ko/01-masks.ipynb", "(#why)", "(#nowhere-here)")
    _edit(fresh / "book/ko/02-heads.ipynb", "01-masks.ipynb#polarity", "01-masks.ipynb#nowhere-there")
    built = build(fresh)
    assert built.code != 0
    assert len(built.warnings) == 2
    assert "'nowhere-here'" in built.log and "'nowhere-there'" in built.log


def test_a_cell_that_shows_nothing_is_still_an_anchor(fresh: Path) -> None:
    path = fresh / "book/ko/02-heads.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    empty = {"cell_type": "markdown", "id": "silent", "metadata": {}, "source": ["<!-- nothing -->"]}
    notebook["cells"].insert(1, empty)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    built = build(fresh)
    assert built.code == 0, built.log
    page = built.page("book/ko/02-heads")
    assert page.css_first("#silent") is not None
    assert page.css_first("#back").tag == "section"
