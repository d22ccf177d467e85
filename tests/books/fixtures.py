"""Builds the tiny book once for all tests of the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.building import Built, build, copy

BOOKS = Path(__file__).parent


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A book of two pages in four languages, built; not to be changed."""
    built = build(copy(BOOKS / "four", tmp_path_factory.mktemp("books") / "four"))
    assert built.code == 0, built.log
    return built


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy of the same book for one test, which may change it and build it."""
    return copy(BOOKS / "four", tmp_path / "four")
