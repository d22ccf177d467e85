"""A second build does what has changed, and no less."""

from __future__ import annotations

from pathlib import Path

from tests.building import Built, build


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_incremental_builds(fresh: Built) -> None:
    unchanged = build(fresh.root)
    assert (unchanged.code, unchanged.read(), unchanged.written()) == (0, set(), set())

    _edit(fresh.root / "book/ko/02-heads.ipynb", "알려 줍니다.", "말해 줍니다.")
    paragraph = build(fresh.root)
    assert paragraph.read() == {"book/ko/02-heads"}
    assert "book/ko/01-masks" not in paragraph.written()

    _edit(fresh.root / "book/ko/02-heads.ipynb", "# 2. 헤드", "# 2. 여러 헤드")
    title = build(fresh.root)
    assert title.read() == {"book/ko/02-heads"}
    assert {"book/ko/01-masks", "book/ko/index"} <= title.written()
    assert "book/zh-CN/01-masks" not in title.written()
    assert "2. 여러 헤드" in title.page("book/ko/01-masks").select_one("nav.bd-docs-nav").get_text()

    (fresh.root / "book/ko/03-only.ipynb").write_bytes((fresh.root / "book/en/03-only.ipynb").read_bytes())
    _edit(
        fresh.root / "_toc.yml",
        "  - file: book/ko/02-heads\n",
        "  - file: book/ko/02-heads\n  - file: book/ko/03-only\n",
    )
    added = build(fresh.root)
    switcher = {
        each["lang"]: each["href"] for each in added.page("book/en/03-only").select(".polyglot-switcher a")
    }
    assert switcher["ko"] == "../ko/03-only.html"

    (fresh.root / "book/ko/03-only.ipynb").unlink()
    _edit(fresh.root / "_toc.yml", "  - file: book/ko/03-only\n", "")
    gone = build(fresh.root)
    assert not (gone.html / "book/ko/03-only.html").exists()
    assert (gone.html / "book/en/03-only.html").exists()
