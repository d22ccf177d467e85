"""Figures stand inside the page: sized, named, with ids of their own."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from polyhead_course.theme.svg import SvgError, inline, shrink
from tests.building import Built

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
 <text style="font-size: 10px; font-family: 'DejaVu Sans', sans-serif; text-anchor: middle">a</text>
 <text style="font-size: 9px; font-family: 'DejaVu Sans Mono', monospace">b</text>
</svg>"""
SVG = inline(PICTURE, prefix="f", label='One & "two"')


def test_a_picture_becomes_part_of_the_page() -> None:
    assert SVG.startswith("<svg ") and "metadata" not in SVG and "xlink" not in SVG and "ns0" not in SVG
    assert 'role="img"' in SVG and 'aria-label="One &amp; &quot;two&quot;"' in SVG
    assert 'width="96"' in SVG and 'height="48"' in SVG and 'viewBox="0 0 72 36"' in SVG
    assert 'fill="currentColor"' in SVG


def test_only_its_label_is_read_out() -> None:
    root = ET.fromstring(SVG)
    assert [each.attrib for each in root] == [{"aria-hidden": "true"}]
    assert [each.text for each in root.iter("text")] == ["a", "b"]


def test_its_ids_are_its_own_and_only_those_in_use() -> None:
    assert set(re.findall(r' id="([^"]+)"', SVG)) == {"f", "f-1", "f-2"}
    assert 'href="#f-2"' in SVG and 'clip-path="url(#f-1)"' in SVG
    assert "<style" not in SVG  # its rules would be those of the whole page


def test_the_style_sheet_finds_its_colors_and_its_font_is_the_pages() -> None:
    assert 'style="stroke:#000000;stroke-width:0.8"' in SVG
    assert "font-size:9px;font-family:'DejaVu Sans Mono', monospace" in SVG
    assert 'style="font-size:10px;text-anchor:middle"' in SVG


def test_its_other_colors_have_a_counterpart_in_the_dark() -> None:
    cell = PICTURE.replace("stroke: #000000; stroke-width", "fill: #c6dbef; stroke-width").replace(
        'stroke: #000"', 'fill: #3182bd"'
    )
    shown = inline(cell, prefix="f", label="x")
    assert 'style="fill:#c6dbef;fill:light-dark(#c6dbef,#2c3b49);stroke-width:0.8"' in shown
    assert 'style="fill:#3182bd"' in shown  # as on a light page


@pytest.mark.parametrize("text", ["<svg", "<html/>", '<svg xmlns="http://www.w3.org/2000/svg"/>'])
def test_what_is_no_picture_is_refused(text: str) -> None:
    with pytest.raises(SvgError):
        inline(text, prefix="f", label="x")


def test_figures_of_cells_are_inline(four: Built) -> None:
    # The second cell that draws draws twice.
    figures = four.page("book/ko/01-masks").css("article svg.polyglot-figure")
    assert [each.attributes["aria-label"] for each in figures] == [
        "가중치 두 개의 열 지도와 세 위치에 걸친 꺾은선입니다."
    ] * 3
    assert len({each.attributes["id"] for each in figures}) == 3
    assert not four.page("book/ko/01-masks").css("article img")


def _shrunk(inside: str) -> str:
    root = ET.fromstring(f"<svg>{inside}</svg>")
    shrink(root)
    return "".join(ET.tostring(each, encoding="unicode") for each in root)


def test_numbers_are_rounded_and_straight_lines_short() -> None:
    short = _shrunk('<path d="M 1.23456 2 L 3.999 2 L 3.999 7.5 z" style="fill:red" />')
    assert short == '<path d="m1.23 2l2.77 0l0 5.5z" style="fill:red" />'
    curve = '<path d="M 1.26 2 L 3.999 2 L 5 4.44 L 6.01 3.95" style="stroke:red" />'
    assert _shrunk(curve) == '<path d="m1.3 2l2.7 0l1 2.4l1-.4" style="stroke:red" />'
    assert _shrunk('<use x="1.26" y="-3.333" />') == '<use x="1.3" y="-3.3" />'
    assert 'x="1.2"' in _shrunk('<text x="1.2345">x</text>')
    assert 'transform="rotate(-90 1.2 5)"' in _shrunk('<text transform="rotate(-90 1.2345 5)">x</text>')
    assert "transform" not in _shrunk('<text transform="rotate(-0 1.2345 5)">x</text>')


def test_each_part_of_a_path_begins_where_the_part_before_began() -> None:
    two = '<path d="M 1 0 L 2 0 L 2 1 z M 3 0 L 4 0 L 4 1 z" style="fill:red" />'
    assert _shrunk(two) == '<path d="m1 0l1 0l0 1zm2 0l1 0l0 1z" style="fill:red" />'


def test_relative_paths_do_not_drift() -> None:
    corners = [(round(0.1 * step, 2), round(7.07 * step % 10, 2)) for step in range(1, 200)]
    lines = " ".join(f"{'L' if number else 'M'} {x} {y}" for number, (x, y) in enumerate(corners))
    path = re.search('d="([^"]*)"', _shrunk(f'<path d="{lines}" style="fill:red" />'))
    assert path and len(path[1]) < 0.75 * len(lines)
    numbers = [float(each) for each in re.findall(r"-?(?:\d*\.)?\d+", path[1])]
    assert len(numbers) == 2 * len(corners)
    assert (sum(numbers[::2]), sum(numbers[1::2])) == pytest.approx(corners[-1], abs=0.051)


def test_what_is_not_seen_goes() -> None:
    assert _shrunk('<g /><path d="M 0 0 L 1 1" style="fill:none" />') == ""
    assert _shrunk('<path d="M 0 0 L 1 1" style="fill:none;stroke:red" />') != ""
