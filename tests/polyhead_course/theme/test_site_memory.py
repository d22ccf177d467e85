"""What a browser remembers of its reader: the place, the chapters read; as a file; and where it may not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import Browser, serve, visit
from tests.building import Built

KEY = "polyglot-memory /book/"
HOME = "/book/{}/index.html"
# Sections are seen one by one.
LOW = {"width": 1280, "height": 300}
WATCH = """
self.moved = 0;
new PerformanceObserver(list => { for (const each of list.getEntries()) moved += each.value; })
  .observe({ type: 'layout-shift', buffered: true });
"""
FORBIDDEN = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('forbidden'); }})"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"


@pytest.fixture(scope="module")
def address(four: Built) -> Iterator[str]:
    with serve(four.html) as base:
        yield base


def _memory(page: Page) -> Any:
    return json.loads(page.evaluate("key => localStorage.getItem(key)", KEY) or "null")


def _remember(page: Page, memory: object) -> None:
    """Put something into the storage before a page is opened."""
    text = memory if isinstance(memory, str) else json.dumps(memory)
    page.goto("/book/index.html")
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])


def _state(place: str = "why", *read: str, **titles: str) -> dict[str, Any]:
    last = {"page": "01-masks", "section": place, "titles": titles or {"en": "Why a mask"}}
    return {"version": 1, "pages": dict.fromkeys(read, True), "last": last}


def _read_to(page: Page, section: str) -> None:
    """Scroll to a section, and wait until it is remembered."""
    page.evaluate("id => document.getElementById(id).scrollIntoView({behavior: 'instant'})", section)
    page.wait_for_function(
        "([key, id]) => JSON.parse(localStorage.getItem(key) ?? '{}').last?.section === id",
        arg=[KEY, section],
    )


def _come_late(route: Route) -> None:
    time.sleep(0.2)
    route.continue_()


def _choose(page: Page, text: bytes) -> None:
    page.set_input_files(
        ".polyglot-memory input", {"name": "a.json", "mimeType": "application/json", "buffer": text}
    )


def test_nothing_is_shown_while_nothing_is_remembered(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto(HOME.format("ko"))
        expect(seen.page.locator(".polyglot-memory")).to_be_hidden()
        assert _memory(seen.page) is None
        assert seen.problems() == []


def test_a_reader_goes_on_in_another_language(window: Browser, address: str) -> None:
    with visit(window, address, viewport=LOW) as seen:
        seen.page.goto("/book/en/01-masks.html")
        _read_to(seen.page, "polarity")
        seen.page.goto(HOME.format("en"))
        go = seen.page.locator(".polyglot-memory > a")
        expect(go).to_have_text("Go on with 1, Polarity")
        # The chapter's title at once, then that of the section from the page in this language.
        seen.page.goto(HOME.format("ko"))
        title = seen.page.request.get("/book/ko/01-masks.html").text().split('id="polarity"')[1]
        title = title.split("<h3>")[1].split("<a")[0]
        expect(go).to_have_text(f"이어 읽기: 1장 ‘{title}’")
        assert _memory(seen.page)["last"]["titles"] == {"en": "Polarity", "ko": title}
        go.focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/book/ko/01-masks.html#polarity")
        expect(seen.page.locator("#polarity > h3")).to_be_in_viewport()
        assert seen.problems() == []


def test_an_exercise_is_a_place_and_the_page_of_languages_leads_there(window: Browser, address: str) -> None:
    with visit(window, address, viewport=LOW) as seen:
        go = seen.page.locator(".polyglot-memory > a")
        seen.page.goto("/book/index.html")
        expect(go).to_be_hidden()
        seen.page.goto("/book/ko/02-heads.html")
        _read_to(seen.page, "exercise-think")
        title = seen.page.locator("#exercise-think .admonition-title").inner_text().removesuffix("#").strip()
        seen.page.goto("/book/index.html")
        expect(go).to_have_text(f"이어 읽기: 2장 ‘{title}’")
        assert (go.get_attribute("lang"), go.get_attribute("hreflang")) == ("ko", "ko")
        go.click()
        seen.page.wait_for_url("**/book/ko/02-heads.html#exercise-think")
        # In a language that the book has not, or without its title there, no link is right.
        for last in ({"language": "fr"}, {"language": "en"}, {"language": "ko", "number": 2}):
            memory = {**_memory(seen.page), "last": {**_memory(seen.page)["last"], **last}}
            _remember(seen.page, memory)
            seen.page.reload()
            expect(go).to_be_hidden()
        assert seen.problems() == []


def test_without_the_sections_title_that_of_the_chapter_stands(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, _state("gone"))
        seen.page.goto(HOME.format("zh-TW"), wait_until="networkidle")
        expect(seen.page.locator(".polyglot-memory > a")).to_have_text("接著讀第 1 章〈遮罩〉")
        assert seen.problems() == []


def test_a_chapter_is_read_when_all_its_sections_were_in_view(window: Browser, address: str) -> None:
    with visit(window, address, viewport=LOW) as seen:
        seen.page.goto("/book/ko/01-masks.html")
        links = seen.page.locator(".bd-links a")
        main = seen.page.locator("article > section > section[id]").evaluate_all("all => all.map(e => e.id)")
        seen.page.wait_for_function("key => key in localStorage", arg=KEY)
        assert seen.page.locator(".polyglot-read").count() == 0
        for section in main:
            assert _memory(seen.page)["pages"]["01-masks"] is not True
            _read_to(seen.page, section)
        expect(links.first).to_have_class("reference internal current polyglot-read")
        expect(links.first).to_have_text("1. 마스크 (읽음)")
        # In every language, and still after the page has grown.
        seen.page.goto("/book/zh-CN/02-heads.html")
        expect(links.first).to_have_text("1. 掩码 （已读）")
        assert seen.page.locator(".polyglot-read").count() == 1
        assert seen.problems() == []


def test_a_place_that_a_language_lacks_has_no_link_there(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("/book/en/03-only.html")
        seen.page.wait_for_function("key => key in localStorage", arg=KEY)
        seen.page.goto(HOME.format("en"))
        expect(seen.page.locator(".polyglot-memory > a")).to_have_text("Go on with 3, Only in English")
        seen.page.goto(HOME.format("ko"))
        expect(seen.page.locator(".polyglot-memory summary")).to_be_visible()
        expect(seen.page.locator(".polyglot-memory > a")).to_be_hidden()
        assert seen.problems() == []


def test_what_is_remembered_comes_back_from_a_file(window: Browser, address: str, tmp_path: Path) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, _state("why", "01-masks"))
        seen.page.goto(HOME.format("en"))
        block = seen.page.locator(".polyglot-memory")
        status = block.locator("[role=status]")
        block.locator("summary").press("Enter")
        with seen.page.expect_download() as download:
            block.locator("[value=export]").press("Enter")
        download.value.save_as(tmp_path / "a.json")
        assert download.value.suggested_filename == "Tiny.json"
        seen.page.once("dialog", lambda dialog: dialog.accept())
        block.locator("[value=forget]").click()
        expect(status).to_have_text("Nothing is remembered any more.")
        assert _memory(seen.page) is None
        assert block.locator("> a").is_hidden() and seen.page.locator(".polyglot-read").count() == 0
        # What has been read since then stays read.
        seen.page.evaluate(
            "([key, text]) => localStorage.setItem(key, text)",
            [KEY, json.dumps({"version": 1, "pages": {"02-heads": True, "01-masks": ["why"]}})],
        )
        with seen.page.expect_file_chooser() as chooser:
            block.locator("[value=import]").click()
        chooser.value.set_files(tmp_path / "a.json")
        expect(status).to_have_text("Imported.")
        newer = {"version": 2, "practice": {}}  # the state is of the old version, which is still read
        assert _memory(seen.page) == _state("why", "02-heads", "01-masks") | newer
        expect(block.locator("> a")).to_have_text("Go on with 1, Why a mask")
        assert seen.page.locator(".bd-links .polyglot-read").count() == 2
        assert seen.problems() == []


def test_who_changes_their_mind_forgets_nothing(window: Browser, address: str) -> None:
    with visit(window, address, has_touch=True) as seen:
        _remember(seen.page, _state())
        seen.page.goto(HOME.format("en"))
        seen.page.tap(".polyglot-memory summary")
        seen.page.once("dialog", lambda dialog: dialog.dismiss())
        seen.page.tap(".polyglot-memory [value=forget]")
        assert _memory(seen.page) == _state()


JUNK = [
    b"",
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b'{"version": 3, "pages": {}}',
    b'{"version": 1}',
    b'{"version": 1, "pages": {}, "more": "' + b"x" * 100_000 + b'"}',
]


def test_a_file_that_is_no_memory_changes_nothing(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, _state())
        seen.page.goto(HOME.format("zh-CN"))
        seen.page.click(".polyglot-memory summary")
        status = seen.page.locator(".polyglot-memory [role=status]")
        for text in JUNK:
            status.evaluate("said => { said.textContent = ''; }")
            _choose(seen.page, text)
            expect(status).to_have_text("这个文件不是从这个网站导出的。")
            memory = _memory(seen.page)
            assert memory["pages"] == {} and memory["last"]["section"] == "why", text[:50]
        assert seen.problems() == []


@pytest.mark.parametrize(
    "stored",
    [
        "no JSON",
        "[1]",
        '{"version": 0, "pages": {"01-masks": true}}',
        '{"version": 1, "pages": {"01-masks": 5, "02-heads": [{}]}, "last": {"page": 1}}',
        '{"version": 1, "pages": {}, "last": "why"}',
    ],
)
def test_a_broken_memory_is_none_and_a_new_one_begins(window: Browser, address: str, stored: str) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, stored)
        seen.page.goto(HOME.format("en"))
        expect(seen.page.locator(".polyglot-memory")).to_be_hidden()
        seen.page.goto("/book/en/02-heads.html")
        seen.page.wait_for_function("key => localStorage.getItem(key).includes('02-heads\",\"sec')", arg=KEY)
        assert seen.problems() == []


@pytest.mark.parametrize("broken", [FORBIDDEN, FULL])
def test_where_nothing_can_be_stored_nothing_breaks(window: Browser, address: str, broken: str) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, _state())
        seen.page.add_init_script(broken)
        seen.page.goto("/book/en/02-heads.html")
        seen.page.wait_for_timeout(800)
        seen.page.goto(HOME.format("ko"))
        block = seen.page.locator(".polyglot-memory")
        if broken == FORBIDDEN:
            expect(block).to_be_hidden()
        else:
            block.locator("summary").click()
            _choose(seen.page, json.dumps(_state()).encode())
            expect(block.locator("[role=status]")).to_have_text(
                "이 브라우저에서는 페이지가 기록을 저장할 수 없습니다."
            )
        assert seen.problems() == []


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_the_block_moves_nothing_and_fits(window: Browser, address: str, width: int, scheme: str) -> None:
    with visit(window, address, color_scheme=scheme, viewport={"width": width, "height": 800}) as seen:
        _remember(seen.page, _state("why", "01-masks", en="A section’s title that takes more than a line"))
        seen.page.add_init_script(WATCH)
        seen.page.route("**/memory.js", _come_late)
        for code in ("en", "zh-TW", "zh-CN", "ko"):
            seen.page.goto(HOME.format(code), wait_until="networkidle")
            expect(seen.page.locator(".polyglot-memory > a")).to_be_visible()
            assert seen.page.evaluate("moved") <= 0.02
            seen.page.click(".polyglot-memory summary")
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
            for button in seen.page.locator(".polyglot-memory li").all():
                box = button.bounding_box()
                assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
        seen.page.goto("/book/ko/02-heads.html", wait_until="load")
        assert seen.page.locator(".polyglot-read").count() == 1
        assert seen.page.evaluate("moved") <= 0.02
        assert seen.problems() == []


def test_paper_and_pages_without_scripts_have_no_block(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, _state())
        seen.page.goto(HOME.format("en"))
        seen.page.emulate_media(media="print")
        expect(seen.page.locator(".polyglot-memory")).to_be_hidden()
    with visit(window, address, java_script_enabled=False) as seen:
        seen.page.goto(HOME.format("en"))
        expect(seen.page.locator(".polyglot-memory")).to_be_hidden()


def test_the_script_is_small(four: Built) -> None:
    assert (four.html / "_static/memory.js").stat().st_size <= 10_500
