"""Opens the explorables of the course in a browser, and reads the numbers that they show."""

from __future__ import annotations

import re
from typing import Any

from tests.browser import Visit

CHAPTERS = {"hull": "01-single-head", "mask": "02-masks", "path": "04-heads-in-parallel"}
IDS = {"hull": "weighted-sums-figure", "mask": "causal-weights", "path": "path-figure"}
_TO_FIGURE = "id => document.getElementById(id).scrollIntoView({behavior: 'instant'})"
_DATA = "kind => JSON.parse(document.querySelector(`[data-live=${kind}] > script`).textContent)"


def come_near(seen: Visit, kind: str, language: str = "en", state: str = "") -> dict[str, Any]:
    """Open the page, wait until the figure lives, and give its data."""
    seen.page.goto(f"/book/{language}/{CHAPTERS[kind]}.html{state}")
    if not state:
        seen.page.evaluate(_TO_FIGURE, IDS[kind])
    seen.page.wait_for_selector(f"[data-live={kind}].polyglot-live-on")
    data: dict[str, Any] = seen.page.evaluate(_DATA, kind)
    return data


def numbers(text: str | list[str]) -> list[float]:
    """The numbers of a text, or of several."""
    found = re.findall(r"NaN|[-−]?\d+(?:\.\d+)?", text if isinstance(text, str) else " ".join(text))
    return [float(each.replace("−", "-")) for each in found]
