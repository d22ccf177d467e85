"""Tests of the experiments: they begin in English."""

from __future__ import annotations

from tests.polyhead_course.conftest import english
from tests.torch_fixtures import same_start, unchecked

__all__ = ["english", "same_start", "unchecked"]
