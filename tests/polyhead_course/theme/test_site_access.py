"""What those need who do not see a page: the language of its words, what a cell of a table stands under."""

from __future__ import annotations

import re

from tests.building import Built


def test_chinese_words_on_an_english_page_are_marked(four: Built) -> None:
    article = four.page("book/en/03-only").css_first("article")
    marked = [(each.attributes["lang"], each.text()) for each in article.css("[lang]")]
    assert marked == [("zh-TW", "中和 · 有"), ("zh-CN", "掩码"), ("zh-TW", "列"), ("zh-TW", "行")]


def test_words_in_the_language_of_the_page_are_not_marked(four: Built) -> None:
    for code in ("zh-TW", "zh-CN", "ko"):
        assert four.page(f"book/{code}/01-masks").css("article [lang]") == []


def test_the_headings_of_a_table_say_what_they_name(four: Built) -> None:
    table = four.page("book/en/03-only").css_first("article table")
    head, *rows = [
        [(cell.tag, cell.attributes.get("scope"), cell.text(strip=True)) for cell in row.css("th, td")]
        for row in table.css("tr")
    ]
    # What has no words is no heading.
    assert head == [("td", None, ""), ("th", "col", "shape"), ("th", "col", "here"), ("th", "col", "why")]
    assert [row[:3] for row in rows] == [
        [("th", "row", "Q"), ("td", None, "列"), ("td", None, "2")],
        [("td", None, "K"), ("td", None, "行"), ("td", None, "3")],
    ]


def test_columns_of_short_and_of_long_text_say_so(four: Built) -> None:
    table = four.page("book/en/03-only").css_first("article table")
    for row in table.css("tr"):
        kinds = [
            re.findall("polyglot-(short|long)", each.attributes.get("class") or "")
            for each in row.css("th, td")
        ]
        # Of a cell without words nothing is said.
        assert kinds[1:] == [["short"], ["short"], ["long"]]
