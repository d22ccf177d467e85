"""A language of the course that a browser keeps: read, searched and moved without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser import Browser, serve

DONE = "已保存在這個瀏覽器裡，沒有網路也能開啟。"
FAILED = "This did not work: there is no network, or no room."
KEPT = "async () => (await caches.keys()).map(name => name.split(' ').slice(1))"


@pytest.fixture(scope="module")
def published(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a host that has the site in a subfolder; its lists of files may be changed."""
    host = tmp_path_factory.mktemp("host")
    (host / "course").mkdir()
    for path in site.iterdir():
        if path.name != "offline":
            (host / "course" / path.name).symlink_to(path.resolve())
    (host / "course" / "offline").mkdir()
    for path in (site / "offline").iterdir():
        (host / "course" / "offline" / path.name).write_bytes(path.read_bytes())
    return host


@pytest.fixture(scope="module")
def reader(window: Browser) -> Iterator[Page]:
    """A reader's browser, whose service worker and memory last."""
    context = window.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def ask(page: Page) -> None:
    """Open the dialog from the menu of downloads."""
    page.locator(".polyglot-download summary").click()
    page.locator(".polyglot-keep button").click()
    page.locator(".polyglot-keep-dialog").wait_for()


def button(page: Page, name: str) -> None:
    page.locator(".polyglot-keep-dialog").get_by_role("button", name=name, exact=True).click()


def test_the_list_has_what_its_pages_load_and_nothing_of_another_language(site: Path) -> None:
    for code in ("en", "zh-TW", "zh-CN", "ko"):
        files = json.loads((site / "offline" / f"{code}.json").read_text(encoding="utf-8"))["files"]
        assert all((site / path).stat().st_size == size for path, (_, size) in files.items())
        assert {path.split("/")[1] for path in files if re.match("book/.*/", path)} == {code}
        assert {path for path in files if path.startswith("search/")} == {
            f"search/{code}.json",
            "search/none.json",
        }
        wanted = {f"book/{code}/{path.name}" for path in (site / "book" / code).glob("*.html")}
        assert wanted | {
            "_static/site.css",
            "_static/search.js",
            "_static/ranking.js",
            "_static/figures/live/model.js",
        } <= set(files)
        for path in wanted:
            html = (site / path).read_text(encoding="utf-8")
            for href in re.findall(
                r'<(?:link rel="stylesheet" href|script[^>]* src)="\.\./\.\./([^"]+)"', html
            ):
                assert href in files, f"{path}: {href}"


def test_a_language_is_kept_read_without_a_network_renewed_and_removed(published: Path, reader: Page) -> None:
    page = reader
    with serve(published) as base:
        start = f"{base}/course/book/zh-TW/05-positions.html"
        page.goto(start)
        ask(page)
        files = json.loads((published / "course/offline/zh-TW.json").read_text(encoding="utf-8"))
        expect(page.locator(".polyglot-keep-dialog")).to_contain_text(
            f"{round(files['bytes'] / 1e6, 1):g} MB"
        )
        assert page.evaluate(KEPT) == []  # the size is said before anything is loaded
        button(page, "保存")
        expect(page.locator(".polyglot-keep-dialog [role=status]")).to_have_text(DONE, timeout=60_000)
        assert page.evaluate(KEPT) == [["/course/", "zh-TW", files["version"]]]
        page.wait_for_function("navigator.serviceWorker.controller")

    # The host is gone: a chapter that was never opened, a live figure, and the search.
    page.goto(start.replace("05-positions", "02-masks"))
    page.evaluate("document.getElementById('causal-weights').scrollIntoView({behavior: 'instant'})")
    page.wait_for_selector("[data-live=mask].polyglot-live-on")
    cell = page.locator("[data-live=mask] .live-mask button").first
    cell.click()
    assert cell.get_attribute("aria-pressed") == "false"
    page.locator(".polyglot-search").click()
    page.locator(".polyglot-search-field").fill("多頭注意力")
    page.locator(".polyglot-search-results a").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/book/zh-TW/.*\.html"))
    expect(page.locator("h1")).to_be_visible()
    page.reload()
    expect(page.locator("h1")).to_be_visible()

    # It comes back with another version on the same port, and the page is the new one at once.
    port = int(base.rsplit(":", 1)[1])
    mask = published / "course/offline/zh-TW.json"
    newer = dict(files, version="0123456789abcdef")
    newer["files"] = {**files["files"], "book/zh-TW/02-masks.html": ["fedcba9876543210", 70_000]}
    mask.write_text(json.dumps(newer), encoding="utf-8")
    with serve(published, port) as base:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        news = page.locator(".polyglot-news")
        for _ in range(3):  # a connection to the host that is gone may still seem open, and break
            page.goto(f"{base}/course/book/zh-TW/02-masks.html")
            with suppress(TimeoutError):
                news.wait_for(timeout=20_000)
                break
        expect(news).to_contain_text("有新版本：0.1 MB。")
        asked.clear()
        news.get_by_role("button", name="更新").click()
        expect(page.locator(".polyglot-keep-dialog [role=status]")).to_have_text(DONE, timeout=60_000)
        assert page.evaluate(KEPT) == [["/course/", "zh-TW", "0123456789abcdef"]]
        pages = [url for url in asked if url.endswith(".html")]
        assert pages == [f"{base}/course/book/zh-TW/02-masks.html"]  # only what has changed
        button(page, "移除")
        expect(page.locator(".polyglot-keep-dialog [role=status]")).to_have_text("已移除。")
        assert page.evaluate(KEPT) == []
        assert page.evaluate("async () => (await navigator.serviceWorker.getRegistrations()).length") == 0


def test_what_breaks_off_leaves_nothing(published: Path, reader: Page) -> None:
    with serve(published) as base:
        reader.goto(f"{base}/course/book/en/index.html")
        reader.route("**/01-single-head.html", lambda route: route.abort())
        ask(reader)
        button(reader, "Keep")
        expect(reader.locator(".polyglot-keep-dialog [role=status]")).to_have_text(FAILED, timeout=60_000)
        assert reader.evaluate(KEPT) == []
        reader.unroute("**/01-single-head.html")


def test_a_page_opened_as_a_file_offers_nothing(site: Path, window: Browser) -> None:
    context = window.new_context()
    try:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.goto((site / "book" / "en" / "07-decoder.html").resolve().as_uri(), wait_until="networkidle")
        assert said == []
        assert page.locator(".polyglot-keep").is_hidden()
        assert page.locator(".polyglot-take, link[rel=manifest]").count() == 0
    finally:
        context.close()
