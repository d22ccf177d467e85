"""Figures stand inside the page: sized, named, coloured by the page, with ids of their own."""

from __future__ import annotations

import json
import re

import pytest

from polyglot_book.site.svg import SvgError, inline
from tests.building import Built, build

COLORS = {"#000000": "currentColor", "#ffffff": "var(--page)"}
PICTURE = """<?xml version="1.0"?><!DOCTYPE svg PUBLIC "a" "b">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg"
     width="72pt" height="36pt" viewBox="0 0 72 36" version="1.1">
 <metadata>who</metadata>
 <defs>
  <style type="text/css">*{stroke-linejoin: round}</style>
  <path id="m1" d="M0 0" style="stroke: #000000; stroke-width: 0.8"/>
  <clipPath id="c"><rect width="1" height="1"/></clipPath>
 </defs>
 <g id="unused">
  <use xlink:href="#m1" style="stroke: #000"/>
  <path clip-path="url(#c)" fill="#FFF" d="M1 1"/>
 </g>
 <text style="font: 10px 'DejaVu Sans', sans-serif; text-anchor: middle">a</text>
 <text style="font-size: 9px; font-family: 'DejaVu Sans Mono', monospace">b</text>
</svg>"""


def test_a_picture_becomes_part_of_the_page() -> None:
    svg = inline(PICTURE, prefix="f", label='One & "two"', colors=COLORS)
    assert svg.startswith("<svg ") and "metadata" not in svg and "xlink" not in svg and "ns0" not in svg
    assert 'role="img"' in svg and 'aria-label="One &amp; &quot;two&quot;"' in svg
    assert 'width="96"' in svg and 'height="48"' in svg and 'viewBox="0 0 72 36"' in svg
    assert 'fill="currentColor"' in svg


def test_its_ids_are_its_own_and_only_those_in_use() -> None:
    svg = inline(PICTURE, prefix="f", label="x", colors=COLORS)
    assert set(re.findall(r' id="([^"]+)"', svg)) == {"f", "f-1", "f-2"}
    assert 'href="#f-2"' in svg and 'clip-path="url(#f-1)"' in svg
    assert "#f *{stroke-linejoin: round}" in svg


def test_its_colors_and_fonts_follow_the_page() -> None:
    svg = inline(PICTURE, prefix="f", label="x", colors=COLORS)
    assert svg.count("stroke: currentColor") == 2 and "#000" not in svg
    assert "fill: var(--page)" in svg and "#FFF" not in svg
    assert "font: 10px 'DejaVu Sans', sans-serif; text-anchor: middle; font-family: inherit" in svg
    assert "font-family: 'DejaVu Sans Mono', monospace" in svg


@pytest.mark.parametrize("text", ["<svg", "<html/>", '<svg xmlns="http://www.w3.org/2000/svg"/>'])
def test_what_is_no_picture_is_refused(text: str) -> None:
    with pytest.raises(SvgError):
        inline(text, prefix="f", label="x", colors={})


def test_figures_of_cells_are_inline(four: Built) -> None:
    # The second cell that draws draws twice.
    figures = four.page("book/ko/01-masks").select("article svg.polyglot-figure")
    assert [each["aria-label"] for each in figures] == [
        "가중치 두 개의 열 지도와 세 위치에 걸친 꺾은선입니다."
    ] * 3
    assert len({each["id"] for each in figures}) == 3
    assert not four.page("book/ko/01-masks").select("article img")


def test_a_figure_without_alternative_text_fails_the_build(fresh: Built) -> None:
    path = fresh.root / "book/en/01-masks.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] == "figure":
            del cell["metadata"]["mystnb"]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    again = build(fresh.root)
    assert again.code != 0
    assert (
        len(again.warnings) == 1
        and "01-masks.ipynb" in again.warnings[0]
        and "alternative text" in again.warnings[0]
    )
