"""Kinds of shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple


class Shape:
    """A shape."""

    def __init__(self, name):
        """Name it."""

    @property
    def sides(self) -> int:
        """How many."""

    @classmethod
    def make(cls, name) -> Shape:
        """Make one, as `area` wants it."""

    @staticmethod
    def of(name, /):
        """Make another."""

    def undocumented(self):
        pass

class Square(Shape):
    """Four sides."""

    def grown(self, by: int) -> Shape:
        """A larger one."""

    def _hidden(self):
        """Not public."""

@dataclass(frozen=True)
class Corner:
    """A corner.

    Attributes:
        x: to the right
    """

    count: ClassVar[int] = 0
    x: int
    y: int = 3
    tags: list = field(default_factory=list)
    sum: int = field(init=False)

class Line(NamedTuple):
    """A line."""

    start: Corner
    width: float = 1.0

    @property
    def length(self) -> float:
        """How long it is."""
