"""Builds the tests' books, each once in a run: `four` has no options, `full` has all of the theme's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.building import Built, build, copy

BOOKS = Path(__file__).parent


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file, which must have it."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path}: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A book of two pages in four languages, built; not to be changed."""
    built = build(copy(BOOKS / "four", tmp_path_factory.mktemp("books") / "four"))
    assert built.code == 0, built.log
    return built


@pytest.fixture
def four_copy(tmp_path: Path) -> Path:
    """A copy of the same book, which a test may change and build."""
    return copy(BOOKS / "four", tmp_path / "four")


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A book in two languages with cards, downloads, live figures and API pages; not to be changed."""
    built = build(copy(BOOKS / "full", tmp_path_factory.mktemp("books") / "full"))
    assert built.code == 0, built.log
    return built
