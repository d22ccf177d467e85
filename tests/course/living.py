"""Opens the explorables of the course in a browser, and reads the numbers that they show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from polyhead_course.figures.live.explorable import MIME
from tests.browser import Visit


def _places() -> dict[str, tuple[str, str]]:
    """The chapter and the cell that first show each explorable."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(Path(__file__).parents[2].glob("book/en/[0-9]*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for data in [each.get("data", {}) for each in cell.get("outputs", [])]:
                if MIME in data:
                    found.setdefault(data[MIME]["kind"], (path.stem, cell["id"]))
    return found


PLACES = _places()
CHAPTERS = {kind: chapter for kind, (chapter, _) in PLACES.items()}
IDS = {kind: cell for kind, (_, cell) in PLACES.items()}
_TO_FIGURE = "id => document.getElementById(id).scrollIntoView({behavior: 'instant'})"
_DATA = "kind => JSON.parse(document.querySelector(`[data-live=${kind}] > script`).textContent)"


def come_near(seen: Visit, kind: str, language: str = "en", state: str = "") -> dict[str, Any]:
    """Open the page, if it is not open; wait until the figure lives, and give its data."""
    page = f"/book/{language}/{CHAPTERS[kind]}.html{state}"
    if not seen.page.url.endswith(page):
        seen.page.goto(page)
    if not state:
        seen.page.evaluate(_TO_FIGURE, IDS[kind])
    seen.page.wait_for_selector(f"[data-live={kind}].polyglot-live-on")
    data: dict[str, Any] = seen.page.evaluate(_DATA, kind)
    return data


def numbers(text: str | list[str]) -> list[float]:
    """The numbers of a text, or of several."""
    found = re.findall(r"NaN|[-−]?\d+(?:\.\d+)?", text if isinstance(text, str) else " ".join(text))
    return [float(each.replace("−", "-")) for each in found]
