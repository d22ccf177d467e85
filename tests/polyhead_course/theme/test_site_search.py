"""The search: what is indexed, what it finds, and that a page loads nothing of it before somebody asks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from polyhead_course.theme.search import indexing, sections, words
from tests.browser import Browser, serve, visit
from tests.building import Built
from tests.searching import DIALOG, FIELD, search


@pytest.fixture(scope="module")
def address(four: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site below a path, as hosts of projects put it."""
    host = tmp_path_factory.mktemp("host")
    (host / "tiny").symlink_to(four.html)
    with serve(host) as base:
        yield f"{base}/tiny/book/"


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("多頭注意力", " 多頭 頭注 注意 意力 力 "),
        ("頭", " 頭 "),
        ("用softmax算", " 用 softmax 算 "),
        ("4：softmax", "4 ： softmax"),
        ("√d_k", " √ d_k"),
        ("마스크(mask)를", "마스크 (mask)를"),
    ],
)
def test_text_is_split_where_the_index_splits(text: str, split: str) -> None:
    assert words(text) == split


def test_each_section_has_its_own_text(four: Built) -> None:
    html = (four.html / "book/en/01-masks.html").read_text(encoding="utf-8")
    found = {each.anchor: each for each in sections(html)}
    assert list(found) == ["polarity-2", "polarity", "why", ""]
    assert (found[""].heading, found["why"].heading) == ("1. Masks", "Why a mask")
    assert "import math" in found[""].text and "2.0" not in found[""].text
    assert "√d_k" in found["why"].text and "Rows" not in found["why"].text
    assert "Rows" in found["polarity"].text
    assert "Download" not in " ".join(each.text for each in found.values())


def test_what_asks_is_no_answer() -> None:
    hints = '<i id="hints-a"></i><details>first hint</details><details>second hint</details>'
    quiz = '<section id="quiz"><h2>Three questions</h2>choices</section>'
    task = f'<section id="exercises"><h2>Do</h2>task {hints}<i></i><details>solution</details></section>'
    found = sections(f'<article><section id="page"><h1>Page</h1>{quiz}{task}</section></article>')
    assert [(each.anchor, each.text) for each in found] == [("exercises", "task solution"), ("", "")]


