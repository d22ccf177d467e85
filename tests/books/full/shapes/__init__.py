"""Shapes and their sizes."""

from shapes.areas import area
from shapes.other import late

__all__ = ["area", "late"]
