"""Tests of the benchmarks."""

from tests.torch_fixtures import unchecked

__all__ = ["unchecked"]
