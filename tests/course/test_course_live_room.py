"""The explorables have their room from the beginning: in no language, state or window anything moves."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route

from tests.browser import Browser, visit
from tests.course.living import CHAPTERS, IDS

WIDTHS = range(320, 1441, 220)
# Where figures are changed by chance: both kinds of Chinese are equally wide, and narrower than the others.
CHANGED = {"en": WIDTHS[::2], "ko": WIDTHS[::2], "zh-TW": WIDTHS[:1], "zh-CN": WIDTHS[:1]}
# The theme's bars slide in and out when the width of the window changes.
STILL = "* { transition: none !important; }"

# Leaves of the chapter the figure and what comes next: the rest only takes time to lay out.
PRUNE = """kind => {
  const kept = document.querySelector(`[data-live=${kind}]`);
  let each = kept;
  while (!each.nextElementSibling) each = each.parentElement;
  each.nextElementSibling.toggleAttribute("data-next");
  for (; !each.matches("article"); each = each.parentElement) {
    for (const other of [...each.parentElement.children]) {
      if (other !== each && !other.hasAttribute("data-next")) other.remove();
    }
  }
}"""
# The height of a figure, the distance from its top to the next part of the page, and the empty part below.
PLACE = """kind => {
  const figure = document.querySelector(`[data-live=${kind}]`);
  let above = figure.parentElement;
  while (!above.nextElementSibling) above = above.parentElement;
  const { top, bottom, height } = figure.getBoundingClientRect();
  const lowest = [...figure.querySelectorAll("*")]
    .filter((each) => !each.children.length && each.checkVisibility({ visibilityProperty: true }))
    .map((each) => each.getBoundingClientRect().bottom);
  return [height, above.nextElementSibling.getBoundingClientRect().top - top, bottom - Math.max(...lowest)];
}"""
# At another address than the page's script loads it from: only now the figure comes to life.
ENLIVEN = """kind => import("/_static/live.js?now").then(
  ({ enliven }) => enliven(document.querySelector(`[data-live=${kind}]`)))"""
# Presses buttons, moves sliders and types dates by chance; gives the heights of the figure, and cut texts.
CHANGE = """async ({ kind, steps }) => {
  const figure = document.querySelector(`[data-live=${kind}]`);
  const visible = (selector) => [...figure.querySelectorAll(`.polyglot-live-body ${selector}`)]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }));
  let seed = 7;
  const chance = (number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return Math.floor(seed / 2 ** 16) % number;
  };
  const dates = ["Wednesday, September 23, 2099", "Fridya, November 20, 2026", "30 February 2024", "x",
    "November", "1 May 1899", "Thursday, 20 November 2026"];
  const [heights, cut] = [new Set(), new Set()];
  for (let step = 0; step < steps; step++) {
    const controls = visible("button, input, select");
    const control = controls[chance(controls.length)];
    if (control.type === "range") {
      control.value = chance(2) ? control.max : control.min;
      control.dispatchEvent(new Event("input"));
    } else if (control.type === "text") {
      control.value = dates[chance(dates.length)];
      control.form.requestSubmit();
    } else if (control.options) {
      control.selectedIndex = chance(control.options.length);
      control.dispatchEvent(new Event("change"));
    } else control.click();
    await new Promise((done) => setTimeout(done));
    heights.add(figure.getBoundingClientRect().height);
    for (const line of visible(".live-stack:not(.live-window) > :first-child")) {
      if (line.scrollHeight > line.clientHeight + 8) cut.add(line.textContent);  // a line is higher than 8 px
    }
  }
  return [[...heights], [...cut]];
}"""


def load_nothing(route: Route) -> None:
    """Answer with a script that brings nothing to life."""
    route.fulfill(content_type="text/javascript", body="export const enliven = () => new Promise(() => {});")


@pytest.mark.parametrize("kind", CHAPTERS)
@pytest.mark.parametrize("language", CHANGED)
def test_nothing_moves_when_a_figure_comes_to_life_or_changes(
    window: Browser, address: str, kind: str, language: str
) -> None:
    with visit(window, address, reduced_motion="reduce") as seen:
        seen.page.route("**/_static/live.js", load_nothing)
        seen.page.goto(f"/book/{language}/{CHAPTERS[kind]}.html#{IDS[kind]}")
        seen.page.add_style_tag(content=STILL)
        seen.page.evaluate(PRUNE, kind)
        figure = seen.page.locator(f"[data-live={kind}]")

        def places() -> dict[int, tuple[float, ...]]:
            found = {}
            for width in WIDTHS:
                seen.page.set_viewport_size({"width": width, "height": 800})
                found[width] = tuple(seen.page.evaluate(PLACE, kind))
            return found

        before = places()
        assert figure.locator("svg").first.is_visible()
        assert not figure.locator(".polyglot-live-body").get_by_role("button").count()
        seen.page.evaluate(ENLIVEN, kind)
        after = places()
        assert figure.get_by_role("button").count()
        assert {width: place[:2] for width, place in after.items()} == {
            width: place[:2] for width, place in before.items()
        }
        assert all(empty < 40 for _, _, empty in after.values()), after
        if kind == "translator":
            load = figure.locator(".live-load button").first
            load.click()
            load.wait_for(state="hidden")
        for width in CHANGED[language]:
            seen.page.set_viewport_size({"width": width, "height": 800})
            heights, cut = seen.page.evaluate(CHANGE, {"kind": kind, "steps": 60})
            assert (heights, cut) == ([after[width][0]], []), width
        assert seen.problems() == []
