"""Builds the tests' books, each once in a run: `four` has no options, `full` has all of the theme's."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from filelock import FileLock

from tests.building import Built, build, copy

BOOKS = Path(__file__).parent


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file, which must have it."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path}: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def built_once(factory: pytest.TempPathFactory, name: str) -> Built:
    """Build a book, or take what another process of this run has built."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    done = shared / f"{name}.pickle"
    with FileLock(shared / f"{name}.lock"):
        if not done.exists():
            built = build(copy(BOOKS / name, shared / "books" / name))
            assert built.code == 0, built.log
            done.write_bytes(pickle.dumps(built))
    found: Built = pickle.loads(done.read_bytes())
    return found


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A book of two pages in four languages, built; not to be changed."""
    return built_once(tmp_path_factory, "four")


@pytest.fixture
def four_copy(tmp_path: Path) -> Path:
    """A copy of the same book, which a test may change and build."""
    return copy(BOOKS / "four", tmp_path / "four")


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A book in two languages with cards, downloads, live figures and API pages; not to be changed."""
    return built_once(tmp_path_factory, "full")
