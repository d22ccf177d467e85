"""The page where a reader chooses a language: what the book has in each language, and a picture."""

from __future__ import annotations

from tests.building import Built
from tests.pages import value


def test_a_book_without_chapters_has_neither_numbers_nor_a_picture(four: Built) -> None:
    assert not four.page("book/index").css(".polyglot-card-facts, .polyglot-welcome")


def test_each_card_counts_what_its_language_has(full: Built) -> None:
    assert [each.text() for each in full.page("book/index").css(".polyglot-card-facts")] == [
        "1 chapters, 2 exercises with solutions. 3 code cells, each executed again and compared.",
        "전체 1장, 풀이가 딸린 연습 문제 2개. 코드 셀 4개를 모두 다시 실행해 출력을 비교했습니다.",
    ]


def test_a_picture_from_a_notebook_is_beside_the_cards(full: Built) -> None:
    picture = full.page("book/index").css_first(".polyglot-welcome > .polyglot-cards-picture")
    svg = picture.css_first("svg")
    assert (value(picture, "lang"), value(svg, "lang"), value(svg, "aria-label")) == ("ko", "en", "A leaf")
    assert picture.css_first("text").text() == "잎"
