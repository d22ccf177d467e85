"""Solids."""

from ..areas import area
from .parts import volume
from .prism import prism

__all__ = ["volume", "SIDES", "area", "prism"]

SIDES: dict[str, int] = {
    "solid of the kind number 0": 0, "solid of the kind number 1": 1, "solid of the kind number 2": 2,
    "solid of the kind number 3": 3, "solid of the kind number 4": 4, "solid of the kind number 5": 5,
    "solid of the kind number 6": 6, "solid of the kind number 7": 7, "solid of the kind number 8": 8,
    "solid of the kind number 9": 9, "solid of the kind number 10": 10, "solid of the kind number 11": 11,
    "solid of the kind number 12": 12, "solid of the kind number 13": 13, "solid of the kind number 14": 14,
    "solid of the kind number 15": 15, "solid of the kind number 16": 16, "solid of the kind number 17": 17,
    "solid of the kind number 18": 18, "solid of the kind number 19": 19,
}
'How many sides each has.'
