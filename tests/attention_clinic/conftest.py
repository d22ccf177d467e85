"""What the clinic's tests start from."""

from __future__ import annotations

from tests.torch_fixtures import in_one_graph, same_start, unchecked

__all__ = ["in_one_graph", "same_start", "unchecked"]
