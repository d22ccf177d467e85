from __future__ import annotations

from pathlib import Path

import pytest

from tests.polyglot_book.tiny_book import TinyBook


@pytest.fixture
def tiny(tmp_path: Path) -> TinyBook:
    return TinyBook(tmp_path / "book-root")
