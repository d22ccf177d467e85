"""Turns an SVG file into an element of a page, with the page's colours and fonts and an accessible name."""

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
_COLOR_PROPERTIES = ("fill", "stroke", "stop-color")
# matplotlib's black and white -> the page's text and background, in light and dark mode.
_COLORS = {"#000000": "currentColor", "#ffffff": "var(--pst-color-background)"}


class SvgError(ValueError):
    """An SVG file that cannot be inlined in a page."""


def inline(text: str, *, prefix: str, label: str, colors: Mapping[str, str] = _COLORS) -> str:
    """Return an `<svg>` element for a page.

    Args:
        text: The content of an SVG file.
        prefix: The prefix of every id in the element; unique on the page.
        label: The alternative text.
        colors: Replacements for colours of the file, such as "currentColor" for "#000000".

    Raises:
        SvgError: The text is not an SVG file, or has no size.
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
    replacements = {_canonical(color): replacement for color, replacement in colors.items()}
    for element in root.iter():
        _restyle(element, replacements, prefix)
    shrink(root)
    # A screen reader reads the label, and must not read the words of the figure as well.
    hidden = ET.Element("g", {"aria-hidden": "true"})
    hidden[:], root[:] = root[:], [hidden]
    root.attrib.setdefault("viewBox", f"0 0 {width:g} {height:g}")
    root.attrib.update(
        {
            # SVG's default fill is black, and matplotlib does not write the default.
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
    """Return the width and height in pixels."""
    sizes = []
    for side, index in (("width", 2), ("height", 3)):
        match = _LENGTH.fullmatch(root.get(side, "").strip())
        box = root.get("viewBox", "").replace(",", " ").split()
        if match and match[2] in _UNITS:
            sizes.append(float(match[1]) * _UNITS[match[2]])
        elif len(box) == 4:
            sizes.append(float(box[index]))
        else:
            raise SvgError("expected width and height, or a viewBox")
    return sizes[0], sizes[1]


def _strip(root: ET.Element) -> None:
    """Remove metadata, scripts, the background and namespaces, which elements of a page do not have."""
    for parent in root.iter():
        for child in list(parent):
            # matplotlib's id for the figure's background, which would cover that of the page.
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
    """Make the ids that are referred to unique on the page, and remove the others."""
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
    """Replace colours and fonts."""
    if element.tag == "style" and element.text:
        # Without the id in its selector, a rule would apply to the whole page.
        element.text = re.sub(r"([^{},]+)(?=[,{])", rf"#{prefix} \1", element.text)
    style = _declarations(element.get("style", ""))
    for name in _COLOR_PROPERTIES:
        if name in element.attrib and (color := colors.get(_canonical(element.attrib[name]))):
            del element.attrib[name]
            style.setdefault(name, color)
        if name in style and (color := colors.get(_canonical(style[name]))):
            style[name] = color
    if element.tag in {"text", "tspan"}:
        _use_page_font(style)
    if style:
        element.set("style", ";".join(f"{name}:{value}" for name, value in style.items()))


def _declarations(style: str) -> dict[str, str]:
    pairs = (each.split(":", 1) for each in style.split(";") if ":" in each)
    return {name.strip(): value.strip() for name, value in pairs}


def _use_page_font(style: dict[str, str]) -> None:
    """Remove the font family, so that the page's applies; code keeps its own."""
    if "monospace" in style.get("font-family", "") + style.get("font", ""):
        return
    style.pop("font-family", None)
    if "font" in style:
        style["font-family"] = "inherit"  # behind `font`, which also sets the family


@lru_cache
def _canonical(color: str) -> str:
    """Write a colour in lower case, with six digits."""
    color = color.strip().lower()
    if re.fullmatch("#[0-9a-f]{3}", color):
        return "#" + "".join(2 * digit for digit in color[1:])
    return color
