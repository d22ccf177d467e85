"""Tests of the attention library."""

from tests.torch_fixtures import in_one_graph, same_start, unchecked

__all__ = ["in_one_graph", "same_start", "unchecked"]
