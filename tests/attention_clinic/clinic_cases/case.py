"""A candidate for the clinic, and what it must say: written as other people would, without a look at it.

`@wrong("unscaled", kind="attention")` stands on a function that is handed over as it is; with `made=True` it
stands on what makes the candidate: a module is new in each test, and no import pays for it. "a|b" is one bug
that goes by either name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CASES: list[Case] = []


@dataclass(frozen=True)
class Case:
    """One candidate; `names` are the bugs it has, `also` what may be said beside them and is true as well."""

    title: str
    kind: str
    names: frozenset[str]
    candidate: Callable[[], Any] = field(repr=False)
    also: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.kind}-{self.title}"


def wrong(*names: str, kind: str, made: bool = False, also: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """This candidate has these bugs, each to be named, and no others."""

    def keep(function: Any) -> Any:
        candidate = function if made else lambda: function
        CASES.append(Case(_title(function), kind, frozenset(names), candidate, frozenset(also)))
        return function

    return keep


def right(kind: str, made: bool = False, also: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """This candidate is healthy; `also`: what may be remarked on it."""
    return wrong(kind=kind, made=made, also=also)


def _title(function: Any) -> str:
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    return getattr(function, "__name__", type(function).__name__).strip("_")
