"""Turns an SVG file into a small element of a page, with the page's colours, fonts, an accessible name."""

import re
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, groupby
from xml.etree import ElementTree as ET

from polyhead_course.theme.dark import on_dark

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "in": 96.0, "cm": 96 / 2.54, "mm": 96 / 25.4}
_LENGTH = re.compile(r"([0-9.]+)\s*([a-z]*)")
_REFERENCE = re.compile(r"url\(\s*['\"]?#([^'\")]+)['\"]?\s*\)")
_COLOR_PROPERTIES = ("fill", "stroke", "stop-color")
# matplotlib's black and white -> the page's text and background, in light and dark mode.
_COLORS = {"#000000": "currentColor", "#ffffff": "var(--pst-color-background)"}
# What makes an element smaller.
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_NUMERIC = ("d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "points", "transform")
_ZERO_ROTATION = re.compile(r"rotate\(-?0(\.0*)?[\s,)][^)]*\)?")
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_VERTEX = re.compile(r"([ML])(\S+?) ([^\sMLz]+)")
_SEGMENT = re.compile(r"([MLz])(?:([-.\d]+) ([-.\d]+))?")
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
    for element in root.iter():
        _restyle(element, prefix)
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


def _restyle(element: ET.Element, prefix: str) -> None:
    """Replace colours and fonts."""
    if element.tag == "style" and element.text:
        # Without the id in its selector, a rule would apply to the whole page.
        element.text = re.sub(r"([^{},]+)(?=[,{])", rf"#{prefix} \1", element.text)
    style = _declarations(element.get("style", ""))
    for name in _COLOR_PROPERTIES:
        if name in element.attrib:
            style.setdefault(name, element.attrib.pop(name))
        if name in style:
            style[name] = _both_themes(name, style[name])
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


def _both_themes(name: str, color: str) -> str:
    """Return what a property says of a colour; browsers that do not know light-dark() keep the first."""
    light = _canonical(color)
    if light in _COLORS or not re.fullmatch("#[0-9a-f]{6}", light) or (dark := on_dark(light)) == light:
        return _COLORS.get(light, color)
    return f"{light};{name}:light-dark({light},{dark})"


@lru_cache
def _canonical(color: str) -> str:
    """Write a colour in lower case, with six digits."""
    color = color.strip().lower()
    if re.fullmatch("#[0-9a-f]{3}", color):
        return "#" + "".join(2 * digit for digit in color[1:])
    return color


def shrink(root: ET.Element) -> None:
    """Make an element smaller without a visible change.

    Numbers are rounded to hundredths of a pixel, paths merged, and what has no effect is removed.
    """
    for element in root.iter():
        for name in _NUMERIC:
            if name in element.attrib:
                element.set(name, _rounded(element.attrib[name]))
        if _ZERO_ROTATION.fullmatch(element.get("transform", "")):
            del element.attrib["transform"]
    _flatten(root)
    for parent in list(root.iter()):
        _merge_paths(parent)


def _rounded(text: str) -> str:
    short = _NUMBER.sub(lambda match: f"{round(float(match[0]), 2) + 0.0:.7g}", text)
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


def _merge_paths(parent: ET.Element) -> None:
    """Merge neighbouring polygons of the same style that do not overlap."""
    children: list[ET.Element] = []
    for are_polygons, neighbours in groupby(parent, _is_polygon):
        run = list(neighbours)
        if are_polygons:
            if not _overlap([_box(each) for each in run]):
                styles: dict[str, list[ET.Element]] = {}
                for path in run:
                    styles.setdefault(path.get("style", ""), []).append(path)
                for first, *others in styles.values():
                    first.attrib["d"] += "".join(each.attrib["d"] for each in others)
                run = [paths[0] for paths in styles.values()]
            for path in run:
                path.set("d", _relative(path.attrib["d"]))
        children.extend(run)
    parent[:] = children


def _is_polygon(element: ET.Element) -> bool:
    """Whether an element is a path of straight lines, opaque, and without other attributes."""
    return (
        element.tag == "path"
        and element.attrib.keys() <= {"d", "style"}
        and "opacity" not in element.get("style", "")
        and not set(element.get("d", "")) - set("MLz0123456789.- ")
        and "L" in element.get("d", "")
    )


_Box = tuple[float, float, float, float]


def _box(path: ET.Element) -> _Box:
    """Return the left, top, right and bottom of a path."""
    vertices = [(float(x), float(y)) for _, x, y in _VERTEX.findall(path.attrib["d"])]
    xs, ys = zip(*vertices, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _overlap(boxes: list[_Box]) -> bool:
    """Whether any two boxes overlap by more than rounding."""
    return any(
        min(one[2], other[2]) - max(one[0], other[0]) > 0.02
        and min(one[3], other[3]) - max(one[1], other[1]) > 0.02
        for one, other in combinations(boxes, 2)
    )


def _relative(path: str) -> str:
    """Rewrite absolute commands as relative ones, and lines along an axis with one number.

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
        if command == "M":
            start = position
        if command == "L" and not dy:
            commands += f"h{_decimal(dx)}"
        elif command == "L" and not dx:
            commands += f"v{_decimal(dy)}"
        else:
            commands += f"{command.lower()}{_decimal(dx)} {_decimal(dy)}".replace(" -", "-")
    return commands


def _decimal(number: Decimal) -> str:
    """Write a number without the zero before its point."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{number.normalize() + 0:f}")
