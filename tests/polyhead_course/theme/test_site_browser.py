"""What only a browser shows: buttons, menus and drawers, by pointer and by keyboard; widths; the switcher."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import Browser, serve, visit
from tests.building import Built

PAGE = "/book/ko/01-masks.html"
PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def address(four: Built) -> Iterator[str]:
    with serve(four.html) as base:
        yield base


def test_colors_follow_the_system_until_a_reader_chooses(window: Browser, address: str) -> None:
    theme = "document.documentElement.dataset.theme"
    with visit(window, address, color_scheme="dark") as seen:
        seen.page.goto(PAGE)
        assert seen.page.evaluate(theme) == "dark"
        button = seen.page.locator(".theme-switch-button")
        assert button.get_attribute("title") == "색상 모드: 시스템 설정"
        button.click()
        assert seen.page.evaluate(theme) == "light"
        assert button.get_attribute("title") == "색상 모드: 밝게"
        seen.page.goto("/book/ko/02-heads.html")
        assert seen.page.evaluate(theme) == "light"
        seen.page.locator(".theme-switch-button").click()
        seen.page.locator(".theme-switch-button").click()
        assert seen.page.evaluate(theme) == "dark"
        seen.page.emulate_media(color_scheme="light")
        expect(seen.page.locator("html")).to_have_attribute("data-theme", "light")


def test_a_page_is_readable_where_nothing_may_be_stored(window: Browser, address: str) -> None:
    with visit(window, address, color_scheme="dark") as seen:
        seen.page.add_init_script(
            "Object.defineProperty(window, 'localStorage', {get() { throw new Error('forbidden'); }})"
        )
        seen.page.goto(PAGE)
        seen.page.click(".theme-switch-button")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
        assert seen.problems() == []


@pytest.mark.parametrize("name", ["primary", "secondary"])
def test_a_drawer_closes_on_a_choice_its_button_and_escape(window: Browser, address: str, name: str) -> None:
    with visit(window, address, viewport=PHONE) as seen:
        seen.page.goto(PAGE)
        drawer = seen.page.locator(f"#pst-{name}-sidebar-modal")
        button = seen.page.locator(f".{name}-toggle")
        is_open = "dialog => dialog.open"
        for close in (
            lambda: seen.page.keyboard.press("Escape"),
            lambda: drawer.locator(".polyglot-close").click(),
            lambda: drawer.locator("a:visible").last.click(),
        ):
            button.click()
            assert drawer.evaluate(is_open) and button.get_attribute("aria-expanded") == "true"
            assert drawer.locator(".polyglot-close").get_attribute("title") == "닫기"
            close()
            seen.page.wait_for_load_state()
            assert not drawer.evaluate(is_open)
        assert seen.page.locator(f"#pst-{name}-sidebar a").count() > 1
        assert seen.problems() == []


def test_where_there_is_room_the_chapters_fold_away(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 800}) as seen:
        seen.page.goto(PAGE)
        bar, button = seen.page.locator("#pst-primary-sidebar"), seen.page.locator(".primary-toggle")
        assert bar.is_visible()
        expect(button).to_have_attribute("aria-expanded", "true")
        button.click()
        bar.wait_for(state="hidden")
        expect(button).to_have_attribute("aria-expanded", "false")
        button.click()
        bar.wait_for(state="visible")
        seen.page.set_viewport_size(PHONE)
        expect(button).to_have_attribute("aria-expanded", "false")


def test_a_menu_closes_when_the_focus_leaves_it(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto(PAGE)
        for menu in (".polyglot-switcher", ".polyglot-download"):
            seen.page.focus(f"{menu} summary")
            seen.page.keyboard.press("Enter")
            assert seen.page.locator(menu).evaluate("e => e.open")
            for _ in range(seen.page.locator(f"{menu} :is(a, button)").count() + 1):
                seen.page.keyboard.press("Tab")
            assert not seen.page.locator(menu).evaluate("e => e.open")
            seen.page.click(f"{menu} summary")
            seen.page.click("h1")
            assert not seen.page.locator(menu).evaluate("e => e.open")


def test_whatever_has_the_focus_shows_it(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 800}) as seen:
        seen.page.goto(PAGE)
        seen.page.wait_for_selector(".copybtn", state="attached")
        hidden, names = [], set()
        for _ in range(60):
            seen.page.keyboard.press("Tab")
            mark = seen.page.evaluate(
                """() => {
                  const e = document.activeElement, s = getComputedStyle(e);
                  const line = s.outlineStyle != 'none' && parseFloat(s.outlineWidth) > 0;
                  const shown = line || s.boxShadow != 'none';
                  return [e.tagName + '.' + e.className, shown || e === document.body];
                }"""
            )
            names.add(mark[0])
            if not mark[1]:
                hidden.append(mark[0])
        assert hidden == []
        assert len(names) > 8


SAYS = """button => new MutationObserver((_, observer) => {
  document.body.dataset.said = button.title;
  observer.disconnect();
}).observe(button, { attributeFilter: ["title"] })"""


SESSION = ">>> for x in (3, 5):\n...     print(x)\n3\n5\n>>> x"


@pytest.mark.parametrize("session", [False, True])
def test_code_can_be_copied(window: Browser, address: str, session: bool) -> None:
    with visit(window, address, permissions=["clipboard-read", "clipboard-write"]) as seen:
        seen.page.goto(PAGE)
        seen.page.wait_for_selector(".copybtn", state="attached")
        block = seen.page.locator(".cell_input .highlight").first
        assert seen.page.locator(".cell_output .copybtn").count() == 0
        if session:
            block.locator("pre").evaluate(f"pre => {{ pre.textContent = {SESSION!r}; }}")
        block.hover()
        button = block.locator(".copybtn")
        assert button.get_attribute("title") == "클립보드에 복사"
        # What it says goes after two seconds, which a busy machine may take to look.
        button.evaluate(SAYS)
        button.click()
        expect(seen.page.locator("body")).to_have_attribute("data-said", "복사했습니다!")
        copied = seen.page.evaluate("navigator.clipboard.readText()")
        wanted = "for x in (3, 5):\n    print(x)\nx" if session else block.locator("pre").inner_text()
        assert copied.strip() == wanted.strip()


@pytest.mark.parametrize("fragment", ["100%", "%E0", "100%~n=1"])
def test_an_address_with_a_wrong_percent_sign_stops_no_script(
    window: Browser, address: str, fragment: str
) -> None:
    with visit(window, address) as seen:
        seen.page.goto(f"{PAGE}#{fragment}")
        expect(seen.page.locator(".copybtn").first).to_be_attached()
        seen.page.click(".polyglot-switcher > summary")
        assert seen.problems() == []


def test_the_contents_mark_the_section_that_is_read(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 500}) as seen:
        seen.page.goto(PAGE)
        seen.page.evaluate("document.getElementById('polarity').scrollIntoView({behavior: 'instant'})")
        seen.page.wait_for_selector("#pst-page-toc-nav a.active[href='#polarity']")


def test_without_scripts_everything_can_be_read(window: Browser, address: str) -> None:
    with visit(window, address, java_script_enabled=False, color_scheme="dark", viewport=PHONE) as seen:
        seen.page.goto(PAGE)
        for dead in (".primary-toggle", ".theme-switch-button", ".secondary-toggle", ".polyglot-search"):
            assert not seen.page.locator(dead).is_visible(), dead
        assert seen.page.locator("noscript nav a", has_text="2. 헤드").is_visible()


def test_on_paper_it_is_light_and_nothing_is_cut(window: Browser, address: str) -> None:
    with visit(window, address, color_scheme="dark") as seen:
        seen.page.goto(PAGE)
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
        seen.page.emulate_media(media="print")
        cut = "blocks => blocks.filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert seen.page.locator("article pre").evaluate_all(cut) == 0
        seen.page.keyboard.press("/")
        dialog = seen.page.locator(".polyglot-search-dialog")
        dialog.wait_for(state="attached")
        assert not dialog.is_visible()
        seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"


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
        for box in (".polyglot-math", ".pst-scrollable-table-container"):
            assert seen.page.locator(box).evaluate("e => e.scrollWidth > e.clientWidth + 100"), box
            # What no reader needs in the first moment comes in the second.
            seen.page.locator(f"{box}[tabindex='0']").first.wait_for()
        # Lines of code wrap, with a sign, and are copied as they were.
        code = seen.page.locator(".highlight pre:has(.polyglot-line)").first
        assert code.evaluate("e => e.scrollWidth <= e.clientWidth")
        line = code.locator(".polyglot-line").first
        assert line.evaluate("e => e.offsetHeight > 1.5 * parseFloat(getComputedStyle(e).lineHeight)")
        assert code.evaluate("e => e.innerText.trim() === e.textContent.trim()")


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
