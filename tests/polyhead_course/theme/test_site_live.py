"""Figures that a script brings to life: a module of the book's own, and the page without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sphinx.errors import ExtensionError

from polyhead_course.theme.figures import copy_modules, live_figure
from tests.books.fixtures import BOOKS
from tests.browser import Browser, serve, visit
from tests.building import Built

DATA = {"kind": "counter", "begin": 3, "word": "</script><b>"}


def test_data_cannot_end_the_script_that_holds_them() -> None:
    page = live_figure("<svg/>", DATA, BOOKS / "full" / "scripts")
    assert page.startswith('<div class="polyglot-live" data-live="counter"')
    assert "&lt;/script&gt;&lt;b&gt; 3</button>" in page
    text = page.split('<script type="application/json">')[1].split("</script>")[0]
    assert json.loads(text) == DATA


def copied(tmp_path: Path, name: str) -> list[str]:
    """Give the files of a site whose one module loads this file."""
    for path in ("source/figures/numbers/of.bin", "source/figures/numbers/unasked.bin", "outside.bin"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"\0\1\2")
    (tmp_path / "source/figures/live").mkdir()
    (tmp_path / "source/figures/live/counter.js").write_text(f"fetch(new URL('{name}', import.meta.url))")
    site = tmp_path / "site"
    copy_modules(tmp_path / "source/figures/live", site)
    assert (site / "figures/numbers/of.bin").read_bytes() == b"\0\1\2"
    return sorted(str(path.relative_to(site)) for path in site.rglob("*.*"))


def test_a_file_that_a_module_asks_for_is_copied_to_the_same_place(tmp_path: Path) -> None:
    assert copied(tmp_path, "../numbers/of.bin") == ["figures/live/counter.js", "figures/numbers/of.bin"]


def test_a_module_may_ask_for_a_folder(tmp_path: Path) -> None:
    files = ["figures/live/counter.js", "figures/numbers/of.bin", "figures/numbers/unasked.bin"]
    assert copied(tmp_path, "../numbers/") == files


@pytest.mark.parametrize("name", ["../numbers/none.bin", "../../../outside.bin"])
def test_a_module_may_ask_only_for_a_file_that_is_there_and_lies_beside_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExtensionError, match=r"counter\.js loads .*bin, which is no file beside"):
        copied(tmp_path, name)


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
