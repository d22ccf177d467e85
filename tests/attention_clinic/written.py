"""Runs what `Diagnosis.as_test` writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def written_tests(text: str, **names: Any) -> list[Callable[[], None]]:
    """Give the tests of a file, executed with these names."""
    exec(text, names)
    return [each for name, each in names.items() if name.startswith("test_")]
