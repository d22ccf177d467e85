"""What a browser remembers of a reader of the course, on its real pages."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.browser import Browser, visit

KEY = "polyglot-memory /book/"
PLACE = "([key, id]) => JSON.parse(localStorage.getItem(key) ?? '{}').last?.section === id"


def test_a_chapter_that_was_read_is_marked_in_every_language(window: Browser, address: str) -> None:
    memory = json.dumps({"version": 1, "pages": {"05-positions": True}})
    with visit(window, address) as seen:
        seen.page.goto("/book/index.html")
        seen.page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, memory])
        seen.page.goto("/book/zh-TW/index.html")
        for place, text in ((".bd-links", "5. 位置 （已讀）"), ("article", "位置 （已讀）")):
            expect(seen.page.locator(f"{place} .polyglot-read")).to_have_text([text])
        assert seen.problems() == []


def test_who_looks_a_word_up_keeps_the_place(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("/book/en/05-positions.html#counter")
        seen.page.wait_for_function(PLACE, arg=[KEY, "counter"])
        seen.page.goto("/book/en/notation.html")
        seen.page.wait_for_timeout(800)
        seen.page.goto("/book/ko/index.html")
        go = seen.page.locator(".polyglot-memory > a")
        expect(go).to_have_text("이어 읽기: 5장 ‘두 번째 생각: 시계로 세기’")
        go.click()
        seen.page.wait_for_url("**/book/ko/05-positions.html#counter")
        expect(seen.page.locator("#counter > h2")).to_be_in_viewport()
        assert seen.problems() == []
