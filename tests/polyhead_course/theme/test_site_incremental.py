"""A second build does what has changed, and no less; a large one runs in several processes."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polyhead_course.theme import internals
from tests.books.fixtures import BOOKS, edit
from tests.building import Built, build, copy
from tests.pages import broken_links, value


def contents(built: Built, pattern: str) -> dict[str, bytes]:
    """Return the content of each of these files of the site."""
    return {str(path.relative_to(built.html)): path.read_bytes() for path in built.html.glob(pattern)}


def test_incremental_builds(tmp_path: Path) -> None:
    root = copy(BOOKS / "full", tmp_path / "full")
    korean, english = root / "book/ko/02-names.ipynb", root / "book/en/02-names.ipynb"
    first = build(root)
    assert first.code == 0, first.log
    sheet = first.html / "_static/site.css"
    style, indexes = sheet.read_text("utf-8"), contents(first, "search/*.json")
    unchanged = build(root)
    assert (unchanged.code, unchanged.read(), unchanged.written()) == (0, set(), set())
    environment = next((root / "_build").rglob("environment.pickle"))
    assert not pickle.loads(environment.read_bytes()).config.numfig  # which would read all pages each time

    # A sentence: of a page, and of a docstring.
    edit(korean, "이름을 적습니다.", "이름을 씁니다.")
    edit(root / "shapes/areas.py", "Half of it", "A half")
    text = build(root)
    assert text.read() == {"book/ko/02-names", "book/api", "book/api-more"}
    assert not {"book/ko/01-masks", "book/en/02-names"} & text.written()
    assert text.page("book/api").css_first('[id="shapes.areas.halved"] p').text() == "A half."
    assert sheet.read_text("utf-8") == style
    # The API pages are found from every language: their index is `none`.
    changed = {path for path, index in contents(text, "search/*.json").items() if indexes[path] != index}
    assert changed == {"search/ko.json", "search/none.json"}

    # A title, which is in the sidebars of its language; a style that no page had; an exercise, which the page
    # where a reader chooses a language counts.
    edit(english, "# 2. Names", "# 2. Public names")
    edit(korean, "# 2. 이름", r"# 2. 여러 이름\n\n:::{danger}\n!\n:::")
    edit(root / "book/ko/01-masks.ipynb", r"exercise\n왜 그렇지", r"note\n왜 그렇지")
    titles = build(root)
    assert titles.code == 0, titles.log
    assert titles.read() == {"book/ko/01-masks", "book/ko/02-names", "book/en/02-names"}
    assert {"book/ko/index", "book/en/01-masks", "book/index"} <= titles.written()
    assert "2. 여러 이름" in titles.page("book/ko/01-masks").css_first("nav.bd-docs-nav").text()
    assert ("admonition.danger" in style, "admonition.danger" in sheet.read_text("utf-8")) == (False, True)
    assert "연습 문제 1개" in titles.page("book/index").css(".polyglot-card-facts")[1].text()

    # A new page, and a name that no longer exists.
    (root / "book/ko/03-only.ipynb").write_bytes((root / "book/ko/01-masks.ipynb").read_bytes())
    edit(root / "_toc.yml", "ko/02-names\n", "ko/02-names\n  - file: book/ko/03-only\n")
    edit(root / "shapes/kinds.py", "Corner", "Vertex")
    added = build(root)
    assert added.read() == {"book/ko/03-only", "book/ko/index", "book/api", "book/api-more"}
    assert "Corner" not in [each.text() for each in added.page("book/ko/02-names").css("article p a")]
    assert [each for each in broken_links(added.html) if not re.search("/(pdf|handouts)/", each)] == []

    # Its counterpart, and without it again.
    page = root / "book/en/03-only.ipynb"
    page.write_bytes((root / "book/en/01-masks.ipynb").read_bytes())
    edit(root / "_toc.yml", "en/02-names\n", "en/02-names\n  - file: book/en/03-only\n")
    link = build(root).page("book/ko/03-only").css_first('.polyglot-switcher a[lang="en"]')
    assert value(link, "href") == "../en/03-only.html"
    page.unlink()
    edit(root / "_toc.yml", "  - file: book/en/03-only\n", "")
    gone = build(root)
    assert not (gone.html / "book/en/03-only.html").exists()
    assert (gone.html / "book/ko/03-only.html").exists()

    # The template and the style of a live figure.
    (root / "scripts" / "counter.html").write_text("<button>new</button>", encoding="utf-8")
    css = ".polyglot-live button { color: red } html[lang] .gone, html[lang] button { top: 0 }"
    (root / "scripts" / "counter.css").write_text(css, encoding="utf-8")
    figure = build(root)
    assert figure.read() == {"book/en/02-names", "book/ko/02-names"}
    assert figure.page("book/en/02-names").css_first(".polyglot-live-body").text() == "new"
    html = (figure.html / "book/en/02-names.html").read_text(encoding="utf-8")
    assert "<style>.polyglot-live button{color:red}html[lang] button{top:0}</style>" in html


@pytest.mark.parametrize(("processors", "pages", "processes"), [(2, 60, 3), (2, 20, 1), (1, 60, 1)])
def test_many_pages_are_built_in_several_processes(
    monkeypatch: pytest.MonkeyPatch, processors: int, pages: int, processes: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    app = cast(Any, SimpleNamespace(parallel=1, extensions={}))
    internals.use_all_processors(app, cast(Any, None), ["page"] * pages)
    assert app.parallel == processes


PARALLEL = """
import os
from polyhead_course.theme import internals
internals._MANY = 1
os.sched_getaffinity = lambda _: {0, 1}
from sphinx.util.parallel import ParallelTasks
add_task = ParallelTasks.add_task
ParallelTasks.add_task = lambda self, *arguments: print("a task") or add_task(self, *arguments)
from jupyter_book.cli.main import main
main(["build", ".", "-W", "--keep-going", "-n"])
"""


def test_pages_from_several_processes_are_the_same(four_copy: Path, four: Built) -> None:
    done = subprocess.run([sys.executable, "-c", PARALLEL], cwd=four_copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("a task") > 2
    one, several = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in (four.html, four_copy / "_build/html")
    )
    assert several.keys() == one.keys()
    assert any(path.parent.name == "_images" for path in one)
    for path, content in one.items():
        # The inventory contains the name of its folder.
        if path.name != "objects.inv":
            assert several[path] == content, path
