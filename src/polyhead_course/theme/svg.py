"""Turns an SVG file into a small element of a page, with an accessible name.

It has the page's font, and the page's style sheet gives it the page's colours.
"""

import re
from decimal import Decimal
from xml.etree import ElementTree as ET

from polyhead_course.theme.dark import on_dark

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_LENGTH = re.compile(r"([0-9.]+)(px|pt)?")
_REFERENCE = re.compile(r"url\(\s*['\"]?#([^'\")]+)['\"]?\s*\)")
# What an element of a page does not have; the page's style sheet has the two rules of matplotlib's.
_LEFT_OUT = {f"{{{_SVG}}}{name}" for name in ("metadata", "script", "style")}
# What makes an element smaller.
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_NUMERIC = {"d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "points", "transform"}
_ZERO_ROTATION = re.compile(r"rotate\(-?0(\.0*)?[\s,)][^)]*\)?")
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_SEGMENT = re.compile(r"([MLz])(?:([-.\d]+) ([-.\d]+))?")
# A path of straight lines; one that ends where it likes, such as a curve of many steps.
_STRAIGHT, _OPEN = re.compile(r"[-MLz. \d]*L[-MLz. \d]*"), re.compile(r"[-MLe.\s\d]*L[-MLe.\s\d]*")
# Without it the page's font applies; code keeps its own.
_FONT = re.compile(r"font-family:(?![^;]*monospace)[^;]*;?")
# Black and white are left to the page's style sheet.
_COLOR = re.compile(r"(fill|stroke):(?!#000000|#ffffff)(#[0-9a-f]{6})")
_UNPAINTED = re.compile(r"fill:none;?")


class SvgError(ValueError):
    """An SVG file that cannot be inlined in a page."""


def inline(text: str, *, prefix: str, label: str) -> str:
    """Return an `<svg>` element for a page.

    Args:
        text: The content of an SVG file.
        prefix: The prefix of every id in the element; unique on the page.
        label: The alternative text.

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
    for side in ("width", "height"):
        match = _LENGTH.fullmatch(root.get(side, ""))
        if match is None:
            raise SvgError(f"expected a {side} in pixels or points")
        sizes.append(float(match[1]) * (4 / 3 if match[2] == "pt" else 1))
    return sizes[0], sizes[1]


def _strip(root: ET.Element) -> None:
    """Remove the background and namespaces, and what an element of a page does not have."""
    for parent in root.iter():
        for child in list(parent):
            # matplotlib's id for the figure's background, which would cover that of the page.
            if child.tag in _LEFT_OUT or child.get("id") == "patch_1":
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


def shrink(root: ET.Element) -> None:
    """Make an element smaller without a visible change.

    Numbers are rounded to hundredths of a pixel, places of points, words and curves to tenths, and what has
    no effect is removed.
    """
    for element in root.iter():
        digits = 1 if element.tag in ("use", "text") or _OPEN.fullmatch(element.get("d", "")) else 2
        for name in element.attrib.keys() & _NUMERIC:
            element.set(name, _rounded(element.attrib[name], digits))
        if style := element.get("style"):
            style = _FONT.sub("", re.sub(r"\s*([:;])\s*", r"\1", style))
            element.set("style", _COLOR.sub(_both_themes, style))
        if _ZERO_ROTATION.fullmatch(element.get("transform", "")):
            del element.attrib["transform"]
    _flatten(root)
    for element in root.iter("path"):
        if _STRAIGHT.fullmatch(element.get("d", "")):
            element.set("d", _relative(element.attrib["d"]))


def _both_themes(match: re.Match[str]) -> str:
    """Add the colour of a dark page; browsers that do not know light-dark() keep the first."""
    same, name, light = match[0], match[1], match[2]
    return same if on_dark(light) == light else f"{same};{name}:light-dark({light},{on_dark(light)})"


def _rounded(text: str, digits: int) -> str:
    short = _NUMBER.sub(lambda match: f"{round(float(match[0]), digits) + 0.0:.7g}", text)
    return _COMMAND.sub(r"\1", " ".join(short.split())) if short[:1] in "Mm" else short


def _flatten(parent: ET.Element) -> None:
    """Replace groups without attributes by their children, and remove paths without fill and stroke."""
    children: list[ET.Element] = []
    for child in parent:
        _flatten(child)
        if child.tag == "g" and not child.attrib and not (child.tail or "").strip():
            children.extend(child)
        elif child.tag != "path" or not _UNPAINTED.fullmatch(child.get("style", "")):
            children.append(child)
    parent[:] = children


def _relative(path: str) -> str:
    """Rewrite absolute commands as relative ones.

    The numbers are decimal, since rounding errors of relative steps would add up.
    """
    position = start = (Decimal(0), Decimal(0))
    commands = ""
    for command, x, y in _SEGMENT.findall(path):
        if command == "z":
            commands, position = f"{commands}z", start
            continue
        dx, dy = Decimal(x) - position[0], Decimal(y) - position[1]
        position = (Decimal(x), Decimal(y))
        start = position if command == "M" else start
        commands += f"{command.lower()}{_decimal(dx)} {_decimal(dy)}".replace(" -", "-")
    return commands


def _decimal(number: Decimal) -> str:
    """Write a number without the zero before its point."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{number.normalize() + 0:f}")
