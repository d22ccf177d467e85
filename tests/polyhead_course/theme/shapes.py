"""A small package for tests: names that are exported or not, found in several ways."""

from __future__ import annotations

from pathlib import Path

SOURCES = {
    "__init__.py": '''
"""Shapes and their sizes."""

from shapes.areas import area
from shapes.other import late

__all__ = ["area", "late"]
''',
    "other.py": '''
def late():
    """Late."""
''',
    "areas.py": '''
"""Areas of `shapes`."""

from __future__ import annotations

@checked
def area(sides: Float[Tensor, "batch two"], *, scale: float = 1.5) -> float:
    """Scale times a · b; `sides` are those of a `Square`, see `halved` and https://example.org/areas.

    Args:
        sides: a and b.
        scale: a factor.

    Source: Euclid, book I.

    >>> area([3, 5])
    22.5
    """

def halved(
    first: Float[Tensor, "*batch a_long_name"], /, second: str = "no", *rest: int, **options: bool,
) -> Float[Tensor, "*batch a_long_name"]:
    """Half of it.

    - `a`
    - *b*,
      c

    As code:

        half = 0.5

    Example:
        See https://example.org/a_(b):

        >>> halved(4, scale=2)  # doctest: +SKIP
        4.0
        >>> halved(2)
        1.0

        Then more.

    Examples:
        >>> halved(6)
        3.0

    Returns:
        What comes.

        And: more.

    Raises:
        ValueError: a
            is negative.
    """

def rounded(x):
    """Not exported."""

def _secret(x):
    """Not public."""
''',
    "kinds.py": '''
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
''',
    "solids/__init__.py": '''
"""Solids."""

from ..areas import area
from .parts import volume
from .prism import prism

__all__ = ["volume", "SIDES", "area", "prism"]

SIDES: dict[str, int] = {'''
    + ", ".join(f'"solid of the kind number {number}": {number}' for number in range(20))
    + """}
'How many sides each has.'
""",
    "solids/prism.py": '''
def prism(base: Shape) -> Solid:
    """Extrude a shape.

    Source: Euclid,
        book XI.

    >>> prism(base)
    """
''',
    "solids/parts.py": '''
def volume(side):
    """A cube's."""

def edge(volume):
    """The other way."""
''',
}


def write_shapes(root: Path) -> Path:
    """Write the package below a folder, and give its own."""
    for name, text in SOURCES.items():
        path = root / "shapes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip(), encoding="utf-8")
    return root / "shapes"
