"""`sphinx_polyglot` alone, on Jupyter Book's own theme: a book in two languages builds without warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sphinx_polyglot
from tests.books.fixtures import BOOKS
from tests.browser import Browser, serve, visit
from tests.building import Built, copy
from tests.pages import value

# The process says at its end which of the packages it has loaded.
BUILD = """
import sys
from jupyter_book.cli.main import main
main(["build", ".", "-W", "--keep-going", "-n"], standalone_mode=False)
print("loaded:", *sorted({name.split(".")[0] for name in sys.modules if name.startswith("poly")}))
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = copy(BOOKS / "two", tmp_path_factory.mktemp("alone") / "two")
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=root, capture_output=True, text=True)
    built = Built(root, done.returncode, done.stdout + done.stderr)
    assert (built.code, built.warnings) == (0, []), built.log
    return built


def test_it_needs_neither_the_course_nor_its_theme(two: Built) -> None:
    assert "loaded: polyglot_book\n" in two.log
    assert not two.page("book/ko/trees").css("#polyglot-words")


def test_the_readme_has_its_configuration() -> None:
    readme = Path(sphinx_polyglot.__file__).with_name("README.md").read_text(encoding="utf-8")
    assert (BOOKS / "two/_config.yml").read_text(encoding="utf-8") in readme


def test_a_page_is_in_the_language_of_its_folder(two: Built) -> None:
    page = two.page("book/ko/trees")
    assert value(page.root, "lang") == "ko"
    assert page.css_first("title").text() == "1. 나무 — 정원"
    brand = page.css_first("a.navbar-brand")
    assert (brand.text().strip(), value(brand, "href")) == ("정원", "index.html")
    assert page.css_first("details.hide .collapsed").text() == "코드 보기"


def test_sidebar_and_neighbours_are_in_the_language_of_the_page(two: Built) -> None:
    for code, titles in {
        "en": ["Gardens", "1. Trees", "2. Ponds"],
        "ko": ["정원", "1. 나무", "2. Ponds"],
    }.items():
        assert [
            each.text().strip() for each in two.page(f"book/{code}/trees").css(".bd-docs-nav a")
        ] == titles
    # In the order of the whole book, the Korean home follows the last English page.
    around = {
        "ko/index": ["trees.html"],
        "en/trees": ["index.html", "ponds.html"],
        "en/ponds": ["trees.html"],
    }
    for name, hrefs in around.items():
        links = two.page(f"book/{name}").css(".prev-next-area a")
        assert [value(each, "href") for each in links] == hrefs


def test_the_cells_ids_are_anchors(two: Built) -> None:
    ids = [value(each, "id") for each in two.page("book/ko/trees").css("article [id]")]
    assert [each for each in ids if each in {"title", "oaks", "age"}] == ["title", "oaks", "age"]
    assert value(two.page("book/en/ponds").css_first("article p a"), "href") == "trees.html#oaks"


def test_the_switcher_is_on_the_page(two: Built, window: Browser) -> None:
    page = window.new_page()
    page.goto((two.html / "book/en/trees.html").as_uri())
    link = page.locator('.polyglot-switcher a[lang="ko"]')
    assert not link.is_visible()
    page.click(".polyglot-switcher summary")
    link.click()
    assert page.url.endswith("/book/ko/trees.html")
    page.close()
    # A page that the other language lacks is there, too.
    (link,) = two.page("book/en/ponds").css('.polyglot-switcher a[lang="ko"]')
    assert value(link, "href") == "../ko/ponds.html" and "data-same-page" in link.attributes


def test_the_search_finds_words_of_the_readers_language(two: Built, window: Browser) -> None:
    assert value(two.page("book/ko/trees").css_first("form.bd-search"), "action") == "search.html"
    with serve(two.html) as base, visit(window, base) as seen:
        for code, query, found in (
            ("ko", "참나무", ["trees"]),  # in the text with particles: 참나무를, 참나무는
            ("ko", "천히", ["trees"]),
            ("ko", "oaks", ["ponds"]),  # a page in the reference's language
            ("en", "oak", ["ponds", "trees"]),
            ("en", "나무", []),
        ):
            seen.page.goto(f"/book/{code}/search.html?q={query}")
            seen.page.wait_for_function("Search.status?.textContent.trim()")
            links = seen.page.locator("#search-results li a").evaluate_all(
                "all => all.map(each => each.pathname)"
            )
            assert {*links} == {f"/book/{code}/{each}.html" for each in found}, query


CONFIG = """\
title: Gardens
author: Nobody
logo: ""
sphinx:
  extra_extensions: [sphinx_polyglot]
"""
TOC = """\
format: jb-book
root: intro
parts:
- caption: Wet
  chapters:
  - file: wet/ponds
- caption: Dry
  chapters:
  - file: trees
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A book in one language, whose first page is no index; `polyglot init` has begun another language."""
    root = tmp_path_factory.mktemp("begun")
    (root / "wet").mkdir()
    files = {"_config.yml": CONFIG, "_toc.yml": TOC, "intro.md": "# Gardens\n\nSee [](wet/ponds.md).\n"}
    for name, text in (files | {"wet/ponds.md": "# Ponds\n", "trees.md": "# Trees\n"}).items():
        (root / name).write_text(text)
    for command in (["init"], ["init", "--language", "fr"]):
        subprocess.run([sys.executable, "-m", "polyglot_book", *command], cwd=root, check=True)
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=root, capture_output=True, text=True)
    return Built(root, done.returncode, done.stdout + done.stderr)


def test_a_book_that_init_has_made_has_contents_in_each_language(begun: Built) -> None:
    assert (begun.code, begun.warnings) == (0, []), begun.log
    for code in ("en", "fr"):
        navigation = begun.page(f"book/{code}/wet/ponds").css_first(".bd-docs-nav")
        entries = navigation.css(".caption-text, .toctree-l1 > a")
        assert [each.text().strip() for each in entries] == ["Gardens", "Wet", "Ponds", "Dry", "Trees"]
        links = [value(each, "href") for each in navigation.css("a")]
        assert links == ["../intro.html", "#", "../trees.html"]
        around = [
            value(each, "href") for each in begun.page(f"book/{code}/wet/ponds").css(".prev-next-area a")
        ]
        assert around == ["../intro.html", "../trees.html"]
        last = begun.page(f"book/{code}/trees").css(".prev-next-area a")
        assert [value(each, "href") for each in last] == ["wet/ponds.html"]
