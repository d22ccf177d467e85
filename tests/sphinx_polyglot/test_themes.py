"""A book from right to left, with one Hebrew page and no Arabic one, by Sphinx alone with several themes."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from tests.books.fixtures import BOOKS
from tests.browser import Browser, serve, visit
from tests.building import Built, copy
from tests.pages import broken_links, value

# Theme -> where it has its contents.
THEMES = {
    "alabaster": ".sphinxsidebar .toctree-l1 > a",
    "furo": ".sidebar-tree .toctree-l1 > a",
    "pydata_sphinx_theme": ".bd-sidebar-primary .toctree-l1 > a",
    "sphinx_book_theme": ".bd-docs-nav .toctree-l1 > a",
}


@pytest.fixture(scope="module", params=THEMES)
def rtl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Built]:
    theme: str = request.param
    if not find_spec(theme):
        pytest.skip(f"{theme} is not installed")
    root = copy(BOOKS / "rtl", tmp_path_factory.mktemp("rtl") / theme)
    options = ["-W", "--keep-going", "-n", "-q", "-j2", f"-Dhtml_theme={theme}", ".", "_build/html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options], cwd=root, capture_output=True, text=True
    )
    built = Built(root, done.returncode, done.stdout + done.stderr)
    assert (built.code, built.warnings) == (0, []), built.log
    return theme, built


def test_direction_language_and_contents(rtl: tuple[str, Built]) -> None:
    theme, built = rtl
    titles = {"en": ["Trees", "Ponds"], "he": ["עצים", "Ponds"], "ar": ["Trees", "Ponds"]}
    for code, expected in titles.items():
        page = built.page(f"{code}/ponds")
        direction = page.root.attributes.get("dir", "ltr")
        assert (value(page.root, "lang"), direction) == (code, "ltr" if code == "en" else "rtl")
        entries = page.css(THEMES[theme])
        assert [each.text().strip().split(" ")[-1] for each in entries] == expected
        marked = [
            each.text().strip().split(" ")[-1]
            for each in entries
            if "polyglot-untranslated" in value(each, "class")
        ]
        assert marked == [each for each in expected if each.isascii() and code != "en"]
        languages = {value(each, "lang"): value(each, "href") for each in page.css(".polyglot-switcher a")}
        assert languages == {each: "" if each == code else f"../{each}/ponds.html" for each in titles}
        assert len(page.css(".polyglot-untranslated-note")) == (code != "en")
    assert broken_links(Path(built.html)) == []


def test_labels_and_numbers(rtl: tuple[str, Built]) -> None:
    links = {each.text(): value(each, "href") for each in rtl[1].page("he/trees").css("a.internal")}
    assert links["איור 1.1"] == "#oak" and links["Ponds"] in ("ponds.html#ponds", "ponds.html")
    image = rtl[1].page("he/trees").css_first("figure img")
    assert value(image, "src") == "../_images/oak.png"  # from the folder of the reference


def test_the_words_that_are_missing_are_listed(rtl: tuple[str, Built]) -> None:
    (path,) = rtl[1].root.glob("_build/html/.doctrees/missing-words/he.yml")
    missing = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not {"Home", "Language:", "Fig. %s", "Note"} & {*missing}
    if rtl[0] == "pydata_sphinx_theme":
        assert any(each.startswith("Created using") for each in missing)


def test_a_page_from_right_to_left_is_laid_out(rtl: tuple[str, Built], window: Browser) -> None:
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    with serve(rtl[1].html) as base, visit(window, base) as seen:
        for width in (390, 1280):
            seen.page.set_viewport_size({"width": width, "height": 800})
            wider = {}
            for code in ("en", "he", "ar"):
                seen.page.goto(f"/{code}/trees.html")
                wider[code] = seen.page.evaluate(overflow)
            # Alabaster has no scrollbars for tables, in any language.
            limit = wider["en"] if rtl[0] == "alabaster" else 0
            assert max(wider["he"], wider["ar"]) <= limit, (width, wider)
        style = "node => getComputedStyle(node).direction"
        assert seen.page.eval_on_selector("pre", style) == "ltr"
        assert seen.page.eval_on_selector(".polyglot-untranslated-note", style) == "rtl"
        assert seen.page.eval_on_selector("div[lang=en] h1", style) == "ltr"
        seen.page.goto("/he/trees.html")
        assert seen.page.eval_on_selector("article h2, .body h2", style) == "rtl"
