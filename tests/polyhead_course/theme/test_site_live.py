"""Figures that a script brings to life: a module of the book's own, and the page without it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sphinx.errors import ExtensionError

from polyhead_course.theme.live import copy_folder, live_figure
from tests.books.fixtures import BOOKS
from tests.browser import chromium, serve, visit
from tests.building import build

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30"/></svg>'
DATA = {"kind": "counter", "begin": 3, "word": "</script><b>"}
TEMPLATE = '<button type="button">{{ word }} {{ begin }}</button>'
MODULE = """
export const render = ({ model, el }) => {
  let count = model.state.n?.[0] ?? model.data.begin;
  const button = el.querySelector("button");
  const show = () => { button.textContent = `${model.data.word} ${count}`; };
  button.addEventListener("click", () => { count += 1; show(); model.save({ n: count }); });
  model.onchange(() => { count = model.state.n?.[0] ?? model.data.begin; show(); });
  show();
};
"""


def alive(root: Path) -> Path:
    """The tiny book, in which a cell of one chapter draws a figure that can be moved."""
    shutil.copytree(BOOKS / "four", root, ignore=shutil.ignore_patterns("_build"))
    path = root / "book" / "en" / "02-heads.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"].append(
        {
            "cell_type": "code",
            "id": "counter",
            "execution_count": 99,
            "source": "counter()",
            "metadata": {"mystnb": {"image": {"alt": "A counter."}}},
            "outputs": [
                {
                    "output_type": "execute_result",
                    "execution_count": 99,
                    "metadata": {},
                    "data": {
                        "image/svg+xml": SVG,
                        "application/vnd.tiny.live+json": DATA,
                        "text/plain": "counter",
                    },
                }
            ],
        }
    )
    path.write_text(json.dumps(notebook), encoding="utf-8")
    config = root / "_config.yml"
    text = config.read_text(encoding="utf-8")
    assert "    polyglot_languages:" in text
    config.write_text(
        text.replace("    polyglot_languages:", "    polyglot_live: scripts\n    polyglot_languages:"),
        encoding="utf-8",
    )
    (root / "scripts").mkdir()
    return root


def write_sources(folder: Path) -> None:
    (folder / "counter.js").write_text(MODULE, encoding="utf-8")
    (folder / "counter.html").write_text(TEMPLATE, encoding="utf-8")
    (folder / "counter.py").write_text("", encoding="utf-8")


def test_data_cannot_end_the_script_that_holds_them(tmp_path: Path) -> None:
    write_sources(tmp_path)
    page = live_figure("<svg/>", DATA, tmp_path)
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


@pytest.mark.parametrize("missing", ["counter.js", "counter.html", None])
def test_a_figure_lives_where_its_module_and_template_are_there(tmp_path: Path, missing: str | None) -> None:
    root = alive(tmp_path / "book")
    write_sources(root / "scripts")
    if missing:
        (root / "scripts" / missing).unlink()
    built = build(root)
    page = built.page("book/en/02-heads")
    figures = page.css("[data-live]")
    if missing:
        assert built.code != 0
        assert any(f"there is no {root}/scripts/{missing}" in warning for warning in built.warnings)
        assert not figures
        return
    assert built.code == 0, built.log
    assert len(figures) == 1
    assert [path.name for path in (built.html / "_static" / "figures" / "live").iterdir()] == ["counter.js"]
    with serve(built.html) as base, chromium() as browser, visit(browser, base) as seen:
        seen.page.goto("/book/en/02-heads.html#counter~n=7")
        seen.page.wait_for_selector(".polyglot-live-on")
        button = seen.page.locator(".polyglot-live-body button")
        assert button.inner_text() == "</script><b> 7"
        button.click()
        seen.page.wait_for_url("**/02-heads.html#counter~n=8")
        seen.page.evaluate("location.hash = 'counter'")
        expect(button).to_have_text("</script><b> 3")
        assert not seen.page.locator(".polyglot-live > svg").is_visible()
        assert seen.problems() == []
        # A module that cannot be had leaves the figure as it is.
        seen.page.route("**/live/counter.js", lambda route: route.abort())
        seen.page.reload()
        seen.page.wait_for_selector(".polyglot-live-off")
        assert seen.page.locator(".polyglot-live > svg").is_visible()


def test_a_template_that_changes_makes_its_page_and_the_style_sheet_anew(tmp_path: Path) -> None:
    root = alive(tmp_path / "book")
    write_sources(root / "scripts")
    build(root)
    (root / "scripts" / "counter.html").write_text("<button>new</button>", encoding="utf-8")
    (root / "scripts" / "counter.css").write_text(".polyglot-live button { color: red }", encoding="utf-8")
    built = build(root)
    assert built.read() == {"book/en/02-heads"}
    assert built.page("book/en/02-heads").css_first(".polyglot-live-body").text() == "new"
    assert "button{color:red}" in (built.html / "_static" / "site.css").read_text(encoding="utf-8")
