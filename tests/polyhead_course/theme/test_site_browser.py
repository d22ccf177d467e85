"""What only a browser shows: the switcher keeps the place, the first page suggests, nothing is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import Browser, serve, visit
from tests.building import Built


@pytest.fixture(scope="module")
def address(four: Built) -> Iterator[str]:
    with serve(four.html) as base:
        yield base


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_listing_has_a_small_caption_close_above_it(window: Browser, address: str, scheme: str) -> None:
    with visit(window, address, color_scheme=scheme) as seen:
        seen.page.goto("/book/en/03-only.html")
        caption, listing = (
            seen.page.locator(f".cell_output > {each}") for each in ("p", ".highlight-python")
        )
        size = "e => parseFloat(getComputedStyle(e).fontSize)"
        assert caption.locator("code").first.evaluate(size) < seen.page.locator("#title > p").first.evaluate(
            size
        )
        # A frame around the name would make it look like code that was run.
        assert caption.locator("code").first.evaluate("e => getComputedStyle(e).borderTopWidth") == "0px"
        above, below = caption.bounding_box(), listing.bounding_box()
        assert above and below and 0 <= below["y"] - above["y"] - above["height"] < 8
        color = "e => getComputedStyle(e).color"
        assert listing.locator(".k").first.evaluate(color) != listing.locator("pre").evaluate(color)


def test_the_header_takes_the_focus_without_moving_the_page(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 500}) as seen:
        seen.page.goto("/book/en/01-masks.html")
        seen.page.evaluate("document.getElementById('polarity').scrollIntoView({behavior: 'instant'})")
        before = seen.page.evaluate("scrollY")
        seen.page.focus(".polyglot-switcher summary")
        assert before > 300
        assert seen.page.evaluate("scrollY") == before


def test_what_is_wide_scrolls_in_its_own_box(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 390, "height": 800}) as seen:
        seen.page.goto("/book/ko/02-heads.html", wait_until="load")
        for box in (".polyglot-math", ".pst-scrollable-table-container", ".highlight pre"):
            assert seen.page.locator(box).evaluate("e => e.scrollWidth > e.clientWidth + 100"), box
            # What no reader needs in the first moment comes in the second.
            seen.page.locator(f"{box}[tabindex='0']").first.wait_for()


def test_the_switcher_keeps_the_section_that_is_read(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 500}) as seen:
        seen.page.goto("/book/en/01-masks.html")
        seen.page.evaluate("document.getElementById('polarity').scrollIntoView({behavior: 'instant'})")
        # From the keyboard: open, go to the last language, follow it.
        seen.page.focus(".polyglot-switcher summary")
        seen.page.keyboard.press("Enter")
        for _ in range(4):
            seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/book/ko/01-masks.html#polarity")
        assert seen.page.evaluate("localStorage.getItem('polyglot-language')") == "ko"


def test_escape_closes_the_switcher(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("/book/en/01-masks.html")
        seen.page.click(".polyglot-switcher summary")
        assert seen.page.locator(".polyglot-switcher").evaluate("e => e.open")
        seen.page.keyboard.press("Escape")
        assert not seen.page.locator(".polyglot-switcher").evaluate("e => e.open")


def test_the_switcher_works_without_scripts(window: Browser, address: str) -> None:
    with visit(window, address, java_script_enabled=False) as seen:
        seen.page.goto("/book/en/01-masks.html")
        seen.page.click(".polyglot-switcher summary")
        seen.page.click('.polyglot-switcher a[lang="zh-TW"]')
        seen.page.wait_for_url("**/book/zh-TW/01-masks.html")


@pytest.mark.parametrize(
    ("locale", "code"),
    [
        ("ko-KR", "ko"),
        ("zh-HK", "zh-TW"),
        ("zh-Hant", "zh-TW"),
        ("zh-SG", "zh-CN"),
        ("zh", "zh-CN"),
        ("en-GB", "en"),
        ("fr-FR", None),
    ],
)
def test_the_first_page_suggests_the_readers_language(
    window: Browser, address: str, locale: str, code: str | None
) -> None:
    with visit(window, address, locale=locale) as seen:
        seen.page.goto("/book/index.html")
        suggested = [each.get_attribute("lang") for each in seen.page.locator(".polyglot-suggested").all()]
        assert suggested == ([code] if code else [])
        assert seen.page.locator(".polyglot-cards a").first.get_attribute("lang") == (code or "en")
        assert seen.page.locator(".polyglot-card-suggestion:visible").count() == len(suggested)
        assert seen.page.url.endswith("/book/index.html")


def test_the_last_choice_comes_before_the_browsers_language(window: Browser, address: str) -> None:
    with visit(window, address, locale="ko-KR") as seen:
        seen.page.goto("/book/index.html")
        seen.page.click('.polyglot-card[lang="zh-CN"]')
        seen.page.goto("/book/index.html")
        assert seen.page.locator(".polyglot-suggested").get_attribute("lang") == "zh-CN"


def test_figures_follow_the_dark_theme_and_the_page(window: Browser, address: str) -> None:
    found = {}
    for scheme in ("light", "dark"):
        with visit(window, address, color_scheme=scheme) as seen:
            seen.page.goto("/book/ko/01-masks.html")
            found[scheme] = seen.page.evaluate(
                "getComputedStyle(document.querySelector('.polyglot-figure text')).fill"
            )
            font = seen.page.evaluate(
                "getComputedStyle(document.querySelector('.polyglot-figure text')).fontFamily"
            )
            assert "DejaVu" not in font
    assert found["light"] != found["dark"]
