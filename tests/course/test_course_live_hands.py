"""The explorables of the course by keyboard, finger, link and on paper, in four languages."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import Browser, Visit, visit
from tests.course.living import CHAPTERS, IDS, come_near, numbers

GO = "hash => { location.hash = hash; }"
EVERY_KIND = pytest.mark.parametrize("kind", CHAPTERS)
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


def test_the_hull_by_keyboard(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "hull")
        body = seen.page.locator("[data-live=hull] .polyglot-live-body")
        body.get_by_role("button", name="Zhonghe", exact=True).focus()
        seen.page.keyboard.press("Space")
        slider = body.get_by_role("slider", name="score: has")
        before = slider.get_attribute("aria-valuetext")
        slider.focus()
        for _ in range(5):
            seen.page.keyboard.press("ArrowRight")
        assert float(slider.get_attribute("aria-valuetext")) == pytest.approx(float(before) + 0.5)
        seen.page.keyboard.press("End")
        assert slider.get_attribute("aria-valuetext") == "10"
        live = body.locator(".live-now + [aria-live=polite]")
        expect(live).to_contain_text("for has")
        body.get_by_role("button", name="divide by √dₖ").press("Enter")
        assert body.get_by_role("button", name="divide by √dₖ").get_attribute("aria-pressed") == "false"
        body.get_by_role("button", name="Reset").press("Enter")
        assert body.get_by_role("slider", name="score: Yonghe Road").get_attribute("aria-valuetext") == "2"
        assert seen.problems() == []


def test_the_mask_by_keyboard(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "mask")
        body = seen.page.locator("[data-live=mask] .polyglot-live-body")
        grid = body.get_by_role("grid")
        assert grid.locator("button[tabindex='0']").count() == 1
        pressed = "button[aria-pressed=true] >> nth=0"
        expect(body.locator(pressed)).to_have_text("causal")
        body.get_by_role("button", name="hide the last key").click()
        expect(body.locator(pressed)).to_have_text("hide the last key")
        body.get_by_role("button", name="Reset").click()
        body.get_by_role("button", name="added to the scores").focus()
        seen.page.keyboard.press("Tab")  # one stop for the whole grid
        focused = "document.activeElement.textContent"
        assert seen.page.evaluate(focused).startswith("Yonghe Road → Zhonghe: True")
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("ArrowUp")
        assert seen.page.evaluate(focused).startswith("a → has: True, weight 0.0900")
        seen.page.keyboard.press("Space")
        assert seen.page.evaluate(focused).startswith("a → has: False, weight 0.0000")
        assert "“a”" in body.locator(".live-caption").inner_text()
        seen.page.keyboard.press("Home")
        seen.page.keyboard.press("Enter")
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("Enter")
        answers = dict(line.split("\n", 1) for line in body.locator(".live-answers > div").all_inner_texts())
        assert answers["nn.MultiheadAttention"].count("NaN") == 4
        assert answers["d2l"].split("\n")[-1].split() == ["0.2500"] * 4
        live = body.locator(".live-now + [aria-live=polite]")
        expect(live).to_contain_text("a sees no key")
        seen.page.keyboard.press("Tab")
        assert not seen.page.evaluate("document.activeElement.closest('.live-mask')")
        assert seen.problems() == []


def test_the_path_by_keyboard(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "path")
        body = seen.page.locator("[data-live=path] .polyglot-live-body")
        body.get_by_role("link", name="the bug clinic").focus()
        seen.page.keyboard.press("Tab")
        for key in ("ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp", "ArrowUp", "End"):
            seen.page.keyboard.press(key)
        assert seen.page.evaluate("document.activeElement.ariaLabel") == "X[0, 0, 3] = 122"
        assert body.locator(".live-index").first.inner_text() == "X[0, 0, 3] = 122"
        assert body.get_by_role("grid").locator("button[tabindex='0']").count() == 1
        batch = body.get_by_role("slider", name="batch")
        batch.focus()
        seen.page.keyboard.press("ArrowRight")
        assert batch.get_attribute("aria-valuetext") == "2"
        assert body.locator(".live-index").first.inner_text() == "X[0, 0, 3] = 1122"
        assert seen.problems() == []


def test_decoding_by_keyboard(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "decoding")
        body = seen.page.locator("[data-live=decoding] .polyglot-live-body")
        now = body.locator(".live-now")
        assert numbers(now.inner_text())[:3] == [1, 3, 0]
        step = body.get_by_role("button", name="Next step")
        step.press("Enter")
        assert numbers(now.inner_text())[:3] == [2, 1, 3]
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("ArrowRight")  # there is no fourth step
        assert numbers(now.inner_text())[:3] == [3, 1, 4]
        assert step.get_attribute("aria-disabled") == "true"
        seen.page.keyboard.press("ArrowLeft")
        body.get_by_role("button", name="without a cache").press("Space")
        assert numbers(now.inner_text())[:3] == [2, 4, 0]
        expect(body.locator(".live-now + [aria-live=polite]")).to_contain_text("keys computed 4")
        seen.page.wait_for_url("**#triangle-figure~s=1&c=0")
        assert seen.problems() == []


def test_bugs_by_keyboard_and_finger(window: Browser, address: str) -> None:
    with visit(window, address, **PHONE) as seen:
        come_near(seen, "bugs")
        body = seen.page.locator("[data-live=bugs] .polyglot-live-body")
        live = body.locator(".live-now + [aria-live=polite]")
        body.get_by_role("combobox", name="Decoder").press("ArrowDown")
        assert body.locator(".live-marks .live-chosen th").inner_text() == "does not see itself"
        body.get_by_role("button", name="parity").press("Enter")
        expect(live).to_contain_text("Outputs that differ and must not: 0")
        body.get_by_role("button", name="window", exact=True).press("Space")
        expect(live).to_contain_text("That holds")
        assert body.locator(".live-marks td:not(:empty)").all_inner_texts() == ["·", "×"]
        body.get_by_role("button", name="Ask all thirteen").press("Enter")
        expect(live).to_contain_text("1 of 13 probes")
        body.get_by_role("row", name="mask inverted").get_by_role("cell").nth(2).tap()  # past heard
        expect(live).to_contain_text("Output that must differ and does not: 10.")
        assert body.get_by_role("combobox").input_value() == "mask inverted"
        assert seen.problems() == []


def test_hands_drag_the_output_and_the_values(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 900, "height": 900}) as seen:
        data = come_near(seen, "hull")
        body = seen.page.locator("[data-live=hull] .polyglot-live-body")
        output, value = body.locator(".live-handle").last, body.locator(".live-handle").first
        wish = body.locator(".live-wish").bounding_box()
        assert wish
        target = wish["x"] + wish["width"] / 2, wish["y"] + wish["height"] / 2
        output.hover()
        seen.page.mouse.down()
        seen.page.mouse.move(*target, steps=4)
        seen.page.mouse.up()
        place = numbers(output.get_attribute("aria-valuetext") or "")
        assert data["wished"] == [2, 2]
        assert place == pytest.approx([1, 1], abs=0.01)  # the hull's point that is nearest to it
        assert place == numbers(body.locator(".live-now").inner_text())[:2]
        seen.page.mouse.move(10, 10)  # nothing is held any more
        assert numbers(output.get_attribute("aria-valuetext") or "") == place
        before = numbers(value.get_attribute("aria-valuetext") or "")
        assert before == data["values"][0]
        value.focus()
        for key in ("ArrowUp", "ArrowUp", "ArrowLeft"):
            seen.page.keyboard.press(key)
        after = numbers(value.get_attribute("aria-valuetext") or "")
        assert after == pytest.approx([before[0] - 0.1, before[1] + 0.2])
        weights = numbers(body.locator(".live-weight-of").all_inner_texts())
        moved = [after, *data["values"][1:]]
        expected = [sum(w * v[axis] for w, v in zip(weights, moved, strict=True)) for axis in (0, 1)]
        shown = numbers(body.locator(".live-now").inner_text())[:2]
        assert shown == pytest.approx(expected, abs=5e-4)
        seen.page.wait_for_url("**&v=*")
        state = seen.page.evaluate("location.hash")
        output.focus()
        seen.page.keyboard.press("ArrowLeft")
        further = numbers(output.get_attribute("aria-valuetext") or "")
        assert further == pytest.approx([shown[0] - 0.1, shown[1]], abs=0.002)
        assert seen.problems() == []
    with visit(window, address) as seen:  # the state of the address is that before the last key
        come_near(seen, "hull", state=state)
        now = seen.page.locator("[data-live=hull] .live-now").inner_text()
        assert numbers(now)[:2] == pytest.approx(shown, abs=2e-4)


def test_a_finger_drags_the_output_of_the_hull(window: Browser, address: str) -> None:
    with visit(window, address, **PHONE) as seen:
        come_near(seen, "hull")
        output = seen.page.locator("[data-live=hull] .live-handle").last
        output.scroll_into_view_if_needed()
        before = numbers(output.get_attribute("aria-valuetext") or "")
        scrolled = seen.page.evaluate("scrollY")
        swipe(seen, output, [(0, 0), (-10, -20), (-20, -40)])
        after = numbers(output.get_attribute("aria-valuetext") or "")
        assert after[0] < before[0] - 0.1
        assert after[1] > before[1] + 0.3
        assert seen.page.evaluate("scrollY") == scrolled


def test_a_pointer_paints_the_mask_and_the_preset_that_it_equals_is_on(window: Browser, address: str) -> None:
    with visit(window, address, **PHONE) as seen:
        come_near(seen, "mask")
        body = seen.page.locator("[data-live=mask] .polyglot-live-body")
        cells = body.locator(".live-mask button")
        pressed = "cells => cells.map((cell) => Number(cell.ariaPressed === 'true'))"
        described = body.get_attribute("aria-describedby") or ""
        assert (seen.page.locator(f"#{described}").get_attribute("aria-label") or "").startswith("Heat map")
        cells.nth(0).scroll_into_view_if_needed()
        scrolled = seen.page.evaluate("scrollY")
        box, last = cells.nth(12).bounding_box(), cells.nth(14).bounding_box()
        assert box and last
        swipe(seen, cells.nth(12), [(0, 0), (30, 0), (last["x"] - box["x"], 0)])
        assert cells.evaluate_all(pressed) == [1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1]
        assert seen.page.evaluate("scrollY") == scrolled
        for cell in range(12, 15):  # what is painted over again with the mouse
            cells.nth(cell).hover()
            seen.page.mouse.down() if cell == 12 else None
        seen.page.mouse.up()
        assert cells.evaluate_all(pressed)[12:] == [1, 1, 1, 1]
        expect(body.get_by_role("button", name="causal")).to_have_attribute("aria-pressed", "true")
        for cell in (3, 7, 11):
            cells.nth(cell).tap()
        cells.nth(1).click()
        cells.nth(2).click()
        cells.nth(6).click()
        expect(body.get_by_role("button", name="hide nothing")).to_have_attribute("aria-pressed", "true")
        expect(body).not_to_have_attribute("aria-describedby", described)
        lines = (body.get_attribute("aria-describedby") or "").split()
        said = [seen.page.locator(f"#{each}").inner_text() for each in lines]
        assert said[0].startswith("has → a: True")
        assert said[1].startswith("✓ Everything is right")
        body.get_by_role("button", name="Reset").click()
        expect(body).to_have_attribute("aria-describedby", described)
        assert seen.problems() == []


def swipe(seen: Visit, element: Locator, steps: list[tuple[float, float]]) -> None:
    """Move a finger from the middle of an element by these distances."""
    box = element.bounding_box()
    assert box
    start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = seen.page.context.new_cdp_session(seen.page)
    for number, (across, down) in enumerate(steps):
        point = {"x": start[0] + across, "y": start[1] + down}
        kind = "touchMove" if number else "touchStart"
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_finger_sets_the_mask(window: Browser, address: str) -> None:
    with visit(window, address, **PHONE) as seen:
        come_near(seen, "mask")
        cell = seen.page.locator("[data-live=mask] .live-mask button").nth(5)
        cell.tap()
        assert cell.get_attribute("aria-pressed") == "false"


def test_the_atlas_by_keyboard_and_finger(window: Browser, address: str) -> None:
    with visit(window, address, **PHONE) as seen:
        come_near(seen, "atlas")
        body = seen.page.locator("[data-live=atlas] .polyglot-live-body")
        first, second = body.locator(".live-now + [aria-live=polite]").all()
        body.locator(".live-atlas button[tabindex='0']").focus()
        for key in ("End", "ArrowUp", "ArrowLeft", "Enter"):
            seen.page.keyboard.press(key)
        expect(first).to_contain_text("layer 28, head 5")
        expect(body.locator(".live-atlas [aria-pressed=true]")).to_have_count(1)
        body.locator(".live-look button[tabindex='0']").focus()
        seen.page.keyboard.press("ArrowUp")
        expect(second).to_contain_text("“password” looks at")
        body.locator(".live-look button").nth(4).tap()
        expect(second).to_contain_text("“ut” looks at")
        body.get_by_role("combobox", name="switch off").select_option(label="first token: 94")
        assert len(body.locator(".live-writing").nth(1).inner_text()) > 3
        assert seen.problems() == []


def test_the_atlas_says_that_its_weights_do_not_come_and_asks_again(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "atlas")
        body = seen.page.locator("[data-live=atlas] .polyglot-live-body")
        seen.page.route("**/readings/*.bin", lambda route: route.abort())
        body.locator(".live-atlas button").nth(7).click()
        expect(body.get_by_role("status")).to_have_text("The weights could not be loaded.")
        seen.page.unroute("**/readings/*.bin")
        body.locator(".live-atlas button").nth(8).click()
        expect(body.get_by_role("status")).to_have_text("")
        expect(body.locator(".live-looks")).not_to_have_class("live-looks live-stale")


STATE = {
    "atlas": ("#atlas-figure~h=17,3&t=3&q=9&x=0", ".live-row-now"),
    "backwards": ("#anti-diagonal-figure~w=1&m=1&q=2", ".live-now"),
    "bugs": ("#matrix-figure~b=10&p=0,5", ".live-now"),
    "cache": ("#cache-figure~l=64&q=64&k=8&d=128&n=32768", ".live-now"),
    "clocks": ("#rotary-figure~m=9&n=1&t=1&b=1", ".live-now"),
    "copier": ("#copier-live~s=2&q=14&o=1", ".live-now"),
    "hull": ("#weighted-sums-figure~q=0&s=1,2,-3,0.5&t=2&d=64&raw=1", ".live-now"),
    "mask": ("#causal-weights~m=8,0,14,5&r=1&n=2&b=2", ".live-mask"),
    "path": ("#path-figure~z=2,5,4,3&e=1,2,7&b=3", ".live-now"),
    "decoding": ("#triangle-figure~s=2&l=1&h=1&c=0&b=2", ".live-costs"),
    "reach": ("#reach-figure~m=2&t=5", ".live-now"),
    "speculative": ("#speculative-figure~q=1,2,3&p=3,2,1&k=2&n=3", ".live-now"),
    "stacks": ("#gradients-figure~r=1&n=2&d=4", ".live-now"),
    "translator": ("#translator-figure~d=3,2031,2,4&v=0,2", ".live-answer"),
    "two_heads": ("#hull-figure~w=0,0,4,0&v=10,0,0,0&h=2&r=5", ".live-now"),
}
SHOWN = {
    "atlas": "“Your”",
    "backwards": "edaced",
    "bugs": "8, by up to 1.",
    "cache": "GQA 8 GiB",
    "clocks": "Distance 8",
    "copier": "Letter 15",
    "hull": "0.9796",
    "mask": "−∞",
    "path": "[6, 2, 1]",
    "reach": "Of these, 4",
    "speculative": "0.6667",
    "stacks": "32",
    "translator": "2031",
    "two_heads": "(3, 4)",
    "decoding": "140,144",
}
FIRST = {
    "atlas": ".live-atlas button",
    "backwards": ".live-memories button:nth-child(2)",
    "bugs": ".live-probe button",
    "cache": ".live-buttons button:nth-child(2)",
    "clocks": ".live-buttons button",
    "copier": ".live-copier button",
    "hull": ".live-buttons button", "mask": ".live-mask button", "path": ".live-cell",
    "two_heads": ".live-buttons button",
    "reach": ".live-spread button",
    "speculative": ".live-buttons button",
    "stacks": ".live-buttons button",
    "translator": ".live-switches button", "decoding": ".live-buttons button:nth-child(2)",
}  # fmt: skip


@EVERY_KIND
def test_a_link_brings_the_state_and_the_other_language_keeps_it(
    window: Browser, address: str, kind: str
) -> None:
    state, part = STATE[kind]
    with visit(window, address, viewport={"width": 1280, "height": 900}) as seen:
        come_near(seen, kind, state=state)
        body = seen.page.locator(f"[data-live={kind}] .polyglot-live-body")
        expect(body).to_be_in_viewport()
        english = numbers(body.locator(part).inner_text())
        assert SHOWN[kind] in body.locator(part).inner_text()
        assert seen.page.evaluate("location.hash") == state
        seen.page.click(".polyglot-switcher summary")
        seen.page.click('.polyglot-switcher a[lang="ko"]')
        seen.page.wait_for_selector(f"html[lang=ko] [data-live={kind}].polyglot-live-on")
        assert seen.page.evaluate("location.hash") == state
        korean = body.locator(part).inner_text()
        assert sorted(map(str, numbers(korean))) == sorted(map(str, english))
        body.get_by_role("button", name="처음으로").click()
        seen.page.wait_for_url(f"**/{CHAPTERS[kind]}.html#{IDS[kind]}")
        assert body.locator(part).inner_text() != korean
        assert seen.problems() == []


@EVERY_KIND
def test_what_is_changed_stands_in_the_address(window: Browser, address: str, kind: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, kind)
        other, part = STATE[kind]
        shown = seen.page.locator(f"[data-live={kind}] {part}")
        seen.page.locator(f"[data-live={kind}] {FIRST[kind]}").first.click()
        seen.page.wait_for_url(f"**/{CHAPTERS[kind]}.html#{IDS[kind]}~*")
        now = shown.inner_text()
        state = seen.page.evaluate("location.hash")
        seen.page.evaluate(GO, other)
        expect(shown).not_to_have_text(now, use_inner_text=True)
        seen.page.evaluate(GO, state)
        expect(shown).to_have_text(now, use_inner_text=True)


@EVERY_KIND
def test_a_broken_address_shows_where_the_reader_begins(window: Browser, address: str, kind: str) -> None:
    state, part = STATE[kind]
    with visit(window, address) as seen:
        come_near(seen, kind, state=f"#{IDS[kind]}~s=x&t=-1&m=1&z=99,0&e=&q=9")
        body = seen.page.locator(f"[data-live={kind}] .polyglot-live-body")
        assert "NaN" not in body.inner_text().replace("NaN in empty rows", "")  # the name of a bug
        seen.page.goto("about:blank")
        come_near(seen, kind)
        begin = body.locator(part).inner_text()
        for broken in ("~", "~%zz"):
            seen.page.evaluate(GO, state)
            expect(body.locator(part)).not_to_have_text(begin, use_inner_text=True)
            seen.page.evaluate(GO, f"#{IDS[kind]}{broken}")
            expect(body.locator(part)).to_have_text(begin, use_inner_text=True)
        assert seen.problems() == []


@EVERY_KIND
def test_paper_and_readers_without_scripts_see_the_figure(window: Browser, address: str, kind: str) -> None:
    figure = f"[data-live={kind}] > svg"
    with visit(window, address) as seen:
        come_near(seen, kind)
        assert not seen.page.locator(figure).is_visible()
        seen.page.emulate_media(media="print")
        assert seen.page.locator(figure).is_visible()
        assert not seen.page.locator(f"[data-live={kind}] .polyglot-live-body").is_visible()
    with visit(window, address, java_script_enabled=False) as seen:
        seen.page.goto(f"/book/en/{CHAPTERS[kind]}.html")
        assert seen.page.locator(figure).is_visible()
        box = seen.page.locator(figure).bounding_box()
        room = seen.page.locator(f"[data-live={kind}]").bounding_box()
        assert box and room and room["height"] < box["height"] + 5


def test_a_page_asks_for_scripts_only_when_a_figure_comes_near(window: Browser, address: str) -> None:
    asked: list[str] = []
    with visit(window, address, viewport={"width": 1280, "height": 800}) as seen:
        seen.page.on("request", lambda request: asked.append(request.url))
        seen.page.goto("/book/en/01-single-head.html", wait_until="networkidle")
        assert not [url for url in asked if "live" in url]
        come_near(seen, "hull")
        asked.clear()
        seen.page.goto("/book/en/05-positions.html", wait_until="networkidle")
        assert not [url for url in asked if "live" in url]