def test_a_page_loads_nothing_of_the_search_before_it_is_used(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        requests: list[str] = []
        seen.page.on("request", lambda request: requests.append(request.url))
        seen.page.goto("en/01-masks.html", wait_until="networkidle")
        assert not [url for url in requests if "search" in url or "pagefind" in url]
        assert search(seen.page, "mask")
        assert [url for url in requests if "/tiny/pagefind/en/" in url]
        assert not [url for url in requests if "/pagefind/ko/" in url]
        assert seen.problems() == []


@pytest.mark.parametrize(
    ("code", "query", "address_found", "title", "marked"),
    [
        ("en", "polarity", "en/01-masks.html#polarity", "1. Masks › Polarity", None),
        ("en", "halve", "en/03-only.html", "3. Only in English", "halve(number):"),
        ("en", "translating", "en/03-only.html", "3. Only in English", "translated"),
        ("en", "√d_k", "en/01-masks.html#why", "1. Masks › Why a mask", "√d_k"),
        ("zh-TW", "遮罩", "zh-TW/01-masks.html", "1. 遮罩", "遮罩"),
        ("zh-TW", "注意力", "zh-TW/02-heads.html", "2. 注意力頭", None),
        ("zh-TW", "意力頭", "zh-TW/02-heads.html", "2. 注意力頭", None),
        ("ko", "극성을", "ko/01-masks.html#polarity", "1. 마스크 › 극성", None),
        ("ko", "쿼리에서", "ko/02-heads.html", "2. 헤드", "쿼리가"),
    ],
)
def test_the_search_finds(
    window: Browser, address: str, code: str, query: str, address_found: str, title: str, marked: str | None
) -> None:
    with visit(window, address) as seen:
        seen.page.goto(f"{code}/index.html")
        found = search(seen.page, query)
        by_address = {each.address.removeprefix("/tiny/book/"): each for each in found}
        assert address_found in list(by_address)[:2], list(by_address)
        result = by_address[address_found]
        assert (result.title, result.language) == (title, code)
        if marked:
            assert marked in result.marked
        # However the index is split, a text reads as on its page.
        assert not re.search("[一-鿿。，] [一-鿿。，]", result.title + result.excerpt)
        assert seen.problems() == []


def test_no_result_is_a_message(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("ko/index.html")
        assert search(seen.page, "zzzz") == []
        assert seen.page.locator(".polyglot-search-status").inner_text() == "검색 결과가 없습니다"
        assert seen.page.locator(FIELD).get_attribute("aria-label") == "검색"


@pytest.mark.parametrize("key", ["/", "Control+k", "Meta+k"])
def test_the_search_works_from_the_keyboard(window: Browser, address: str, key: str) -> None:
    focused = "document.activeElement.className || document.activeElement.getAttribute('href')"
    with visit(window, address) as seen:
        seen.page.goto("en/01-masks.html")
        seen.page.keyboard.press(key)
        seen.page.wait_for_selector(f"{DIALOG}[open]")
        # In the field the key is a sign like others.
        seen.page.keyboard.type("polarity /")
        assert seen.page.locator(FIELD).input_value() == "polarity /"
        seen.page.wait_for_selector(".polyglot-search-results a")
        seen.page.keyboard.press("ArrowDown")
        assert seen.page.evaluate(focused).endswith("/tiny/book/en/01-masks.html#polarity")
        seen.page.keyboard.press("ArrowUp")
        assert seen.page.evaluate(focused) == "polyglot-search-field"
        seen.page.keyboard.press("Escape")
        assert not seen.page.locator(DIALOG).evaluate("e => e.open")
        expect(
            seen.page.locator("button.polyglot-search")
        ).to_be_focused()  # which the event "close" brings about


def test_enter_follows_the_first_result_even_before_it_is_shown(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 500}) as seen:
        seen.page.goto("en/01-masks.html")
        seen.page.click(".polyglot-search")
        seen.page.wait_for_selector(f"{DIALOG}[open]")
        seen.page.keyboard.type("polarity")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/en/01-masks.html#polarity")
        assert not seen.page.locator(DIALOG).evaluate("e => e.open")
        top = seen.page.evaluate("document.getElementById('polarity').getBoundingClientRect().top")
        assert -1 <= top < 300


def test_the_search_works_by_touch(window: Browser, address: str) -> None:
    options = {"viewport": {"width": 390, "height": 700}, "has_touch": True}
    with visit(window, address, **options) as seen:
        seen.page.goto("zh-CN/01-masks.html")
        seen.page.tap(".polyglot-search")
        seen.page.locator(FIELD).fill("掩码")
        seen.page.wait_for_selector(".polyglot-search-results a")
        box = seen.page.locator(DIALOG).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] + box["height"] <= 700
        seen.page.locator(".polyglot-search-results a").last.scroll_into_view_if_needed()
        seen.page.tap(".polyglot-search-close")
        assert not seen.page.locator(DIALOG).evaluate("e => e.open")


def test_pages_opened_as_files_say_why_there_is_no_search(window: Browser, four: Built) -> None:
    page = window.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    page.goto((four.html / "book/ko/01-masks.html").as_uri())
    page.click(".polyglot-search")
    page.wait_for_timeout(500)
    page.close()
    assert said == ["검색은 웹사이트에서만 할 수 있습니다. 파일로 연 페이지에서는 작동하지 않습니다."]


def test_no_old_index_remains(four: Built, tmp_path: Path, window: Browser) -> None:
    site = Path(shutil.copytree(four.html, tmp_path / "site"))
    docs = [str(path.relative_to(site).with_suffix("")) for path in site.glob("book/**/*.html")]
    languages = {
        code: {"locale": code, "name": code, "title": code} for code in ("en", "zh-TW", "zh-CN", "ko")
    }
    builder = SimpleNamespace(format="html", get_target_uri=lambda docname: f"{docname}.html")
    config = SimpleNamespace(polyglot_languages=languages, polyglot_folder="book", polyglot_shared=[])
    app = SimpleNamespace(outdir=site, builder=builder, config=config, env=SimpleNamespace(found_docs=docs))
    before = {code: (site / "pagefind" / code / "made-from").stat().st_mtime_ns for code in languages}
    page = site / "book/en/03-only.html"
    page.write_text(page.read_text(encoding="utf-8").replace("Nobody", "Somebody"), encoding="utf-8")
    with indexing(app):
        pass
    changed = [
        code
        for code in languages
        if (site / "pagefind" / code / "made-from").stat().st_mtime_ns != before[code]
    ]
    assert changed == ["en"]
    with serve(site) as base, visit(window, base) as seen:
        seen.page.goto("/book/en/01-masks.html")
        assert search(seen.page, "nobody") == []
        assert [each.address for each in search(seen.page, "somebody")] == ["/book/en/03-only.html"]
