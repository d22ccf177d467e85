"""Figures that a script brings to life: a module of the book's own, and the page without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sphinx.errors import ExtensionError

from polyhead_course.theme.live import copy_folder, live_figure
from tests.books.fixtures import BOOKS, copy_full
from tests.browser import Browser, serve, visit
from tests.building import Built, build

DATA = {"kind": "counter", "begin": 3, "word": "</script><b>"}


def test_data_cannot_end_the_script_that_holds_them() -> None:
    page = live_figure("<svg/>", DATA, BOOKS / "full" / "scripts")
    assert page.startswith('<div class="polyglot-live" data-live="counter"')
    assert "&lt;/script&gt;&lt;b&gt; 3</button>" in page
    text = page.split('<script type="application/json">')[1].split("</script>")[0]
    assert json.loads(text) == DATA


def test_a_file_that_a_module_asks_for_is_copied_to_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "source" / "scripts").mkdir(parents=True)
    (tmp_path / "source" / "numbers").mkdir()
    (tmp_path / "source" / "numbers" / "of.bin").write_bytes(b"\0\1\2")
    (tmp_path / "source" / "numbers" / "unasked.bin").write_bytes(b"")
    module = tmp_path / "source" / "scripts" / "counter.js"
    module.write_text('await fetch(new URL("../numbers/of.bin", import.meta.url));', encoding="utf-8")
    target = tmp_path / "site" / "live"
    copy_folder(module.parent, target, target.parent)
    files = sorted(str(path.relative_to(tmp_path / "site")) for path in target.parent.rglob("*.*"))
    assert files == ["live/counter.js", "numbers/of.bin"]
    assert (target.parent / "numbers" / "of.bin").read_bytes() == b"\0\1\2"


@pytest.mark.parametrize("name", ["../numbers/none.bin", "../../outside.bin"])
def test_a_module_may_ask_only_for_a_file_that_is_there_and_lies_beside_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "source" / "scripts").mkdir(parents=True)
    (tmp_path / "outside.bin").write_bytes(b"")
    module = tmp_path / "source" / "scripts" / "counter.js"
    module.write_text(f"fetch(new URL('{name}', import.meta.url))", encoding="utf-8")
    with pytest.raises(ExtensionError, match=r"counter\.js loads .*bin, which is no file beside"):
        copy_folder(module.parent, tmp_path / "site" / "live", tmp_path / "site")


def test_a_figure_lives_where_its_module_can_be_loaded(full: Built, window: Browser) -> None:
    assert len(full.page("book/en/02-names").css("[data-live]")) == 1
    assert [path.name for path in (full.html / "_static/figures/live").iterdir()] == ["counter.js"]
    with serve(full.html) as base, visit(window, base) as seen:
        seen.page.goto("/book/en/02-names.html#counter~n=7")
        seen.page.wait_for_selector(".polyglot-live-on")
        button = seen.page.locator(".polyglot-live-body button")
        assert button.inner_text() == "</script><b> 7"
        button.click()
        seen.page.wait_for_url("**/02-names.html#counter~n=8")
        seen.page.evaluate("location.hash = 'counter'")
        expect(button).to_have_text("</script><b> 3")
        assert not seen.page.locator(".polyglot-live > svg").is_visible()
        assert seen.problems() == []
        # Without its module the figure stays as it is.
        seen.page.route("**/live/counter.js", lambda route: route.abort())
        seen.page.reload()
        seen.page.wait_for_selector(".polyglot-live-off")
        assert seen.page.locator(".polyglot-live > svg").is_visible()


def test_a_template_that_changes_makes_its_page_and_the_style_sheet_anew(tmp_path: Path) -> None:
    root = copy_full(tmp_path / "full")
    build(root)
    (root / "scripts" / "counter.html").write_text("<button>new</button>", encoding="utf-8")
    (root / "scripts" / "counter.css").write_text(".polyglot-live button { color: red }", encoding="utf-8")
    built = build(root)
    assert built.read() == {"book/en/02-names"}
    assert built.page("book/en/02-names").css_first(".polyglot-live-body").text() == "new"
    assert "button{color:red}" in (built.html / "_static" / "site.css").read_text(encoding="utf-8")
