"""What checks the types and shapes of every call while the tests run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beartype import beartype


def typechecked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check a function's calls, unless a function defines it: 2 ms each time, 2,000 times a diagnosis."""
    return function if "<locals>" in function.__qualname__ else beartype(function)
