"""What a page says to those who share it, to those who search, and to those who want to use it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from sphinx.errors import ConfigError

from polyhead_course.theme.page_links import check_rights
from tests.books.fixtures import BOOKS, edit
from tests.browser import Browser, serve, visit
from tests.building import Built, build, copy
from tests.pages import Page, value

CODES = ["en", "zh-TW", "zh-CN", "ko"]


def meta(page: Page) -> dict[str, list[str]]:
    """Give what the head of a page says: name or property -> contents."""
    found: dict[str, list[str]] = {}
    for each in page.css("head meta[content]"):
        name = value(each, "property") or value(each, "name")
        found.setdefault(name, []).append(value(each, "content"))
    return found


def data(page: Page) -> Any:
    return json.loads(page.css_first('script[type="application/ld+json"]').text())


def test_messengers_learn_what_a_page_is(four: Built) -> None:
    page = four.page("book/ko/01-masks")
    said, address = meta(page), "https://example.org/tiny/book/ko/01-masks.html"
    assert said["og:title"] == ["1. 마스크"] and said["og:site_name"] == ["작은 책"]
    assert said["og:description"] == said["description"] == ["마스크는 쿼리가 볼 수 있는 곳을 알려 줍니다."]
    assert said["og:url"] == [address] and said["og:type"] == ["article"]
    assert said["og:locale"] == ["ko_KR"]
    assert said["og:locale:alternate"] == ["en_US", "zh_TW", "zh_CN"]
    found = data(page)
    assert (found["@type"], found["inLanguage"], found["url"]) == ("LearningResource", "ko", address)
    home = {"@type": "Course", "name": "작은 책", "url": "https://example.org/tiny/book/ko/"}
    assert found["isPartOf"] == home
    assert "og:locale:alternate" not in meta(four.page("book/en/03-only"))


def test_the_entrance_says_the_same_as_the_page_it_leads_to(four: Built) -> None:
    root, first = four.page("index"), four.page("book/index")
    taglines = "A book for tests 測試用的書 测试用的书 시험용 책"
    assert meta(root)["description"] == meta(first)["description"] == [taglines]
    for page in (root, first):
        assert value(page.css_first("link[rel=canonical]"), "href") == "https://example.org/tiny/book/"
        assert data(page)["@type"] == "Course" and data(page)["inLanguage"] == CODES


def test_robots_find_the_sitemap_and_no_sources(four: Built) -> None:
    text = (four.html / "robots.txt").read_text(encoding="utf-8")
    assert text.splitlines() == [
        "User-agent: *",
        "Disallow:",
        "",
        "Sitemap: https://example.org/tiny/sitemap.xml",
    ]
    assert (four.html / ".nojekyll").exists()
    assert not (four.html / "_sources").exists()


def test_a_page_has_the_card_of_its_language(full: Built) -> None:
    head = meta(full.page("book/ko/01-masks"))
    assert head["og:image"] == [data(full.page("book/ko/02-names"))["image"]]
    assert head["og:image"] == ["https://example.org/tiny/cards/ko.png"]
    assert (head["og:image:width"], head["og:image:height"]) == (["1200"], ["630"])
    assert head["og:image:alt"] == ["작은 책 · 시험용 책"] and head["twitter:card"] == ["summary_large_image"]
    assert meta(full.page("book/index"))["og:image"] == ["https://example.org/tiny/cards/en.png"]
    cards = {path.name: path for path in full.html.glob("cards/**/*")}
    assert cards.keys() == {"en.png", "ko.png"}
    for path in cards.values():
        assert path.stat().st_size < 60_000
        with Image.open(path) as card:
            assert card.size == (1200, 630)
            # The colours of the title, the tagline and the icon are on it.
            assert {(20, 24, 30), (72, 86, 107), (10, 125, 145)} <= {
                color for _, color in card.getcolors(9999)
            }


def test_a_chapter_says_how_long_it_takes(full: Built) -> None:
    assert data(full.page("book/en/01-masks"))["timeRequired"] == "PT45M"


def test_the_icons_lie_where_browsers_look(full: Built) -> None:
    for docname, up in (
        ("book/en/01-masks", "../../"),
        ("book/index", "../"),
        ("index", ""),
        ("404", "/tiny/"),
    ):
        page = full.page(docname)
        assert [value(each, "href") for each in page.css("link[rel=icon]")] == [f"{up}icon.svg"]
        assert value(page.css_first("link[rel=apple-touch-icon]"), "href") == f"{up}apple-touch-icon.png"
    assert (full.html / "icon.svg").is_file() and (full.html / "apple-touch-icon.png").is_file()


LICENCE = {"name": "MIT", "href": "https://example.org/mit"}
RIGHTS = {
    "en": "Text: CC BY 4.0|Code: MIT|Version 1.2|How to cite|Source of this page|Report an error",
    "ko": "본문: CC BY 4.0|코드: MIT|버전 1.2|인용 방법|이 페이지의 소스|오류 제보",
}


@pytest.mark.parametrize("code", RIGHTS)
def test_every_page_has_its_licences_and_sources(full: Built, code: str) -> None:
    page = full.page(f"book/{code}/01-masks")
    rights = [each.text().strip() for each in page.css(".polyglot-rights li")]
    assert rights == ["© 2026 Nobody", *RIGHTS[code].split("|")]
    repository = "https://github.com/nobody/tiny"
    assert [value(each, "href") for each in page.css(".polyglot-rights a")] == [
        repository,
        "https://example.org/by",
        "https://example.org/mit",
        f"{repository}/blob/HEAD/CHANGELOG.md",
        "02-names.html#cite",
        f"{repository}/blob/HEAD/book/{code}/01-masks.ipynb",
        f"{repository}/issues/new?title=book%2F{code}%2F01-masks",
    ]
    assert f"https://example.org/tiny/book/{code}/01-masks.html" in page.css_first(".polyglot-printed").text()
    assert data(page)["license"] == "https://example.org/by" and data(page)["version"] == "1.2"


@pytest.mark.parametrize(
    ("rights", "message"),
    [
        ("MIT", "expected a mapping of text, code and cite, got 'MIT'"),
        ({"texts": LICENCE}, "expected a mapping of text, code and cite, got"),
        ({"text": "MIT"}, "text: expected name and href, got 'MIT'"),
        ({"code": {"name": "MIT"}}, "code: expected name and href, got"),
        ({"code": {"name": 3, "href": ""}}, "code: name: expected text, got 3"),
        ({"cite": 3}, "cite: expected text, got 3"),
    ],
)
def test_wrong_rights_are_refused(rights: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_rights(None, SimpleNamespace(polyglot_rights=rights))
    assert f"polyglot_rights: {message}" in str(caught.value)


def test_a_site_without_an_address_or_a_repository_names_none(tmp_path: Path) -> None:
    root = copy(BOOKS / "two", tmp_path / "two")
    edit(
        root / "_config.yml",
        "  extra_extensions: [sphinx_polyglot]",
        "  extra_extensions: [polyhead_course.theme]",
    )
    edit(root / "_config.yml", "sphinx:", "html: {baseurl: 'https://tiny.example/'}\nsphinx:")
    built = build(root)
    assert built.code == 0, built.log
    for docname in ("index", "book/index", "book/en/trees", "404"):
        assert "tiny.example" not in (built.html / f"{docname}.html").read_text(encoding="utf-8")
        assert not built.page(docname).css("link[rel=canonical], link[rel=alternate]")
    assert not (built.html / "sitemap.xml").exists() and not (built.html / "cards").exists()
    said = meta(built.page("book/en/trees"))
    assert said["twitter:card"] == ["summary"] and not {"og:url", "og:image"} & said.keys()
    assert "Sitemap" not in (built.html / "robots.txt").read_text(encoding="utf-8")
    assert len(built.page("book/en/trees").css(".polyglot-rights li")) == 1
    assert [value(each, "href") for each in built.page("404").css("a")] == [
        f"/book/{code}/index.html" for code in ("en", "ko")
    ]


def test_paper_says_what_it_was_printed_from(full: Built, window: Browser) -> None:
    with serve(full.html) as base, visit(window, base) as seen:
        seen.page.goto("/book/ko/01-masks.html")
        heading, line = seen.page.locator("h1"), seen.page.locator(".polyglot-printed")
        assert heading.is_visible() and not line.is_visible()
        seen.page.emulate_media(media="print")
        assert heading.is_visible()
        assert line.inner_text() == "1. 마스크 · 작은 책 · https://example.org/tiny/book/ko/01-masks.html"
        links = seen.page.locator(".polyglot-rights a:visible").all_inner_texts()
        assert links == ["Nobody", "CC BY 4.0", "MIT", "버전 1.2"]


def test_a_wrong_address_leads_back_from_anywhere(four: Built, window: Browser, tmp_path: Path) -> None:
    (tmp_path / "tiny").symlink_to(four.html)
    with serve(tmp_path) as base, visit(window, base) as seen:
        # A host shows the page at the address that was asked for.
        text = (four.html / "404.html").read_text(encoding="utf-8")
        seen.page.route(
            "**/tiny/nowhere/at/all.html", lambda route: route.fulfill(body=text, content_type="text/html")
        )
        seen.page.goto("/tiny/nowhere/at/all.html")
        cards = seen.page.locator("a.polyglot-card")
        assert [each.get_attribute("lang") for each in cards.all()] == CODES
        assert cards.nth(3).locator("span").first.inner_text() == "페이지를 찾을 수 없습니다."
        cards.nth(3).click()
        seen.page.wait_for_url("**/tiny/book/ko/index.html")
        assert seen.problems() == []
