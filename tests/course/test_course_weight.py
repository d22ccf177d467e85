"""What a first view of a page loads: the page, its style sheet and its scripts, compressed."""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

LIMIT = 75_000  # bytes
LOADED = re.compile(r'<link rel="stylesheet" href="([^"]+)"|<script (?:defer )?src="([^"]+)"')


@cache
def weight(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 9))


def test_no_page_is_heavy(site: Path) -> None:
    heavy = {}
    for page in sorted(site.glob("book/**/*.html")):
        files = {name for pair in LOADED.findall(page.read_text(encoding="utf-8")) for name in pair if name}
        assert any(name.endswith("site.css") for name in files) and len(files) <= 4, page
        # On a phone, what wraps lines besides.
        paths = [page, *((page.parent / name).resolve() for name in files), site / "_static/narrow.js"]
        if (total := sum(map(weight, paths))) > LIMIT:
            heavy[page.relative_to(site).as_posix()] = total
    assert not heavy
