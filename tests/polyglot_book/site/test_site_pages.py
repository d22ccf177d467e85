"""Every page speaks the language of its folder, and leads inside it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tests.building import Built
from tests.pages import check_site, english_left, parse

CODES = ["en", "zh-TW", "zh-CN", "ko"]
TITLES = {"en": "Tiny", "zh-TW": "小書", "zh-CN": "小书", "ko": "작은 책"}
NAMES = {"en": "English", "zh-TW": "繁體中文", "zh-CN": "简体中文", "ko": "한국어"}
FIRST = {"en": "1. Masks", "zh-TW": "1. 遮罩", "zh-CN": "1. 掩码", "ko": "1. 마스크"}
SECOND = {"en": "2. Heads", "zh-TW": "2. 注意力頭", "zh-CN": "2. 注意力头", "ko": "2. 헤드"}


def test_the_build_has_no_warnings(four: Built) -> None:
    assert four.warnings == []


def test_the_whole_site_passes_its_checks(four: Built) -> None:
    assert check_site(four.html, allowed={".ipynb", ".md", ".pdf"}) == []


@pytest.mark.parametrize("code", CODES)
def test_a_page_names_its_language_and_its_book(four: Built, code: str) -> None:
    page = four.page(f"book/{code}/01-masks")
    assert page.html["lang"] == code
    assert page.title.get_text().strip() == f"{FIRST[code]} — {TITLES[code]}"
    logo = page.select_one("#pst-primary-sidebar a.navbar-brand")
    assert logo.get_text().strip() == TITLES[code]
    assert logo["href"] == "index.html"


@pytest.mark.parametrize("code", CODES)
def test_the_sidebar_has_the_pages_of_one_language(four: Built, code: str) -> None:
    page = four.page(f"book/{code}/01-masks")
    links = page.select("nav.bd-docs-nav a")
    assert [each.get_text().strip() for each in links][:2] == [FIRST[code], SECOND[code]]
    assert len(links) == (3 if code == "en" else 2)
    assert [each.get_text().strip() for each in links if each.get("aria-current")] == [FIRST[code]]


def test_previous_and_next_stay_inside_a_language(four: Built) -> None:
    # In the order of the whole book, the Korean home comes after the last Chinese page.
    assert four.page("book/ko/index").select_one(".left-prev") is None
    assert four.page("book/zh-CN/02-heads").select_one(".right-next") is None
    assert four.page("book/ko/01-masks").select_one(".right-next")["href"] == "02-heads.html"
    assert four.page("book/ko/01-masks").select_one(".left-prev")["href"] == "index.html"
    heads = four.page("book/zh-TW/02-heads").select('head link[rel="next"], head link[rel="prev"]')
    assert [each["href"] for each in heads] == ["01-masks.html"]


WORDS = {
    "zh-TW": {"Show code": "顯示程式碼", "Note": "說明", "next": "下一頁", "heading": "連到這個標題"},
    "zh-CN": {"Show code": "显示代码", "Note": "说明", "next": "下一页", "heading": "链接到此标题"},
    "ko": {"Show code": "코드 보기", "Note": "참고", "next": "다음", "heading": "이 제목으로 가는 링크"},
    "en": {
        "Show code": "Show code cell source",
        "Note": "Note",
        "next": "next",
        "heading": "Link to this heading",
    },
}


@pytest.mark.parametrize("code", CODES)
def test_the_interface_speaks_the_language(four: Built, code: str) -> None:
    page, words = four.page(f"book/{code}/01-masks"), WORDS[code]
    assert page.select_one("details.hide .collapsed").get_text() == words["Show code"]
    assert page.select_one(".admonition.note .admonition-title").get_text().strip() == words["Note"]
    assert page.select_one(".right-next .prev-next-subtitle").get_text() == words["next"]
    assert page.select_one("h2 .headerlink")["title"] == words["heading"]


def test_the_scanner_finds_english() -> None:
    page = parse(
        '<html lang="ko"><body title="Close"><p>한국어</p><p>Next page</p><code>len</code>'
        "<p><b>쿼리</b>(query, key)는</p><p><a>值</a>（attention head）。</p></body></html>"
    )
    assert english_left(page) == ["Close", "Next page"]
    assert english_left(page, {"Close"}) == ["Next page"]
    assert english_left(page, ignore="p") == ["Close"]


@pytest.mark.parametrize("code", CODES)
def test_the_switcher_leads_to_the_same_page(four: Built, code: str) -> None:
    links = four.page(f"book/{code}/01-masks").select(".polyglot-switcher a")
    assert [(each["lang"], each["hreflang"], each.get_text()) for each in links] == [
        (other, other, NAMES[other]) for other in CODES
    ]
    assert [each["href"] for each in links] == [f"../{c}/01-masks.html" if c != code else "" for c in CODES]
    assert [each["lang"] for each in links if each.get("aria-current")] == [code]


def test_the_switcher_leads_home_where_a_page_has_no_sister(four: Built) -> None:
    links = {each["lang"]: each for each in four.page("book/en/03-only").select(".polyglot-switcher a")}
    assert links["ko"]["href"] == "../ko/index.html"
    assert not links["ko"].has_attr("data-same-page")
    assert links["en"].has_attr("data-same-page")


def test_search_engines_learn_the_sisters(four: Built) -> None:
    page = four.page("book/ko/01-masks")
    base = "https://example.org/tiny/book"
    assert [each["href"] for each in page.select('link[rel="canonical"]')] == [f"{base}/ko/01-masks.html"]
    found = {each["hreflang"]: each["href"] for each in page.select('link[rel="alternate"]')}
    assert found == {
        **{c: f"{base}/{c}/01-masks.html" for c in CODES},
        "x-default": f"{base}/en/01-masks.html",
    }
    alone = four.page("book/en/03-only").select('link[rel="alternate"]')
    assert {each["hreflang"] for each in alone} == {"en", "x-default"}
    home = {
        each["hreflang"]: each["href"] for each in four.page("book/ko/index").select('link[rel="alternate"]')
    }
    assert home["ko"] == f"{base}/ko/" and home["x-default"] == f"{base}/"


def test_the_sitemap_has_every_page_with_its_sisters(four: Built) -> None:
    space = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
    root = ET.parse(four.html / "sitemap.xml").getroot()
    rows = {
        url.findtext("s:loc", "", space): url.findall("x:link", space) for url in root.findall("s:url", space)
    }
    assert len(rows) == 4 * 3 + 2
    assert len(rows["https://example.org/tiny/book/ko/01-masks.html"]) == 5


def test_a_page_is_described_by_its_first_paragraph(four: Built) -> None:
    meta = four.page("book/ko/01-masks").select('meta[name="description"]')
    assert [each["content"] for each in meta] == ["마스크는 쿼리가 볼 수 있는 곳을 알려 줍니다."]


def test_source_in_an_output_is_highlighted_below_its_name(four: Built) -> None:
    caption, listing = four.page("book/en/03-only").select("#listing > .cell_output > *")
    assert caption.name == "p" and caption.get_text() == "tiny.heads · halve"
    assert "highlight-python" in listing["class"]
    assert listing.get_text().strip() == "def halve(number):\n    return number / 2    # (half,)"
    assert [each.get_text() for each in listing.select(".k, .nf, .c1")][:2] == ["def", "halve"]


@pytest.mark.parametrize("docname", ["book/index", "book/ko/01-masks"])
def test_a_page_has_one_viewport_a_mode_and_an_icon(four: Built, docname: str) -> None:
    page = four.page(docname)
    assert len(page.select('meta[name="viewport"]')) == 1
    assert page.body["data-default-mode"] == "auto"
    assert len(page.select('link[rel="icon"]')) == 1


def test_no_page_loads_search_mathjax_or_thebe(four: Built) -> None:
    for path in four.html.rglob("book/**/*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search("searchindex|searchtools|mathjax|thebe|unpkg|jsdelivr", text, re.IGNORECASE), (
            path
        )
    assert not (four.html / "searchindex.js").exists()
    assert not (four.html / "genindex.html").exists()


def test_the_landing_page_offers_every_language(four: Built) -> None:
    page = four.page("book/index")
    assert page.html["lang"] == "en"
    cards = page.select("a.polyglot-card")
    assert [(each["lang"], each["href"]) for each in cards] == [
        (code, f"{code}/index.html") for code in CODES
    ]
    assert "시험용 책" in cards[3].get_text()
    assert not page.select("nav.bd-docs-nav, .polyglot-switcher, .prev-next-area a, .primary-toggle")
