"""What a screen reader is told of the pages: order, names, formulas, figures, tables, folded parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Visit, chromium, serve, visit

# One page of each kind, in different languages.
PAGES = ("index", "en/index", "zh-TW/01-single-head", "ko/05-positions", "zh-CN/notation", "en/teaching")
NAMED = {"button", "link", "DisclosureTriangle", "slider", "image", "navigation", "columnheader", "rowheader"}
_ICON = re.compile("[\ue000-\uf8ff]")
# What is drawn of the page's own, without what is folded away or told in other words.
_DRAWN = "selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility()).length"


@dataclass
class Told:
    """One thing that a screen reader is told of, and what is inside it."""

    role: str
    name: str
    description: str
    properties: dict[str, Any]
    element: int
    inside: list[Told] = field(default_factory=list)

    def all(self, role: str = "") -> Iterator[Told]:
        """Give everything of a role in the order of reading, itself first."""
        if role in {"", self.role}:
            yield self
        for each in self.inside:
            yield from each.all(role)

    def text(self) -> str:
        """Give its text in the order of reading."""
        return "".join(each.name for each in self.all("StaticText"))


def listen(seen: Visit) -> tuple[Told, list[int]]:
    """Give what is told of a page, and the elements of the page in the order in which they are written."""
    devtools = seen.page.context.new_cdp_session(seen.page)
    nodes = {each["nodeId"]: each for each in devtools.send("Accessibility.getFullAXTree")["nodes"]}

    def told(node: dict[str, Any]) -> list[Told]:
        inside = [one for key in node.get("childIds", []) if key in nodes for one in told(nodes[key])]
        if node["ignored"]:
            return inside
        role, name, description = (
            node.get(key, {}).get("value", "") for key in ("role", "name", "description")
        )
        properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        return [Told(role, name, description, properties, node.get("backendDOMNodeId", -1), inside)]

    def written(node: dict[str, Any]) -> Iterator[int]:
        yield node["backendNodeId"]
        for child in node.get("children", []):
            yield from written(child)

    document = devtools.send("DOM.getDocument", {"depth": -1})["root"]
    return told(next(iter(nodes.values())))[0], list(written(document))


@pytest.fixture(scope="module")
def seen(site: Path) -> Iterator[Visit]:
    with (
        chromium() as browser,
        serve(site) as base,
        visit(browser, base, viewport={"width": 1280, "height": 900}) as one,
    ):
        yield one


@pytest.mark.parametrize("name", PAGES)
def test_a_screen_reader_is_told_the_whole_page(seen: Visit, name: str) -> None:
    seen.page.goto(f"/book/{name}.html", wait_until="networkidle")
    page, written = listen(seen)
    everything = list(page.all())

    place = {element: number for number, element in enumerate(written)}
    order = [place[each.element] for each in everything if each.element in place]
    assert len(order) > 20 and order == sorted(order), "read in another order than it is written"

    levels = [each.properties["level"] for each in page.all("heading")]
    assert levels.count(1) == 1 and levels[0] == 1, levels
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    assert len(list(page.all("main"))) == 1
    names = [each.name for each in page.all("navigation")]
    assert len(set(names)) == len(names), names

    assert [each.role for each in everything if each.role in NAMED and not each.name.strip()] == []
    assert [each.name for each in everything if _ICON.search(each.name + each.description)] == []
    assert all("expanded" in each.properties for each in page.all("DisclosureTriangle"))

    formulas = list(page.all("MathMLMath"))
    assert len(formulas) == seen.page.evaluate(_DRAWN, "math")
    assert all(each.text().strip() for each in formulas)
    images = list(page.all("image"))
    assert len(images) == seen.page.evaluate(
        _DRAWN, "svg:is(.polyglot-figure, .polyglot-glance), article img"
    )
    assert [each.text() for each in images if each.text()] == [], "told twice"
    tables = list(page.all("table"))
    assert len(tables) == seen.page.evaluate(_DRAWN, "article table")
    for table in tables:
        assert list(table.all("columnheader")) and list(table.all("rowheader")), table.text()[:60]
    # A cell's code, and what it printed, are told apart.
    cells = seen.page.evaluate(_DRAWN, "article :is(.cell_input, .cell_output)")
    assert len([1 for each in page.all("group") if each.name in WORDS[name[:2]]]) == cells


WORDS = {"in": (), "en": ("Code", "Output"), "zh": ("程式碼", "輸出", "代码", "输出"), "ko": ("코드", "출력")}


def test_what_is_unfolded_says_so(seen: Visit) -> None:
    seen.page.goto("/book/zh-TW/01-single-head.html", wait_until="networkidle")
    before = unfolded(seen)
    for kind in ("details.hide", "details.sd-dropdown"):
        seen.page.locator(f"article {kind} > summary").first.press("Enter")
    assert unfolded(seen) == before + 2


def unfolded(seen: Visit) -> int:
    """Count what says that it is open."""
    devtools = seen.page.context.new_cdp_session(seen.page)
    asked = {"nodeId": devtools.send("DOM.getDocument")["root"]["nodeId"], "role": "DisclosureTriangle"}
    found = devtools.send("Accessibility.queryAXTree", asked)["nodes"]
    properties = [each for node in found for each in node.get("properties", ())]
    return sum(each["name"] == "expanded" and each["value"]["value"] for each in properties)
