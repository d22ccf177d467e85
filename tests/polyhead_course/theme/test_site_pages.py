"""Every page is in the language of its folder, and leads to the same page in the others."""

from __future__ import annotations

import re
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from sphinx_polyglot.pages import Pages
from tests.building import Built
from tests.pages import Page, check_site

CODES = ["en", "zh-TW", "zh-CN", "ko"]
TITLES = {"en": "Tiny", "zh-TW": "小書", "zh-CN": "小书", "ko": "작은 책"}
NAMES = {"en": "English", "zh-TW": "繁體中文", "zh-CN": "简体中文", "ko": "한국어"}
FIRST = {"en": "1. Masks", "zh-TW": "1. 遮罩", "zh-CN": "1. 掩码", "ko": "1. 마스크"}


def test_the_whole_site_passes_its_checks(four: Built) -> None:
    assert check_site(four.html, allowed={".ipynb", ".md", ".pdf"}) == []


@pytest.mark.parametrize("code", CODES)
def test_a_page_names_its_language_and_its_book(four: Built, code: str) -> None:
    page = four.page(f"book/{code}/01-masks")
    assert page.root.attributes["lang"] == code
    assert page.css_first("title").text().strip() == f"{FIRST[code]} – {TITLES[code]}"
    logo = page.css_first("#pst-primary-sidebar a.navbar-brand")
    assert logo.text().strip() == TITLES[code]
    assert logo.attributes["href"] == "index.html"


@pytest.mark.parametrize("code", CODES)
def test_the_switcher_leads_to_the_same_page(four: Built, code: str) -> None:
    elements = four.page(f"book/{code}/01-masks").css(".polyglot-switcher a")
    assert [each.text() for each in elements] == [NAMES[other] for other in CODES]
    links = [each.attributes for each in elements]
    assert [(each["lang"], each["hreflang"]) for each in links] == [(other, other) for other in CODES]
    assert [each["href"] for each in links] == [f"../{c}/01-masks.html" if c != code else "" for c in CODES]
    assert [each["lang"] for each in links if each.get("aria-current")] == [code]


def _alternates(page: Page) -> dict[str, str]:
    """Give the addresses of a page by language, as search engines read them."""
    links = [each.attributes for each in page.css('link[rel="alternate"]')]
    return {each["hreflang"]: each["href"] for each in links}


def test_search_engines_learn_the_counterparts(four: Built) -> None:
    page = four.page("book/ko/01-masks")
    base = "https://example.org/tiny/book"
    canonical = page.css('link[rel="canonical"]')
    assert [each.attributes["href"] for each in canonical] == [f"{base}/ko/01-masks.html"]
    assert _alternates(page) == {
        **{c: f"{base}/{c}/01-masks.html" for c in CODES},
        "x-default": f"{base}/en/01-masks.html",
    }
    assert set(_alternates(four.page("book/en/03-only"))) == {"en", "x-default"}
    home = _alternates(four.page("book/ko/index"))
    assert home["ko"] == f"{base}/ko/" and home["x-default"] == f"{base}/"


def test_the_sitemap_has_every_page_with_its_counterparts(four: Built) -> None:
    space = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
    root = ET.parse(four.html / "sitemap.xml").getroot()
    rows = {
        url.findtext("s:loc", "", space): url.findall("x:link", space) for url in root.findall("s:url", space)
    }
    assert len(rows) == 4 * 3 + 2
    assert len(rows["https://example.org/tiny/book/ko/01-masks.html"]) == 5


def test_source_in_an_output_is_highlighted_below_its_name(four: Built) -> None:
    caption, listing = four.page("book/en/03-only").css("#listing > .cell_output > *")
    assert caption.tag == "p" and caption.text() == "tiny.heads · halve"
    assert "highlight-python" in listing.attributes["class"].split()
    assert listing.text().strip() == "def halve(number):\n    return number / 2    # (half,)"
    assert [each.text() for each in listing.css(".k, .c")][:1] == ["def"]


@pytest.mark.parametrize("docname", ["book/index", "book/ko/01-masks"])
def test_a_page_has_one_viewport_an_icon_and_no_theme_before_its_script(four: Built, docname: str) -> None:
    page = four.page(docname)
    assert len(page.css('meta[name="viewport"]')) == 1
    assert "data-theme" not in page.root.attributes
    assert len(page.css('link[rel="icon"]')) == 1


def test_the_first_page_offers_every_language(four: Built) -> None:
    page = four.page("book/index")
    assert page.root.attributes["lang"] == "en"
    cards = page.css("a.polyglot-card")
    assert [(each.attributes["lang"], each.attributes["href"]) for each in cards] == [
        (code, f"{code}/index.html") for code in CODES
    ]
    assert "시험용 책" in cards[3].text()
    assert not page.css("nav.bd-docs-nav, .polyglot-switcher, .prev-next-area a, .primary-toggle")


@pytest.mark.parametrize("folder", ["book", "./book", "book/", ".//book/."])
def test_a_folder_may_be_written_in_many_ways(folder: str) -> None:
    language = {"locale": "ko", "name": "한국어", "title": "책"}
    config = SimpleNamespace(polyglot_folder=folder, polyglot_languages={"ko": language}, polyglot_shared=[])
    found = Pages.from_config(config).language_of("book/ko/01-masks")
    assert found is not None and found.code == "ko"


def test_chinese_words_on_an_english_page_are_marked(four: Built) -> None:
    article = four.page("book/en/03-only").css_first("article")
    marked = [(each.attributes["lang"], each.text()) for each in article.css("[lang]")]
    assert marked == [("zh-TW", "中和 · 有"), ("zh-CN", "掩码"), ("zh-TW", "列"), ("zh-TW", "行")]


def test_words_in_the_language_of_the_page_are_not_marked(four: Built) -> None:
    for code in ("zh-TW", "zh-CN", "ko"):
        assert four.page(f"book/{code}/01-masks").css("article [lang]") == []


def test_the_headings_of_a_table_say_what_they_name(four: Built) -> None:
    table = four.page("book/en/03-only").css_first("article table")
    head, *rows = [
        [(cell.tag, cell.attributes.get("scope"), cell.text(strip=True)) for cell in row.css("th, td")]
        for row in table.css("tr")
    ]
    # What has no words is no heading.
    assert head == [("td", None, ""), ("th", "col", "shape"), ("th", "col", "here"), ("th", "col", "why")]
    assert [row[:3] for row in rows] == [
        [("th", "row", "Q"), ("td", None, "列"), ("td", None, "2")],
        [("td", None, "K"), ("td", None, "行"), ("td", None, "3")],
    ]


def test_columns_of_short_and_of_long_text_say_so(four: Built) -> None:
    table = four.page("book/en/03-only").css_first("article table")
    for row in table.css("tr"):
        kinds = [
            re.findall("polyglot-(short|long)", each.attributes.get("class") or "")
            for each in row.css("th, td")
        ]
        # Of a cell without words nothing is said.
        assert kinds[1:] == [["short"], ["short"], ["long"]]


def test_a_book_without_chapters_has_neither_numbers_nor_a_picture(four: Built) -> None:
    assert not four.page("book/index").css(".polyglot-card-facts, .polyglot-welcome")


def test_each_card_counts_what_its_language_has(full: Built) -> None:
    facts = [each.text() for each in full.page("book/index").css(".polyglot-card-facts")]
    assert [re.findall(r"\d+", each) for each in facts] == [["1", "2", "3"], ["1", "2", "4"]]
