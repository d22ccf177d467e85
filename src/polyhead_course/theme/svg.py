"""Rewrites an SVG picture so that it can stand inside a page: sized, coloured and named by the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from xml.etree import ElementTree as ET

from polyhead_course.theme.svg_size import shrink

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "in": 96.0, "cm": 96 / 2.54, "mm": 96 / 25.4}
_LENGTH = re.compile(r"([0-9.]+)\s*([a-z]*)")
_REFERENCE = re.compile(r"url\(\s*['\"]?#([^'\")]+)['\"]?\s*\)")
_PAINTED = ("fill", "stroke", "stop-color")


class SvgError(ValueError):
    """A picture that cannot be placed in a page."""


def inline(text: str, *, prefix: str, label: str, colors: Mapping[str, str]) -> str:
    """Make an `<svg>` element for a page from the text of an SVG file.

    Args:
        text: The file.
        prefix: What every id of the picture begins with; unique on the page.
        label: The alternative text.
        colors: Colours of the file -> what the page says instead, such as `currentColor`.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise SvgError(f"not SVG: {error}") from error
    if root.tag != f"{{{_SVG}}}svg":
        raise SvgError(f"expected an <svg> element, got {root.tag}")
    width, height = _size(root)
    _strip(root)
    _rename_ids(root, prefix)
    known = {_normal(source): target for source, target in colors.items()}
    for element in root.iter():
        _restyle(element, known, prefix)
    shrink(root)
    # Its words are told by the label: nobody hears them twice.
    inside = ET.Element("g", {"aria-hidden": "true"})
    inside[:], root[:] = root[:], [inside]
    root.attrib.setdefault("viewBox", f"0 0 {width:g} {height:g}")
    root.attrib.update(
        {
            # Text without a fill is black to SVG, and matplotlib leaves black out.
            "fill": "currentColor",
            "id": prefix,
            "class": "polyglot-figure",
            "role": "img",
            "aria-label": label,
            "width": f"{width:.0f}",
            "height": f"{height:.0f}",
        }
    )
    return ET.tostring(root, encoding="unicode")


def _size(root: ET.Element) -> tuple[float, float]:
    """Give the picture's natural size in pixels."""
    sizes = []
    for side, place in (("width", 2), ("height", 3)):
        match = _LENGTH.fullmatch(root.get(side, "").strip())
        box = root.get("viewBox", "").replace(",", " ").split()
        if match and match[2] in _UNITS:
            sizes.append(float(match[1]) * _UNITS[match[2]])
        elif len(box) == 4:
            sizes.append(float(box[place]))
        else:
            raise SvgError("it has neither width and height nor a viewBox")
    return sizes[0], sizes[1]


def _strip(root: ET.Element) -> None:
    """Drop metadata, scripts, the ground and namespaces: in a page, SVG elements have their plain names."""
    for parent in root.iter():
        for child in list(parent):
            # Matplotlib calls the sheet that it paints on so; the page, or a box on it, is the sheet here.
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}script"} or child.get("id") == "patch_1":
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        element.tail = element.tail if (element.tail or "").strip() else None
        for name in list(element.attrib):
            if name.startswith(f"{{{_XLINK}}}"):
                element.set(name.removeprefix(f"{{{_XLINK}}}"), element.attrib.pop(name))
    root.attrib.pop("version", None)


def _rename_ids(root: ET.Element, prefix: str) -> None:
    """Keep the ids that something refers to, made unique; every other one would only risk a clash."""
    used: set[str] = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            used.update(_REFERENCE.findall(value))
            if name == "href" and value.startswith("#"):
                used.add(value[1:])
    names = {old: f"{prefix}-{number}" for number, old in enumerate(sorted(used), start=1)}
    for element in root.iter():
        if (old := element.attrib.pop("id", None)) in used:
            element.set("id", names[str(old)])
        for name, value in element.attrib.items():
            if name == "href" and value.startswith("#"):
                element.set(name, f"#{names[value[1:]]}")
            elif "url(" in value:
                element.set(name, _REFERENCE.sub(lambda match: f"url(#{names[match[1]]})", value))


def _restyle(element: ET.Element, colors: Mapping[str, str], prefix: str) -> None:
    if element.tag == "style" and element.text:
        # A rule of the picture must not reach the page.
        element.text = re.sub(r"([^{},]+)(?=[,{])", rf"#{prefix} \1", element.text)
    style = _declarations(element.get("style", ""))
    for name in _PAINTED:
        if name in element.attrib and (color := colors.get(_normal(element.attrib[name]))):
            del element.attrib[name]
            style.setdefault(name, color)
        if name in style and (color := colors.get(_normal(style[name]))):
            style[name] = color
    if element.tag in {"text", "tspan"}:
        _use_page_font(style)
    if style:
        element.set("style", ";".join(f"{name}:{value}" for name, value in style.items()))


def _declarations(style: str) -> dict[str, str]:
    pairs = (each.split(":", 1) for each in style.split(";") if ":" in each)
    return {name.strip(): value.strip() for name, value in pairs}


def _use_page_font(style: dict[str, str]) -> None:
    """Let the page's fonts write a picture's text, but for code."""
    if "monospace" in style.get("font-family", "") + style.get("font", ""):
        return
    style.pop("font-family", None)
    if "font" in style:
        style["font-family"] = "inherit"  # after `font`, which sets it


@lru_cache
def _normal(color: str) -> str:
    color = color.strip().lower()
    if re.fullmatch("#[0-9a-f]{3}", color):
        return "#" + "".join(2 * digit for digit in color[1:])
    return color
