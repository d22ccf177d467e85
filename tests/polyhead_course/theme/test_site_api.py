"""The public names of a package, their pages, and the links that lead there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from polyhead_course.theme.api import Api, methods_of, signature_of
from tests.books.fixtures import BOOKS
from tests.building import Built, build, copy
from tests.pages import broken_links, check_site
from tests.polyhead_course.theme.shapes import write_shapes

CONFIG = """
    polyglot_api:
      packages: [shapes]
      pages:
        book/api: [shapes.areas, shapes.areas.halved, shapes.kinds]
        book/api-more: [shapes.solids]
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


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Api:
    pages = {
        "first": ["shapes.areas", "shapes.areas.halved", "shapes.kinds"],
        "second": ["shapes.solids", "shapes.solids.parts"],
    }
    return Api([write_shapes(tmp_path_factory.mktemp("shapes"))], pages)


def test_public_is_what_a_module_or_its_package_exports(shapes: Api) -> None:
    assert {each.module.path: (each.page, [*each.entries]) for each in shapes.sections} == {
        "shapes.areas": ("first", ["shapes.area", "shapes.areas.halved"]),
        "shapes.kinds": (
            "first",
            ["shapes.kinds.Shape", "shapes.kinds.Square", "shapes.kinds.Corner", "shapes.kinds.Line"],
        ),
        "shapes.solids": ("second", ["shapes.solids.volume", "shapes.solids.SIDES", "shapes.solids.prism"]),
        "shapes.solids.parts": ("second", ["shapes.solids.parts.edge"]),
        # Exported, but in no module that a page lists.
        "shapes.other": ("second", ["shapes.late"]),
    }
    assert shapes.pages["shapes.kinds.Square.grown"] == "first"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("shapes.area", "shapes.area"),
        ("shapes.areas.area", "shapes.area"),
        ("shapes.solids.area", "shapes.area"),
        ("shapes.solids.parts.volume", "shapes.solids.volume"),
        ("shapes.kinds.Square.grown", "shapes.kinds.Square.grown"),
        ("shapes.kinds.Square.sides", "shapes.kinds.Shape.sides"),
        ("shapes.kinds", "shapes.kinds"),
        ("shapes.solids.parts", "shapes.solids.parts"),
        ("shapes.solids.prism", "shapes.solids.prism"),  # what the package imports, not its module
        ("shapes.other", "shapes.other"),
        ("shapes.areas.rounded", None),
        ("shapes.areas._secret", None),
        ("shapes.kinds.Square._hidden", None),
        ("shapes.kinds.Square.grown.more", None),
        ("shapes.nothing", None),
        ("shapes", None),
        ("math.sqrt", None),
    ],
)
def test_a_name_is_found_by_every_way_to_it(shapes: Api, path: str, wanted: str | None) -> None:
    assert shapes.find(path) == wanted


def test_signatures_are_those_of_the_source(shapes: Api) -> None:
    found = {
        path: signature_of(entry, path) for each in shapes.sections for path, entry in each.entries.items()
    }
    assert found["shapes.area"].split("\n") == [
        "shapes.area(",
        '    sides: Float[Tensor, "batch two"],',
        "    *,",
        "    scale: float = 1.5,",
        ") -> float",
    ]
    assert found["shapes.areas.halved"].split("\n") == [
        "shapes.areas.halved(",
        '    first: Float[Tensor, "*batch a_long_name"],',
        "    /,",
        '    second: str = "no",',
        "    *rest: int,",
        "    **options: bool,",
        ') -> Float[Tensor, "*batch a_long_name"]',
    ]
    assert found["shapes.kinds.Shape"] == "shapes.kinds.Shape(name)"
    assert found["shapes.kinds.Square"] == "shapes.kinds.Square(name)"  # its base's parameters
    assert found["shapes.kinds.Corner"] == "shapes.kinds.Corner(x: int, y: int = 3, tags: list = list())"
    assert found["shapes.kinds.Line"] == "shapes.kinds.Line(start: Corner, width: float = 1.0)"
    assert found["shapes.solids.SIDES"] == "shapes.solids.SIDES: dict[str, int] = ..."
    shape, line = (shapes.package["kinds"][name] for name in ("Shape", "Line"))
    assert [signature_of(each, each.name) for each in (*methods_of(shape), *methods_of(line))] == [
        *("sides: int", "make(name) -> Shape", "of(name, /)", "length: float")
    ]


