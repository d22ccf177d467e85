"""A second build does what has changed, and no less; a large one is shared out, with the same pages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sphinx_polyglot import private
from tests.building import Built, build


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_incremental_builds(fresh: Path) -> None:
    first = build(fresh)
    assert first.code == 0, first.log
    sheet = first.html / "_static/site.css"
    style = sheet.read_text(encoding="utf-8")
    unchanged = build(fresh)
    assert (unchanged.code, unchanged.read(), unchanged.written()) == (0, set(), set())

    _edit(fresh / "book/ko/02-heads.ipynb", "알려 줍니다.", "말해 줍니다.")
    paragraph = build(fresh)
    assert paragraph.read() == {"book/ko/02-heads"}
    assert "book/ko/01-masks" not in paragraph.written()
    assert sheet.read_text(encoding="utf-8") == style

    _edit(fresh / "book/ko/02-heads.ipynb", "# 2. 헤드", r"# 2. 여러 헤드\n\n:::{danger}\n!\n:::")
    title = build(fresh)
    assert title.read() == {"book/ko/02-heads"}
    assert {"book/ko/01-masks", "book/ko/index"} <= title.written()
    assert "book/zh-CN/01-masks" not in title.written()
    # What had no rule before, since no page used it.
    assert ("admonition.danger" in style, "admonition.danger" in sheet.read_text()) == (False, True)
    assert "2. 여러 헤드" in title.page("book/ko/01-masks").css_first("nav.bd-docs-nav").text()

    (fresh / "book/ko/03-only.ipynb").write_bytes((fresh / "book/en/03-only.ipynb").read_bytes())
    _edit(
        fresh / "_toc.yml",
        "  - file: book/ko/02-heads\n",
        "  - file: book/ko/02-heads\n  - file: book/ko/03-only\n",
    )
    added = build(fresh)
    links = [each.attributes for each in added.page("book/en/03-only").css(".polyglot-switcher a")]
    switcher = {each["lang"]: each["href"] for each in links}
    assert switcher["ko"] == "../ko/03-only.html"

    (fresh / "book/ko/03-only.ipynb").unlink()
    _edit(fresh / "_toc.yml", "  - file: book/ko/03-only\n", "")
    gone = build(fresh)
    assert not (gone.html / "book/ko/03-only.html").exists()
    assert (gone.html / "book/en/03-only.html").exists()


@pytest.mark.parametrize(("processors", "pages", "processes"), [(2, 60, 3), (2, 20, 1), (1, 60, 1)])
def test_many_pages_are_shared_out(
    monkeypatch: pytest.MonkeyPatch, processors: int, pages: int, processes: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    app = cast(Any, SimpleNamespace(parallel=1, extensions={}))
    private.share_the_work(app, cast(Any, None), ["page"] * pages)
    assert app.parallel == processes


SIDE_BY_SIDE = """
import os
from sphinx_polyglot import private
private._MANY = 1
os.sched_getaffinity = lambda _: {0, 1}
from jupyter_book.cli.main import main
main(["build", ".", "-W", "--keep-going", "-n"])
"""


def test_pages_written_side_by_side_are_the_same(fresh: Path, four: Built) -> None:
    done = subprocess.run([sys.executable, "-c", SIDE_BY_SIDE], cwd=fresh, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    html = fresh / "_build/html"
    alone, together = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in (four.html, html)
    )
    assert together.keys() == alone.keys()
    assert any(path.parent.name == "_images" for path in alone)
    for path, content in alone.items():
        # Pagefind packs its files anew each time; the inventory names its own folder.
        if path.parts[0] != "pagefind" and path.name != "objects.inv":
            assert together[path] == content, path
