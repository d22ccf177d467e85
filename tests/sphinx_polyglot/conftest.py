"""Tests that build books."""

from tests.books.fixtures import four, fresh

__all__ = ["four", "fresh"]
