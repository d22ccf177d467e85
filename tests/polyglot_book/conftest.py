from __future__ import annotations

from pathlib import Path

import pytest

from polyglot_book import execution
from tests.polyglot_book.kernels import Kernels
from tests.polyglot_book.tiny_book import TinyBook


@pytest.fixture
def tiny(tmp_path: Path) -> TinyBook:
    return TinyBook(tmp_path / "book-root")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    kernels = Kernels()
    monkeypatch.setattr(execution, "execute", kernels.run)
    return kernels
