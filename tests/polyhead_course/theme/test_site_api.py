"""The page of a package's names, and the links that lead to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.books.fixtures import BOOKS
from tests.building import Built, build, copy
from tests.pages import broken_links, check_site
from tests.polyglot_book.shapes import write_shapes

CONFIG = """
    polyglot_api:
      package: shapes
      pages:
        book/api: [areas, areas.halved, kinds]
        book/api-more: [solids]
"""
PAGE = """---
description: All names.
---

# {}

What there is.

```{{api-reference}}
```
"""
TEXT = """# 3. Names

## The heading `shapes.area`

Names: `shapes.area`, `area(2, 3)`, `shapes.areas.halved`, `kinds.Square.sides`, `Corner`.

No names: `shapes`, `area of`, `halved`, `areas`, `kinds`, `late`, `shapes.areas.rounded`,
[`shapes.area`](#title).

## More
"""
CODE = """import shapes
from shapes import kinds
from shapes.kinds import Corner as Edge, Corner

def late():
    return shapes.area(kinds.Square.grown, kinds.more, x.shapes.area, area)
"""
OUTPUT = "`shapes.areas` · `area`\n\n`shapes.kinds` · `late`, `area`"


def notebook() -> str:
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": TEXT},
        {
            "cell_type": "code",
            "id": "code",
            "metadata": {},
            "source": CODE,
            "execution_count": 1,
            "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"text/markdown": OUTPUT}}],
        },
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def written(root: Path) -> Path:
    """Write the book with such a page."""
    copy(BOOKS / "four", root)
    config, toc = root / "_config.yml", root / "_toc.yml"
    config.write_text(config.read_text(encoding="utf-8").rstrip() + CONFIG, encoding="utf-8")
    toc.write_text(
        toc.read_text(encoding="utf-8") + "- file: book/api\n- file: book/api-more\n", encoding="utf-8"
    )
    (root / "book/api.md").write_text(PAGE.format("Names"), encoding="utf-8")
    (root / "book/api-more.md").write_text(PAGE.format("More names"), encoding="utf-8")
    for code in ("en", "ko"):
        (root / f"book/{code}/02-heads.ipynb").write_text(notebook(), encoding="utf-8")
    write_shapes(root)
    return root


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = build(written(tmp_path_factory.mktemp("api") / "four"))
    assert built.code == 0, built.log
    return built


def test_the_pages_have_each_name_once(book: Built) -> None:
    page = book.page("book/api")
    assert page.root.attributes["lang"] == "en"
    ids = [each.attributes["id"] for each in page.css("article section section")]
    assert ids == [
        *("shapes.areas", "shapes.area", "shapes.areas.halved"),
        *("shapes.kinds", "shapes.kinds.Shape", "shapes.kinds.Square", "shapes.kinds.Corner"),
    ]
    more = book.page("book/api-more")
    assert [each.attributes["id"] for each in more.css("article section section")] == [
        *("shapes.solids", "shapes.solids.volume", "shapes.solids.SIDES"),
        *("shapes.other", "shapes.late"),
    ]
    assert ("Shapes and their sizes." in page.text(), "Shapes and their sizes." in more.text()) == (
        True,
        False,
    )
    entry = page.css_first('[id="shapes.area"]')
    assert entry.css_first("h3 code").text() == "area"
    assert 'sides: Float[Tensor, "batch two"],' in entry.css_first("pre").text()
    assert [each.text() for each in entry.css("dt")] == ["sides", "scale"]
    assert entry.css("p")[-1].text() == "Source: Euclid, book I."
    # Its own arguments are no names, nor is what it only mentions; another module's must say its module.
    links = [each.attributes["href"] for each in entry.css("p a")]
    assert links == ["#shapes.areas.halved", "https://example.org/areas"]
    method = page.css_first('[id="shapes.kinds.Shape.make"]')
    assert [each.attributes["href"] for each in method.css("a")] == ["#shapes.kinds.Shape", "#shapes.area"]


def links(book: Built, docname: str, selector: str) -> list[tuple[str, str]]:
    found = [(each.text(), each.attributes["href"]) for each in book.page(docname).css(f"{selector} a")]
    return [(text, href.removeprefix("../api.html#shapes.")) for text, href in found if "api.html#" in href]


@pytest.mark.parametrize("code", ["en", "ko"])
def test_names_in_the_text_lead_to_their_entries(book: Built, code: str) -> None:
    assert links(book, f"book/{code}/02-heads", "article section > p") == [
        ("shapes.area", "area"),
        ("area(2, 3)", "area"),
        ("shapes.areas.halved", "areas.halved"),
        ("kinds.Square.sides", "kinds.Shape.sides"),
        ("Corner", "kinds.Corner"),
    ]
    assert links(book, f"book/{code}/02-heads", "h2") == []


def test_names_in_code_lead_to_their_entries(book: Built) -> None:
    assert links(book, "book/en/02-heads", ".cell_input") == [
        ("kinds", "kinds"),
        ("shapes.kinds", "kinds"),
        *(("Corner", "kinds.Corner"), ("Edge", "kinds.Corner"), ("Corner", "kinds.Corner")),
        ("shapes.area", "area"),
        ("kinds.Square.grown", "kinds.Square.grown"),
    ]
    code = book.page("book/en/02-heads").css_first(".cell_input pre").text()
    assert code.strip() == CODE.strip(), "copied code is what it was"
    assert links(book, "book/en/02-heads", ".cell_output") == [
        ("shapes.areas", "areas"),
        ("area", "area"),
        ("shapes.kinds", "kinds"),
    ]


def test_every_language_leads_there_and_back(book: Built) -> None:
    for code, word in {
        "en": "API reference",
        "zh-TW": "API 參考（英文）",
        "ko": "API 레퍼런스(영어)",
    }.items():
        *_, last = book.page(f"book/{code}/01-masks").css("#pst-primary-sidebar nav.bd-docs-nav a")
        assert (last.text(), last.attributes["href"]) == (word, "../api.html")
        assert last.attributes.get("hreflang") == (None if code == "en" else "en")
    page = book.page("book/api")
    sidebar = page.css("#pst-primary-sidebar nav.bd-docs-nav a")
    assert [each.text() for each in sidebar if each.attributes.get("aria-current")] == ["API reference"]
    assert (
        sidebar[[each.text() for each in sidebar].index("More names")].attributes["href"] == "api-more.html"
    )
    homes = {
        each.attributes["lang"]: each.attributes["href"] for each in sidebar if "lang" in each.attributes
    }
    assert homes == {code: f"{code}/index.html" for code in ("zh-TW", "zh-CN", "ko")}


def test_nobody_is_offered_a_translation_of_it(book: Built) -> None:
    page = book.page("book/api")
    assert page.css(".polyglot-switcher") == []
    found = {each.attributes["hreflang"]: each.attributes["href"] for each in page.css("link[hreflang]")}
    assert found == dict.fromkeys(("en", "x-default"), "https://example.org/tiny/book/api.html")
    assert page.css_first("title").text().strip() == "Names – Tiny"
    assert page.css(".prev-next-footer") == []


def test_the_whole_site_passes_its_checks(book: Built) -> None:
    assert (
        check_site(book.html, {".ipynb", ".md", ".pdf", "3. Names", "The heading", "More"}, "article p") == []
    )


def test_what_changes_in_the_package_changes_on_the_pages(tmp_path: Path) -> None:
    root = written(tmp_path / "four")
    assert build(root).code == 0
    source = root / "shapes/areas.py"
    source.write_text(source.read_text(encoding="utf-8").replace("Half of it", "A half"), encoding="utf-8")
    told = build(root)
    assert told.read() == {"book/api", "book/api-more"}
    assert "book/ko/02-heads" not in told.written()
    assert told.page("book/api").css_first('[id="shapes.areas.halved"] p').text() == "A half."

    source.write_text(source.read_text(encoding="utf-8").replace("halved", "quartered"), encoding="utf-8")
    gone = build(root)
    assert gone.read() == {"book/api", "book/api-more"}
    assert "book/ko/02-heads" in gone.written()
    assert "shapes.areas.halved" not in [text for text, _ in links(gone, "book/ko/02-heads", "article p")]
    assert broken_links(gone.html) == []
