"""The picture of a translation on a language's first page, against numbers worked out by hand."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from polyhead_course.theme.glance import glance

SVG = "{http://www.w3.org/2000/svg}"


def _drawn() -> ET.Element:
    data = {
        "source_tokens": ["<ko>", "May", "7"],
        "target_tokens": ["5", " "],
        "weights": [[0.03, 0.9, 0.07], [0.5, 0.039, 0.461]],
        "targets": [{"code": "zh-TW"}, {"code": "ko"}],
        "to": 1,
    }
    return ET.fromstring(glance(data).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1))


def test_each_character_has_lines_to_what_it_looks_at() -> None:
    picture = _drawn()
    steps = picture.findall(f"{SVG}g/{SVG}g")
    assert [step.findtext(f"{SVG}text") for step in steps] == ["5", "␣"]
    assert {step.find(f"{SVG}text").get("lang") for step in steps} == {"ko"}  # type: ignore[union-attr]
    lines = [step.findall(f"{SVG}g/{SVG}path[@class='polyglot-line']") for step in steps]
    # 1 + 4 · weight; weights below 0.04 have no line.
    assert [[line.get("stroke-width") for line in each] for each in lines] == [["4.6", "1.3"], ["3.0", "2.8"]]
    # Words of 4, 3 and 1 letters are 37.6, 30.2 and 15.4 wide, with two gaps of 4: 91.2 of 360.
    assert [rect.get("x") for rect in picture.iter(f"{SVG}rect")] == ["134.4", "176.0", "210.2"]
    assert [line.get("d") for line in lines[0]] == [
        "M90.0 128C90.0 78 191.1 84 191.1 31",
        "M90.0 128C90.0 78 217.9 84 217.9 31",
    ]


def test_a_screen_reader_is_told_one_sentence() -> None:
    picture = _drawn()
    assert (picture.get("role"), [each.get("aria-hidden") for each in picture]) == ("img", ["true"])
    assert picture.get("aria-label", "").startswith("A date is translated")
