"""`Table`: headings in the reader's language above rows of Markdown."""

from __future__ import annotations

import pytest

from polyhead_course.words import Table, set_language


def test_the_headings_are_in_the_readers_language():
    set_language("ko")
    table = Table(["course.chapter", "course.check"], [["[1](01.ipynb)", ""], [2, "a | b"]])
    set_language("en")
    assert table._repr_markdown_().splitlines() == [
        "| 장 | 검사 함수 |",
        "| --- | --- |",
        "| [1](01.ipynb) |  |",
        "| 2 | a \\| b |",
    ]
    assert repr(table) == "장 | 검사 함수\n[1](01.ipynb) | \n2 | a | b"


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"rows must have 2 cells, one for each heading, got \[1\]"):
        Table(["course.chapter", "course.check"], [[1]])


def test_an_unknown_heading_is_refused():
    with pytest.raises(ValueError, match=r"key must be one of .*near it: .*'course.chapter'"):
        Table(["course.chapte"], [])
