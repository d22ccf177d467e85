"""Tests of what the course alone needs: they begin in English."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyhead_course.words import set_language
from tests.torch_fixtures import in_one_graph, same_start, unchecked

__all__ = ["in_one_graph", "same_start", "unchecked"]


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """English before and after each test."""
    set_language("en")
    yield
    set_language("en")