@pytest.mark.parametrize(
    ("package", "name", "message"),
    [
        ("shapes", "shapes.nowhere", "page: no module or name 'shapes.nowhere' in shapes"),
        ("shapes", "shapes.areas.nothing", "page: no module or name 'shapes.areas.nothing' in shapes"),
        (".", "areas", r"expected a package, with a file __init__\.py"),
    ],
)
def test_what_does_not_exist_is_an_error(tmp_path: Path, package: str, name: str, message: str) -> None:
    write_shapes(tmp_path)
    with pytest.raises(ValueError, match=message):
        Api([tmp_path / package], {"page": [name]})


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
        "shapes.kinds.Line",
    ]
    more = book.page("book/api-more")
    assert [each.attributes["id"] for each in more.css("article section section")] == [
        *("shapes.solids", "shapes.solids.volume", "shapes.solids.SIDES", "shapes.solids.prism"),
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


def test_docstrings_are_markdown_with_sections_and_examples(book: Built) -> None:
    page = book.page("book/api")
    entry = page.css_first('[id="shapes.areas.halved"]')
    assert [each.text() for each in entry.css(".rubric")] == ["Example", "Examples", "Returns", "Raises"]
    assert [each.text() for each in entry.css("section > ul p")] == ["a", "b,\nc"]
    assert [each.text() for each in entry.css("section > ul :is(code, em)")] == ["a", "b"]
    assert [each.text() for each in entry.css("section > p:not(.rubric)")] == [
        *("Half of it.", "As code:", "See example.org/a_(b):", "Then more.", "What comes.", "And: more.")
    ]
    assert entry.css_first("section > p > a").attributes["href"] == "https://example.org/a_(b"
    assert [
        (term.text(), text.text().strip())
        for term, text in zip(entry.css("dt"), entry.css("dd"), strict=True)
    ] == [("ValueError", "a\nis negative.")]
    code = entry.css_first(".highlight-python:not(.polyglot-signature) pre")
    assert code.text() == "half = 0.5\n" and code.css(".mf"), "highlighted"
    examples = page.css("pre:has(.gp)")
    assert [[line.rstrip() for line in each.text().splitlines()] for each in examples] == [
        [">>> area([3, 5])", "22.5"],
        [">>> halved(4, scale=2)", "4.0", ">>> halved(2)", "1.0"],
        [">>> halved(6)", "3.0"],
    ]
    assert [each.text() for each in examples[1].css(".go")] == ["4.0", "1.0"], "output is no code"
    fields = page.css_first('[id="shapes.kinds.Corner"]')
    assert [each.text() for each in fields.css(".rubric, dt, dd p")] == ["Attributes", "x", "to the right"]
    more = book.page("book/api-more")
    assert more.css_first('[id="shapes.solids.prism"]').css("p")[-1].text() == "Source: Euclid,\nbook XI."
    constant = more.css_first('[id="shapes.solids.SIDES"]')
    assert constant.css_first("p").text() == "How many sides each has."


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
    built = build(root)
    assert built.read() == {"book/api", "book/api-more"}
    assert "book/ko/02-heads" not in built.written()
    assert built.page("book/api").css_first('[id="shapes.areas.halved"] p').text() == "A half."

    kinds = root / "shapes/kinds.py"
    kinds.write_text(kinds.read_text(encoding="utf-8").replace("Corner", "Vertex"), encoding="utf-8")
    renamed = build(root)
    assert renamed.read() == {"book/api", "book/api-more"}
    assert "book/ko/02-heads" in renamed.written()
    assert "Corner" not in [text for text, _ in links(renamed, "book/ko/02-heads", "article p")]
    assert broken_links(renamed.html) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("        scale: a factor.", "        scales: a factor.", "Parameter 'scales' does not appear"),
        ("def rounded(x):", "def rounded(x:", r"polyglot_api: .*areas\.py, line"),
    ],
)
def test_a_mistake_in_the_package_is_a_warning(tmp_path: Path, old: str, new: str, message: str) -> None:
    root = written(tmp_path / "four")
    source = root / "shapes/areas.py"
    source.write_text(source.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    built = build(root)
    assert built.code != 0
    assert re.search(message, built.log), built.log
