"""What a page says to those who share it, to those who search, and to those who want to use it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from PIL import Image

from tests.books.fixtures import BOOKS
from tests.browser import Browser, serve, visit
from tests.building import Built, build, copy
from tests.pages import Page, value

FONT = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
CODES = ["en", "zh-TW", "zh-CN", "ko"]
SHARED = f"""
    html_favicon: icon.svg
    release: "1.2"
    polyglot_repository: https://github.com/nobody/tiny
    polyglot_fonts: {{en: {FONT}}}
    polyglot_rights:
      text: {{name: CC BY 4.0, href: "https://example.org/by"}}
      code: {{name: MIT, href: "https://example.org/mit"}}
      cite: 02-heads#cite
"""


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
    assert said["twitter:card"] == ["summary"] and "og:image" not in said
    found = data(page)
    assert (found["@type"], found["inLanguage"], found["url"]) == ("LearningResource", "ko", address)
    home = {"@type": "Course", "name": "작은 책", "url": "https://example.org/tiny/book/ko/"}
    assert found["isPartOf"] == home
    assert "og:locale:alternate" not in meta(four.page("book/en/03-only"))


def test_the_entrance_says_the_same_as_the_page_it_leads_to(four: Built) -> None:
    entrance, landing = four.page("index"), four.page("book/index")
    taglines = "A book for tests 測試用的書 测试用的书 시험용 책"
    assert meta(entrance)["description"] == meta(landing)["description"] == [taglines]
    for page in (entrance, landing):
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


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The same book with an icon, licences, a repository, and a font for its English pages."""
    root = copy(BOOKS / "four", tmp_path_factory.mktemp("published") / "four")
    config = root / "_config.yml"
    config.write_text(config.read_text(encoding="utf-8") + SHARED, encoding="utf-8")
    (root / "icon.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    Image.new("RGB", (180, 180)).save(root / "icon.png")
    chapter = root / "book/en/01-masks.ipynb"
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    notebook["metadata"]["minutes"] = 45
    notebook["cells"][0]["source"] = [
        "# 1. Masks\n",
        "\n",
        "You can\n",
        "\n",
        "- hide a key;\n",
        "- find it.",
    ]
    chapter.write_text(json.dumps(notebook), encoding="utf-8")
    built = build(root)
    assert built.code == 0, built.log
    return built


def test_a_page_has_a_card_where_its_language_has_a_font(published: Built) -> None:
    said = meta(published.page("book/en/01-masks"))
    assert said["og:image"] == ["https://example.org/tiny/cards/en/01-masks.png"]
    assert said["twitter:card"] == ["summary_large_image"]
    assert said["og:image:alt"] == ["1. Masks · Tiny"]
    assert "og:image" not in meta(published.page("book/ko/01-masks"))
    drawn = {path.relative_to(published.html / "cards") for path in published.html.glob("cards/**/*.png")}
    assert {str(each) for each in drawn} == {
        "index.png",
        *(f"en/{stem}.png" for stem in ("index", "01-masks", "02-heads", "03-only")),
    }
    for each in drawn:
        path = published.html / "cards" / each
        assert path.stat().st_size < 60_000
        with Image.open(path) as card:
            assert card.size == (1200, 630)
            assert len(card.getcolors()) > 4  # something is drawn on it


def test_a_card_that_says_something_else_is_drawn_again(published: Built, tmp_path: Path) -> None:
    root = Path(shutil.copytree(published.root, tmp_path / "again"))
    before = {path: path.stat().st_mtime_ns for path in root.glob("_build/html/cards/**/*.png")}
    chapter = root / "book/en/02-heads.ipynb"
    text = chapter.read_text(encoding="utf-8")
    chapter.write_text(text.replace("# 2. Heads", "# 2. 頭 Heads"), encoding="utf-8")
    again = build(root)
    assert [path.name for path, time in before.items() if path.stat().st_mtime_ns != time] == ["02-heads.png"]
    # What a font cannot write is an error.
    assert again.code != 0
    assert any("DejaVuSans.ttf lacks '頭'" in line for line in again.warnings)


def test_a_chapter_says_what_it_teaches_and_how_long_it_takes(published: Built) -> None:
    page = published.page("book/en/01-masks")
    found = data(page)
    assert found["teaches"] == ["hide a key", "find it"] and found["timeRequired"] == "PT45M"
    assert found["description"] == meta(page)["og:description"][0] == "You can hide a key; find it."


def test_the_icons_lie_where_browsers_look(published: Built) -> None:
    for docname, up in (
        ("book/en/01-masks", "../../"),
        ("book/index", "../"),
        ("index", ""),
        ("404", "/tiny/"),
    ):
        page = published.page(docname)
        assert [value(each, "href") for each in page.css("link[rel=icon]")] == [f"{up}icon.svg"]
        assert value(page.css_first("link[rel=apple-touch-icon]"), "href") == f"{up}apple-touch-icon.png"
    assert (published.html / "icon.svg").is_file() and (published.html / "apple-touch-icon.png").is_file()


RIGHTS = {
    "en": [
        "Text: CC BY 4.0",
        "Code: MIT",
        "Version 1.2",
        "How to cite",
        "Source of this page",
        "Report an error",
    ],
    "zh-TW": ["內容：CC BY 4.0", "程式碼：MIT", "版本 1.2", "如何引用", "本頁原始檔", "回報錯誤"],
    "zh-CN": ["图文：CC BY 4.0", "代码：MIT", "版本 1.2", "如何引用", "本页源文件", "反馈错误"],
    "ko": ["본문: CC BY 4.0", "코드: MIT", "버전 1.2", "인용 방법", "이 페이지의 소스", "오류 제보"],
}


@pytest.mark.parametrize("code", CODES)
def test_every_page_says_what_a_reader_may_do(published: Built, code: str) -> None:
    page = published.page(f"book/{code}/01-masks")
    assert [each.text().strip() for each in page.css(".polyglot-rights li")] == [
        "© 2026 Nobody",
        *RIGHTS[code],
    ]
    repository = "https://github.com/nobody/tiny"
    assert [value(each, "href") for each in page.css(".polyglot-rights a")] == [
        repository,
        "https://example.org/by",
        "https://example.org/mit",
        f"{repository}/blob/HEAD/CHANGELOG.md",
        "02-heads.html#cite",
        f"{repository}/blob/HEAD/book/{code}/01-masks.ipynb",
        f"{repository}/issues/new?title=book%2F{code}%2F01-masks",
    ]
    assert f"https://example.org/tiny/book/{code}/01-masks.html" in page.css_first(".polyglot-printed").text()
    assert data(page)["license"] == "https://example.org/by" and data(page)["version"] == "1.2"


def test_a_site_without_an_address_or_a_repository_names_none(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = fresh / "_config.yml"
    config.write_text(config.read_text(encoding="utf-8") + f"    polyglot_fonts: {{en: {FONT}}}\n", "utf-8")
    monkeypatch.setenv("POLYGLOT_BASEURL", "https://tiny.example/")
    built = build(fresh)
    assert built.code == 0, built.log
    for docname in ("index", "book/index", "book/en/01-masks", "404"):
        text = (built.html / f"{docname}.html").read_text(encoding="utf-8")
        assert "tiny.example" not in text and "example.org" not in text
        assert not built.page(docname).css("link[rel=canonical], link[rel=alternate]")
    assert not (built.html / "sitemap.xml").exists() and not (built.html / "cards").exists()
    assert "Sitemap" not in (built.html / "robots.txt").read_text(encoding="utf-8")
    assert len(built.page("book/en/01-masks").css(".polyglot-rights li")) == 1
    assert value(built.page("404").css("a")[3], "href") == "/book/ko/index.html"


def test_paper_says_what_it_was_printed_from(published: Built, window: Browser) -> None:
    with serve(published.html) as base, visit(window, base) as seen:
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
