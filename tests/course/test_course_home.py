"""The first screen of a language's first page, and what a phone and a teacher make of a chapter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import Browser, visit

CODES = ["en", "zh-TW", "zh-CN", "ko"]
# Below what height each of them ends; of the headline, how many lines it has.
FOLD = """() => {
  const bottoms = selector =>
    [...document.querySelectorAll(selector)].map(e => e.getBoundingClientRect().bottom);
  const text = document.createRange();
  text.selectNodeContents(document.querySelector("h1").firstChild);
  return {
    lines: new Set([...text.getClientRects()].map(each => Math.round(each.top))).size,
    languages: bottoms(".polyglot-languages a"),
    button: bottoms("h1 ~ p > strong:only-child > a").slice(0, 1),
    picture: bottoms(".polyglot-glance"), paths: bottoms(".polyglot-glance + ul > li"),
  };
}"""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1366, 768)])
def test_the_first_screen_says_what_this_is(window: Browser, address: str, width: int, height: int) -> None:
    with visit(window, address, viewport={"width": width, "height": height}) as seen:
        for code in CODES:
            seen.page.goto(f"/book/{code}/index.html")
            found = seen.page.evaluate(FOLD)
            assert found.pop("lines") <= 3, code
            assert {name: len(each) for name, each in found.items()} == {
                "languages": 4, "button": 1, "picture": 1, "paths": 3
            }  # fmt: skip
            assert max(bottom for each in found.values() for bottom in each) <= height, (code, found)


def test_the_picture_moves_and_shows_what_is_pointed_at(window: Browser, address: str) -> None:
    shown = "e => getComputedStyle(e.querySelector('g')).opacity"
    with visit(window, address, reduced_motion="reduce") as seen:
        seen.page.goto("/book/ko/index.html")
        steps = seen.page.locator(".polyglot-step")
        assert [steps.nth(number).evaluate(shown) for number in (0, 16)] == ["0", "1"]
        steps.nth(0).locator("text").hover()
        assert [steps.nth(number).evaluate(shown) for number in (0, 16)] == ["1", "0"]
        seen.page.goto("/book/index.html")
        expect(seen.page.locator(".polyglot-cards-picture > .polyglot-glance")).to_have_count(1)
    with visit(window, address) as seen:
        seen.page.goto("/book/ko/index.html")
        # All of it within five seconds, after which nothing moves by itself.
        ends = seen.page.evaluate(
            "document.getAnimations().map(each => each.effect.getComputedTiming().endTime)"
        )
        assert 0 < max(ends) <= 5000


def test_code_and_formulas_fit_a_phone(window: Browser, address: str) -> None:
    wide = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    with visit(window, address, viewport={"width": 390, "height": 844}) as seen:
        seen.page.goto("/book/zh-CN/12-modern-decoders.html")
        seen.page.evaluate("document.querySelectorAll('article details').forEach(e => { e.open = true; })")
        expect(seen.page.locator(".polyglot-rows")).to_have_count(3)
        assert seen.page.locator("article pre").evaluate_all(wide) == []
        assert seen.page.locator(".polyglot-math").evaluate_all(wide) == []
        up = seen.page.locator("#pst-back-to-top")
        expect(up).to_be_hidden()
        seen.page.evaluate("scrollTo(0, 5000)")
        expect(up).to_be_visible()
        assert up.evaluate("e => e.closest('.bd-header-article') !== null")
        up.click()
        expect(seen.page.locator("h1")).to_be_in_viewport()
        assert seen.problems() == []


def test_a_sheet_has_the_exercises_without_solutions(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("/book/zh-TW/02-masks.html")
        titles = seen.page.locator(".exercise > .admonition-title").all_text_contents()
        seen.page.goto("/book/zh-TW/02-masks.html?sheet")
        expect(seen.page.locator(".polyglot-sheet-room")).to_have_count(len(titles))
        assert seen.page.locator(".exercise > .admonition-title").all_text_contents() == titles
        assert seen.page.locator("article :is(details, .cell_output)").count() == 0
        assert "def my_mask(num_tokens):" in seen.page.locator("article").inner_text()
        seen.page.get_by_role("link", name="回到整章").click()
        expect(seen.page.locator("article details").first).to_be_attached()
        assert seen.problems() == []


def test_a_notebook_learns_where_it_is_from(window: Browser, address: str, tmp_path: Path) -> None:
    with visit(window, address, accept_downloads=True) as seen:
        seen.page.goto("/book/ko/02-masks.html")
        seen.page.click(".polyglot-download summary")
        with seen.page.expect_download() as taken:
            seen.page.click(".polyglot-download a[download$='02-masks.ipynb']")
        assert taken.value.suggested_filename == "polyhead-ko-02-masks.ipynb"
        taken.value.save_as(tmp_path / "taken.ipynb")
    cells = json.loads((tmp_path / "taken.ipynb").read_bytes())["cells"]
    source = next("".join(cell["source"]) for cell in cells if cell["id"] == "install")
    assert f'wheels = "{address}/"\n' in source and "Path.cwd()" not in source
