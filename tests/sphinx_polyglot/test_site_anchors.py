"""The ids of cells are the anchors of their page, and links to them are checked."""

from __future__ import annotations

import pytest

from tests.building import Built

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
    # No other id, which would differ by language.
    assert [name for name in ids if not name.startswith("figure-")] == CELLS


def test_an_anchor_is_on_the_node_of_its_cell(four: Built) -> None:
    page = four.page("book/ko/01-masks")
    assert page.css_first("#why").tag == "section"
    assert page.css_first("#why h2").text().startswith("마스크가 필요한 이유")
    assert page.css_first("#paragraph").tag == "p"
    assert "exercise" in page.css_first("#exercise").attributes["class"].split()
    assert "cell" in page.css_first("#figure").attributes["class"].split()
    contents = [each.attributes["href"] for each in page.css("#pst-page-toc-nav a")]
    assert contents == ["#why", "#polarity", "#polarity-2"]


def test_links_lead_to_anchors(four: Built) -> None:
    first = four.page("book/ko/01-masks")
    assert [each.attributes["href"] for each in first.css("article p a.internal")] == ["#why", "#exercise"]
    second = four.page("book/ko/02-heads")
    links = second.css("article p a.internal")
    addresses = [f"01-masks.html#{anchor}" for anchor in ("polarity", "why", "figure")]
    assert [each.attributes["href"] for each in links] == addresses
    # A link without words takes the heading's.
    assert links[1].text() == "마스크가 필요한 이유"


def test_a_cell_that_shows_nothing_is_still_an_anchor(full: Built) -> None:
    page = full.page("book/ko/02-names")
    assert page.css_first("#silent") is not None
    assert "cell" in page.css_first("#counter").attributes["class"].split()
