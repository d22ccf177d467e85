"""A book with a second Latin language: each language has labels, numbers, terms and an index of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.books.fixtures import BOOKS, edit
from tests.browser import Browser, serve, visit
from tests.building import Built, build, copy
from tests.pages import broken_links, value


@pytest.fixture(scope="module")
def latin(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = build(copy(BOOKS / "latin", tmp_path_factory.mktemp("latin") / "latin"))
    assert (built.code, built.warnings) == (0, []), built.log
    return built


@pytest.fixture(scope="module")
def address(latin: Built) -> Iterator[str]:
    with serve(latin.html) as base:
        yield base


def links(built: Built, docname: str) -> dict[str, str]:
    """The texts of a page's links within the book and where they lead."""
    found = built.page(docname).css("article a.internal")
    return {each.text(): value(each, "href") for each in found}


@pytest.mark.parametrize(
    ("code", "trees", "figure", "table", "listing"),
    [
        ("en", "Trees", "Fig.", "Table", "Listing"),
        ("de", "Bäume", "Abb.", "Tab.", "Quelltext"),
    ],
)
def test_a_label_leads_to_its_own_language(
    latin: Built, code: str, trees: str, figure: str, table: str, listing: str
) -> None:
    found = links(latin, f"book/{code}/ponds")
    expected = {
        trees: "trees.html#trees",
        f"{figure} 1.1": "trees.html#tree",
        f"{figure} 2.1": "#pond",
        f"{table} 2.1": "#fish",
        f"{listing} 2.1": "#feed",
        "(1.1)": "trees.html#equation-height",
        "(2.1)": "#equation-depth",
        "2001": "words.html#id3",
        "Mud": "words.html#term-Mud",
        "[Bank]": "#bank",
    }
    assert {key: found.get(key) for key in expected} == expected
    captions = latin.page(f"book/{code}/trees").css("figcaption .caption-number")
    assert [each.text() for each in captions] == [f"{figure} 1.1 ", f"{figure} 1.2 "]


def test_no_link_is_broken(latin: Built) -> None:
    assert broken_links(latin.html) == []


def test_a_label_that_a_language_lacks_leads_to_the_reference(latin: Built) -> None:
    # In German nothing has the label `oaks`; the link `#oaks` is to the cell of the page.
    found = links(latin, "book/de/trees")
    assert (found["Oaks"], found["die Eichen"]) == ("../en/trees.html#oaks", "#oaks")


def test_the_index_of_each_language_has_its_own_terms(latin: Built) -> None:
    terms = {"en": ["Mud", "Pond", "carp", "pond"], "de": ["Karpfen", "Mud", "Pond", "Teich"]}
    for code, expected in terms.items():
        found = latin.page(f"book/{code}/genindex").css(".genindextable a")
        assert sorted(each.text() for each in found) == expected
        assert links(latin, f"book/{code}/words")[{"en": "Index", "de": "Stichwortverzeichnis"}[code]] == (
            "genindex.html"
        )
    assert latin.page("book/de/genindex").css_first("article h1").text() == "Stichwortverzeichnis"


def test_a_missing_page_comes_from_the_reference_with_a_note(latin: Built) -> None:
    page = latin.page("book/de/soil")
    assert value(page.root, "lang") == "de"
    note = page.css_first("article .polyglot-untranslated-note")
    assert note.text().split(".")[0].split() == [
        "Noch",
        "nicht",
        "übersetzt",
        "Diese",
        "Seite",
        "ist",
        "noch",
        "nicht",
        "übersetzt",
    ]
    text = page.css_first("article div[lang]")
    assert (value(text, "lang"), text.css_first("h1").text()) == ("en", "3. Soil#")
    # Its links lead to the pages of the reader's language, and other pages link to it.
    assert links(latin, "book/de/soil") == {
        "the ponds": "ponds.html",
        "Bäume": "trees.html#trees",
        "Abb. 2.1": "ponds.html#pond",
    }
    found = links(latin, "book/de/ponds")
    expected = {"Boden": "soil.html", "Schichten": "soil.html#layers-of-soil", "Soil": "soil.html#soil"}
    assert found | expected | {"Abb. 3.1": "soil.html#layers"} == found
    assert not latin.page("book/en/soil").css(".polyglot-untranslated-note")


