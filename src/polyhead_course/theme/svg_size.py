"""Makes SVG elements smaller without a visible change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from xml.etree import ElementTree as ET

_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_NUMERIC = ("d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "points", "transform")
_ZERO_ROTATION = re.compile(r"rotate\(-?0(\.0*)?[\s,)][^)]*\)?")
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_VERTEX = re.compile(r"([ML])(\S+?) ([^\sMLz]+)")
_SEGMENT = re.compile(r"([MLz])(?:([-.\d]+) ([-.\d]+))?")
_UNPAINTED = re.compile(r"fill:none;?")
_UNIVERSAL_RULE = re.compile(r"#[\w-]+ \*\s*\{([^{}]*)\}")  # the only rule in matplotlib's style sheet
_INHERITED = re.compile(r"(?:fill|stroke|font|text-anchor)[\w-]*")
_GROUP_LENGTH = len('<g style=""></g>')


def shrink(root: ET.Element) -> None:
    """Round to hundredths of a pixel, merge paths, share styles, and remove what has no effect."""
    for element in root.iter():
        for name in _NUMERIC:
            if name in element.attrib:
                element.set(name, _rounded(element.attrib[name]))
        if _ZERO_ROTATION.fullmatch(element.get("transform", "")):
            del element.attrib["transform"]
    _flatten(root)
    for parent in list(root.iter()):
        _merge_paths(parent)
    _inherit(root)
    for parent in list(root.iter()):
        if parent.tag != "defs":
            _share_styles(parent)


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
            # A background overlaps everything: it comes first, and is not merged.
            while len(run) > 1 and _covers(_box(run[0]), _box(run[1])):
                children.append(run.pop(0))
            if not _overlap([_box(each) for each in run]):
                run = _merge(run)
            for path in run:
                path.set("d", _relative(path.attrib["d"]))
        children.extend(run)
    parent[:] = children


def _merge(paths: list[ET.Element]) -> list[ET.Element]:
    styles: dict[str, ET.Element] = {}
    for path in paths:
        first = styles.setdefault(path.get("style", ""), path)
        if first is not path:
            first.set("d", first.attrib["d"] + path.attrib["d"])
    return list(styles.values())


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


def _covers(box: _Box, other: _Box) -> bool:
    return box[0] <= other[0] and box[1] <= other[1] and box[2] >= other[2] and box[3] >= other[3]


def _overlap(boxes: list[_Box]) -> bool:
    """Whether any two boxes overlap by more than rounding."""
    boxes = sorted(boxes)
    for number, (_, top, right, bottom) in enumerate(boxes, start=1):
        for other in boxes[number:]:
            if other[0] >= right - 0.02:
                break
            if min(bottom, other[3]) - max(top, other[1]) > 0.02:
                return True
    return False


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


def _inherit(root: ET.Element) -> None:
    """Replace a style sheet's rule for all elements by the style of the root."""
    for parent in list(root.iter()):
        for style in parent.findall("style"):
            if rule := _UNIVERSAL_RULE.fullmatch((style.text or "").strip()):
                root.set("style", re.sub(r"\s*([:;])\s*", r"\1", rule[1].strip()))
                parent.remove(style)
    root[:] = [child for child in root if child.tag != "defs" or len(child)]


def _share_styles(parent: ET.Element) -> None:
    """Move the declarations that neighbours share to a group around them, if that is shorter."""
    children: list[ET.Element] = []
    run: list[ET.Element] = []
    shared: set[str] = set()
    for child in [*parent, None]:
        declarations = set() if child is None else _inheritable(child)
        common = shared & declarations
        if common and _saving(run, shared) <= _saving([*run, child], common):
            run.append(child)
            shared = common
            continue
        children += [_group(run, shared)] if _saving(run, shared) > 0 else run
        run, shared = ([], set()) if child is None else ([child], declarations)
    parent[:] = children


def _saving(run: Sequence[ET.Element | None], shared: set[str]) -> int:
    """Return the number of characters that a group of these elements saves."""
    length = sum(len(each) + 1 for each in shared)
    return (len(run) - 1) * length - _GROUP_LENGTH


def _inheritable(element: ET.Element) -> set[str]:
    declarations = element.get("style", "").split(";")
    return {each for each in declarations if _INHERITED.fullmatch(each.split(":")[0])}


def _group(run: list[ET.Element], shared: set[str]) -> ET.Element:
    group = ET.Element("g", style=";".join(sorted(shared)))
    group.extend(run)
    for element in run:
        rest = [each for each in element.attrib.pop("style").split(";") if each not in shared]
        if rest:
            element.set("style", ";".join(rest))
    return group
