"""Figures that a reader takes along: pictures, links, frames in other sites; and figures on slow machines."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser import Browser, serve, visit
from tests.course.living import CHAPTERS, IDS, come_near
from tests.pages import parse, value

_SVG = "{http://www.w3.org/2000/svg}"
_DC = "{http://purl.org/dc/elements/1.1/}"
# A page that knows nothing of the course but how high a frame wants to be.
_HOST = """<!doctype html><title>x</title>%s<script>
addEventListener("message", ({ data, source }) => {
  const frame = [...document.querySelectorAll("iframe")].find((each) => each.contentWindow === source);
  if (frame && data.type === "polyglot-height") frame.height = data.height;
});
</script>"""


def offer(page: Page, kind: str) -> None:
    """Open the menu of a figure that lives."""
    page.locator(f"[data-live={kind}] > .polyglot-take").click()
    page.locator(".polyglot-take-menu").wait_for()


def copied(page: Page, name: str) -> str:
    page.locator(".polyglot-take-menu").get_by_role("button", name=name).click()
    expect(page.locator(".polyglot-take-menu [role=status]")).to_have_text("Copied!")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def saved(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.locator(".polyglot-take-menu").get_by_role("button", name=name).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_another_site_shows_a_figure_as_it_was_left(window: Browser, address: str, tmp_path: Path) -> None:
    with visit(window, address, permissions=["clipboard-read", "clipboard-write"]) as seen:
        come_near(seen, "hull")
        body = seen.page.locator("[data-live=hull] .polyglot-live-body")
        body.get_by_role("button", name="a", exact=True).click()
        now = body.locator(".live-now > :first-child").inner_text()
        offer(seen.page, "hull")
        line = copied(seen.page, "Copy embed code")
        height = body.bounding_box()["height"]  # type: ignore[index]
        assert seen.problems() == []
    assert re.fullmatch(
        rf'<iframe src="{address}/embed/book/en/{CHAPTERS["hull"]}/{IDS["hull"]}\.html'
        rf'#{IDS["hull"]}~q=2&amp;s=[^"]*" '
        rf'title="Interactive figure: one query and its output – 1\. Single-head attention" width="100%" '
        rf'height="{round(height) + 48}" style="border: 0" loading="lazy" allow="clipboard-write"></iframe>',
        line,
    )
    (tmp_path / "index.html").write_text(_HOST % line, encoding="utf-8")
    with serve(tmp_path) as other, visit(window, other, viewport={"width": 500, "height": 900}) as seen:
        assert other != address
        seen.page.goto("/")
        frame = seen.page.frame_locator("iframe")
        expect(frame.locator(".live-now > :first-child")).to_have_text(now)
        assert not frame.locator(".polyglot-live > svg").is_visible()
        slider = frame.get_by_role("slider", name="score: has")
        slider.press("End")
        expect(frame.locator(".live-now > :first-child")).to_contain_text("for has")
        # As high as it is: nothing scrolls in it, in either direction, at another width either.
        for width in (500, 320):
            seen.page.set_viewport_size({"width": width, "height": 900})
            inside = seen.page.frames[1]
            fits = "innerHeight === document.body.offsetHeight && document.body.scrollWidth <= innerWidth"
            for _ in range(50):
                if inside.evaluate(fits):
                    break
                seen.page.wait_for_timeout(100)
            assert inside.evaluate(fits), width
        with seen.page.context.expect_page() as opened:
            frame.locator(".polyglot-embed-source a").click()
        assert opened.value.url.startswith(f"{address}/book/en/{CHAPTERS['hull']}.html#{IDS['hull']}~q=2")
        assert seen.errors == seen.failed == []


def test_every_figure_of_every_language_has_a_light_page_of_its_own(site: Path) -> None:
    for code in ("en", "zh-TW", "zh-CN", "ko"):
        for kind, chapter in CHAPTERS.items():
            path = site / f"embed/book/{code}/{chapter}/{IDS[kind]}.html"
            page = parse(path.read_text(encoding="utf-8"))
            assert value(page.root, "lang") == code
            assert value(page.css_first("meta[name=robots]"), "content") == "noindex"
            assert [value(each, "href") for each in page.css("link[rel=stylesheet]")] == [
                "../../../../_static/embed.css"
            ]
            assert [value(each, "src") for each in page.css("script[src]")] == [
                "../../../../_static/embed.js"
            ]
            assert value(page.css_first("[data-live]"), "data-live") == kind
            assert value(page.css_first(".polyglot-embed-source a"), "href").endswith(
                f"{code}/{chapter}.html#{IDS[kind]}"
            )
    assert (site / "_static/embed.css").stat().st_size < 45_000


def test_a_frame_without_scripts_shows_the_still_figure(window: Browser, address: str) -> None:
    with visit(window, address, java_script_enabled=False) as seen:
        seen.page.goto(f"/embed/book/ko/{CHAPTERS['hull']}/{IDS['hull']}.html")
        assert seen.page.locator("[data-live] > svg").is_visible()
        assert not seen.page.locator(".polyglot-live-body").is_visible()


def test_a_picture_shows_what_the_figure_shows_and_where_it_is_from(
    window: Browser, address: str, tmp_path: Path
) -> None:
    with visit(window, address, color_scheme="dark", viewport={"width": 1280, "height": 900}) as seen:
        page = seen.page
        come_near(seen, "mask")
        cells = page.locator("[data-live=mask] .live-mask button")
        cells.nth(5).click()
        offer(page, "mask")
        svg = ET.parse(saved(page, "Save as SVG", tmp_path)).getroot()
        png = saved(page, "Save as PNG", tmp_path)
        shown = cells.locator(".live-entry, .live-number").all_inner_texts()
        # A still one, which has no frame to offer.
        still = page.locator(".cell_output > svg.polyglot-figure + .polyglot-take").first
        still.click()
        expect(page.locator(".polyglot-take-menu button:visible")).to_have_text(
            ["Save as SVG", "Save as PNG", "Copy link"]
        )
        path = saved(page, "Save as SVG", tmp_path)
        label = page.locator(".cell_output > svg.polyglot-figure").first.get_attribute("aria-label")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert seen.problems() == []
    address_of = f"{address}/book/en/{CHAPTERS['mask']}.html#{IDS['mask']}~"
    texts = [each.text or "" for each in svg.iter(f"{_SVG}text")]
    assert len(shown) == 32 and shown.count("False") == 7
    assert [text for text in texts if text in set(shown)][:32] == shown
    assert "2. Masks · Polyhead · CC BY 4.0" in texts
    assert address_of in "".join(texts)
    facts = {each.tag.removeprefix(_DC): each.text for each in svg.iter() if each.tag.startswith(_DC)}
    assert facts["title"] == "2. Masks" and facts["language"] == "en" and facts["rights"] == "CC BY 4.0"
    assert (facts["source"] or "").startswith(address_of)
    assert "has → has: False" in (svg.findtext(f"{_SVG}desc") or "")
    text = ET.tostring(svg, encoding="unicode")
    for wrong in ("foreignObject", "var(", "color(", "class=", "<style"):
        assert wrong not in text, wrong
    sizes = [float(svg.get(side, "")) for side in ("width", "height")]
    with Image.open(png) as picture:
        assert picture.size == tuple(round(2 * size) for size in sizes)
        assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
        colors = {color for _, color in picture.convert("RGB").getcolors(1 << 20) or []}
        assert len(colors) > 20 and not any(max(color) < 10 for color in colors)
    root = ET.parse(path).getroot()
    assert root.findtext(f"{_SVG}desc") == label
    assert "var(" not in path.read_text(encoding="utf-8")


def test_a_link_keeps_the_state_of_each_of_two_figures(window: Browser, address: str) -> None:
    with visit(window, address, permissions=["clipboard-read", "clipboard-write"]) as seen:
        links = {}
        for kind, button in (("decoding", "without a cache"), ("speculative", "Draw 1,000 tokens")):
            come_near(seen, kind)
            seen.page.locator(f"[data-live={kind}]").get_by_role("button", name=button).click()
        for kind in ("decoding", "speculative"):
            offer(seen.page, kind)
            links[kind] = copied(seen.page, "Copy link")
            assert links[kind].startswith(f"{address}/book/en/09-generation.html#{IDS[kind]}~")
            seen.page.keyboard.press("Escape")
            assert seen.page.evaluate("document.activeElement.className") == "polyglot-take"
        seen.page.goto("/book/en/index.html")
        seen.page.goto(links["decoding"])
        seen.page.wait_for_selector("[data-live=decoding].polyglot-live-on")
        pressed = seen.page.locator("[data-live=decoding]").get_by_role("button", name="without a cache")
        assert pressed.get_attribute("aria-pressed") == "true"
        assert seen.problems() == []


@pytest.mark.parametrize("width", [390, 1280])
def test_buttons_of_figures_move_nothing_and_are_not_printed(
    window: Browser, address: str, width: int
) -> None:
    # In one go: what else comes to the page meanwhile moves nothing between the two.
    before_and_after = """() => {
      const parts = document.querySelectorAll("article section > *");
      const tops = () => [...parts].map(each => each.getBoundingClientRect().top);
      const before = tops();
      for (const each of document.querySelectorAll(".polyglot-take")) each.remove();
      return [before, tops()];
    }"""
    with visit(window, address, viewport={"width": width, "height": 900}) as seen:
        seen.page.goto("/book/ko/03-many-heads.html")
        buttons = seen.page.locator(".polyglot-take")
        buttons.first.wait_for(state="attached")
        before, after = seen.page.evaluate(before_and_after)
        assert len(before) > 20 and before == after
        seen.page.reload()
        buttons.first.wait_for(state="attached")
        for button in buttons.all():
            if button.is_visible():
                box, figure = (
                    button.bounding_box(),
                    button.locator("xpath=preceding-sibling::*[self::div or name()='svg'][1]").bounding_box(),
                )
                assert box is not None and figure is not None
                assert (
                    box["y"] >= figure["y"] + figure["height"] - 1
                    or box["x"] >= figure["x"] + figure["width"]
                )
                assert box["x"] + box["width"] <= width
        seen.page.emulate_media(media="print")
        assert not any(button.is_visible() for button in buttons.all())


def test_the_slowest_step_is_quick_on_a_slow_machine(window: Browser, address: str) -> None:
    # A translation with other heads: the time of the page's own thread, whatever else runs.
    switch = """async head => {
      document.querySelectorAll("[data-live=translator] .live-switches button")[head].click();
      for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    }"""
    loop = "() => { let sum = 0; for (let i = 1; i < 2e7; i++) sum += Math.sqrt(i); return sum; }"
    with visit(window, address, reduced_motion="reduce", viewport={"width": 390, "height": 800}) as seen:
        come_near(seen, "translator")
        seen.page.locator("[data-live=translator] .live-load button:visible").click()
        expect(seen.page.locator("[data-live=translator] .live-load button:visible")).to_have_count(0)
        seen.page.evaluate(switch, 0)
        session = seen.page.context.new_cdp_session(seen.page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def ticks() -> float:
            found = session.send("Performance.getMetrics")["metrics"]
            return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))

        steps, loops = [], []
        for head in (*range(1, 9), *range(1, 8)):  # no two of these steps have the same heads
            before = ticks()
            seen.page.evaluate(switch, head)
            between = ticks()
            seen.page.evaluate(loop)
            steps.append(1000 * (between - before))
            loops.append(1000 * (ticks() - between))
        # Six times slower, within 100 ms on the machine for which this was set, where the loop takes 28 ms;
        # one that is slower itself needs to be slowed down less. Others take up to half as long again for
        # layout, measured by the same loop; what takes twice as long as it did is red everywhere.
        assert 6 * min(steps) / max(1, min(loops) / 28) < 150, (steps, loops)