def test_quotation_marks_are_those_of_the_text(latin: Built) -> None:
    marks = {
        "en/index": "“gardens”",
        "de/index": "„Gärten“",
        "en/soil": "“translated”",
        "de/soil": "“translated”",
    }
    for name, words in marks.items():
        assert words in latin.page(f"book/{name}").css_first("article section").text()


def test_the_contents_have_and_mark_the_missing_page(latin: Built) -> None:
    entries = latin.page("book/de/trees").css(".bd-docs-nav a")
    assert [each.text().strip() for each in entries] == [
        "Gärten",
        "1. Bäume",
        "2. Teiche",
        "3. Soil",
        "Wörter",
    ]
    marked = [each.text() for each in entries if "polyglot-untranslated" in value(each, "class")]
    assert marked == ["3. Soil"] and value(entries[3], "lang") == "en"
    around = latin.page("book/de/soil").css(".prev-next-area a")
    assert [value(each, "href") for each in around] == ["ponds.html", "words.html"]


def test_the_book_has_words_of_its_own(latin: Built) -> None:
    caption = latin.page("book/de/ponds").css_first(".code-block-caption .caption-number")
    assert caption.text() == "Quelltext 2.1 "


def test_scripts_styles_and_outputs_of_the_book_are_left_alone(
    latin: Built, address: str, window: Browser
) -> None:
    with visit(window, address) as seen:
        seen.page.goto("/book/de/trees.html")
        assert seen.page.evaluate("document.documentElement.dataset.own") == "script"
        own = "getComputedStyle(document.documentElement).getPropertyValue('--own').trim()"
        assert seen.page.evaluate(own) == "7px"
        assert seen.page.inner_text("#inline") == "inline script"
        widths = "[...document.querySelectorAll('article img')].map(each => each.naturalWidth)"
        assert seen.page.evaluate(widths) == [8, 8, 6]


def test_the_switcher_leads_to_the_same_section(address: str, window: Browser) -> None:
    with visit(window, address, viewport={"width": 1000, "height": 300}) as seen:
        seen.page.goto("/book/en/ponds.html#depth")
        for code, heading in {"de": "Tiefe", "en": "Depth"}.items():
            seen.page.click(".polyglot-switcher summary")
            seen.page.click(f'.polyglot-switcher a[lang="{code}"]')
            assert seen.page.url.endswith(f"/book/{code}/ponds.html#depth")
            top = seen.page.locator("h2", has_text=heading).evaluate("e => e.getBoundingClientRect().top")
            assert 0 <= top < 300
        # The heading's own anchor leads there, too; a page that German lacks has its own address.
        seen.page.goto("/book/de/ponds.html#tiefe")
        seen.page.click(".polyglot-switcher summary")
        seen.page.click('.polyglot-switcher a[lang="en"]')
        assert seen.page.url.endswith("/book/en/ponds.html#depth")
        seen.page.goto("/book/en/soil.html")
        seen.page.click(".polyglot-switcher summary")
        seen.page.click('.polyglot-switcher a[lang="de"]')
        assert seen.page.url.endswith("/book/de/soil.html")


def test_a_page_that_becomes_translated_replaces_the_original(latin: Built) -> None:
    path = latin.root / "book/de/soil.md"
    copy_of = (latin.root / "book/en/soil.md").read_text(encoding="utf-8")
    path.write_text(copy_of.replace("# Soil", "# Boden", 1), encoding="utf-8")
    edit(
        latin.root / "_toc.yml",
        "    - file: book/de/ponds\n",
        "    - file: book/de/ponds\n    - file: book/de/soil\n",
    )
    again = build(latin.root)
    assert (again.code, again.warnings) == (0, []), again.log
    page = again.page("book/de/soil")
    assert page.css_first("article h1").text() == "3. Boden#" and not page.css(".polyglot-untranslated-note")
    assert links(again, "book/de/ponds")["Boden"] == "soil.html#soil"
    entries = [each.text().strip() for each in again.page("book/de/trees").css(".bd-docs-nav a")]
    assert entries == ["Gärten", "1. Bäume", "2. Teiche", "3. Boden", "Wörter"]
