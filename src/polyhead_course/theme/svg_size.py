"""Makes an SVG picture smaller without changing what it shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from xml.etree import ElementTree as ET

_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_MEASURED = ("d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "points", "transform")
_NO_TURN = re.compile(r"rotate\(-?0(\.0*)?[\s,)][^)]*\)?")
_BETWEEN = re.compile(r"\s*([A-Za-z])\s*")
_CORNER = re.compile(r"([ML])(\S+?) ([^\sMLz]+)")
_STEP = re.compile(r"([MLz])(?:([-.\d]+) ([-.\d]+))?")
_INVISIBLE = re.compile(r"fill:none;?")
_FOR_ALL = re.compile(r"#[\w-]+ \*\s*\{([^{}]*)\}")  # the one rule that matplotlib writes
_INHERITED = re.compile(r"(?:fill|stroke|font|text-anchor)[\w-]*")
_A_GROUP = len('<g style=""></g>')


def shrink(root: ET.Element) -> None:
    """Round numbers to hundredths of a pixel, drop groups that say nothing, join and group by style."""
    for element in root.iter():
        for name in _MEASURED:
            if name in element.attrib:
                element.set(name, _rounded(element.attrib[name]))
        if _NO_TURN.fullmatch(element.get("transform", "")):
            del element.attrib["transform"]
    _flatten(root)
    for parent in list(root.iter()):
        _join_paths(parent)
    _inherit(root)
    for parent in list(root.iter()):
        if parent.tag != "defs":
            _share_styles(parent)


def _rounded(text: str) -> str:
    short = _NUMBER.sub(lambda match: f"{round(float(match[0]), 2) + 0.0:.7g}", text)
    return _BETWEEN.sub(r"\1", " ".join(short.split())) if short[:1] in "Mm" else short


def _flatten(parent: ET.Element) -> None:
    """Replace each group without attributes by what it holds, and drop what is neither filled nor drawn."""
    children: list[ET.Element] = []
    for child in parent:
        _flatten(child)
        if child.tag == "g" and not child.attrib and not (child.tail or "").strip():
            children.extend(child)
        elif child.tag != "path" or not _INVISIBLE.fullmatch(child.get("style", "")):
            children.append(child)
    parent[:] = children


def _join_paths(parent: ET.Element) -> None:
    """Make one path of all in a row that have the same style and do not lie over one another."""
    children: list[ET.Element] = []
    for polygons, run in groupby(parent, _is_polygon):
        row = list(run)
        if polygons:
            # First comes the ground that the others are painted on.
            while len(row) > 1 and _covers(_box(row[0]), _box(row[1])):
                children.append(row.pop(0))
            if _apart([_box(each) for each in row]):
                row = _joined(row)
            for path in row:
                path.set("d", _relative(path.attrib["d"]))
        children.extend(row)
    parent[:] = children


def _joined(paths: list[ET.Element]) -> list[ET.Element]:
    styles: dict[str, ET.Element] = {}
    for path in paths:
        first = styles.setdefault(path.get("style", ""), path)
        if first is not path:
            first.set("d", first.attrib["d"] + path.attrib["d"])
    return list(styles.values())


def _is_polygon(element: ET.Element) -> bool:
    """Whether it is made of straight lines, and has nothing but a style that does not shine through."""
    return (
        element.tag == "path"
        and element.attrib.keys() <= {"d", "style"}
        and "opacity" not in element.get("style", "")
        and not set(element.get("d", "")) - set("MLz0123456789.- ")
        and "L" in element.get("d", "")
    )


_Box = tuple[float, float, float, float]


def _box(path: ET.Element) -> _Box:
    """Left, top, right and bottom."""
    corners = [(float(x), float(y)) for _, x, y in _CORNER.findall(path.attrib["d"])]
    across, down = zip(*corners, strict=True)
    return min(across), min(down), max(across), max(down)


def _covers(box: _Box, other: _Box) -> bool:
    return box[0] <= other[0] and box[1] <= other[1] and box[2] >= other[2] and box[3] >= other[3]


def _apart(boxes: list[_Box]) -> bool:
    """Whether the boxes at most touch."""
    boxes = sorted(boxes)
    for number, (_, top, right, bottom) in enumerate(boxes, start=1):
        for other in boxes[number:]:
            if other[0] >= right - 0.02:
                break
            if min(bottom, other[3]) - max(top, other[1]) > 0.02:
                return False
    return True


def _relative(path: str) -> str:
    """Say each corner by its way from the one before, and lines along an axis by one number."""
    here = home = (Decimal(0), Decimal(0))
    said = ""
    for command, x, y in _STEP.findall(path):
        if command == "z":
            said, here = f"{said}z", home
            continue
        across, down = Decimal(x) - here[0], Decimal(y) - here[1]
        here = (Decimal(x), Decimal(y))
        if command == "M":
            home = here
        if command == "L" and not down:
            said += f"h{_short(across)}"
        elif command == "L" and not across:
            said += f"v{_short(down)}"
        else:
            said += f"{command.lower()}{_short(across)} {_short(down)}".replace(" -", "-")
    return said


def _short(number: Decimal) -> str:
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{number.normalize() + 0:f}")


def _inherit(root: ET.Element) -> None:
    """Say on the picture itself what a rule says of everything in it."""
    for parent in list(root.iter()):
        for style in parent.findall("style"):
            if found := _FOR_ALL.fullmatch((style.text or "").strip()):
                root.set("style", re.sub(r"\s*([:;])\s*", r"\1", found[1].strip()))
                parent.remove(style)
    root[:] = [child for child in root if child.tag != "defs" or len(child)]


def _share_styles(parent: ET.Element) -> None:
    """Put neighbours into a group that says what all of their styles say, where that is shorter."""
    children: list[ET.Element] = []
    run: list[ET.Element] = []
    shared: set[str] = set()
    for child in [*parent, None]:
        own = set() if child is None else _inheritable(child)
        if shared & own and _saved(run, shared) <= _saved([*run, child], shared & own):
            run.append(child)
            shared &= own
            continue
        children += [_group(run, shared)] if _saved(run, shared) > 0 else run
        run, shared = ([], set()) if child is None else ([child], own)
    parent[:] = children


def _saved(run: Sequence[ET.Element | None], shared: set[str]) -> int:
    """How many characters a group for these elements saves."""
    length = sum(len(each) + 1 for each in shared)
    return (len(run) - 1) * length - _A_GROUP


def _inheritable(element: ET.Element) -> set[str]:
    declarations = element.get("style", "").split(";")
    return {each for each in declarations if _INHERITED.fullmatch(each.split(":")[0])}


def _group(run: list[ET.Element], shared: set[str]) -> ET.Element:
    group = ET.Element("g", style=";".join(sorted(shared)))
    group.extend(run)
    for element in run:
        left = [each for each in element.attrib.pop("style").split(";") if each not in shared]
        if left:
            element.set("style", ";".join(left))
    return group
