"""The public names of a package, their pages, and the links that lead there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from sphinx.errors import ConfigError

from polyhead_course.theme.api import Api, methods_of, signature_of
from polyhead_course.theme.reference import configured_api
from tests.books.fixtures import BOOKS, edit
from tests.building import Built, copy
from tests.pages import check_site


@pytest.fixture(scope="module")
def shapes() -> Api:
    pages = {
        "first": ["shapes.areas", "shapes.areas.halved", "shapes.kinds"],
        "second": ["shapes.solids", "shapes.solids.parts"],
    }
    return Api([BOOKS / "full/shapes"], pages)


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
        ("full/shapes", "shapes.nowhere", "page: no module or name 'shapes.nowhere' in shapes"),
        ("full/shapes", "shapes.areas.nothing", "page: no module or name 'shapes.areas.nothing' in shapes"),
        ("full", "areas", r"expected a package, with a file __init__\.py"),
    ],
)
def test_what_does_not_exist_is_an_error(package: str, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Api([BOOKS / package], {"page": [name]})


def test_a_package_that_cannot_be_parsed_stops_the_build(tmp_path: Path) -> None:
    root = copy(BOOKS / "full", tmp_path / "full")
    edit(root / "shapes/areas.py", "def rounded(x):", "def rounded(x:")
    config = SimpleNamespace(polyglot_api={"packages": ["shapes"], "pages": {"page": ["shapes.areas"]}})
    with pytest.raises(ConfigError, match=r"polyglot_api: .*areas\.py, line"):
        configured_api(config, root)


def test_the_pages_have_each_name_once(full: Built) -> None:
    page = full.page("book/api")
    assert page.root.attributes["lang"] == "en"
    ids = [each.attributes["id"] for each in page.css("article section section")]
    assert ids == [
        *("shapes.areas", "shapes.area", "shapes.areas.halved"),
        *("shapes.kinds", "shapes.kinds.Shape", "shapes.kinds.Square", "shapes.kinds.Corner"),
        "shapes.kinds.Line",
    ]
    more = full.page("book/api-more")
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


def test_docstrings_are_markdown_with_sections_and_examples(full: Built) -> None:
    page = full.page("book/api")
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
    assert code.text() == "half = 0.5\n" and code.css(".m"), "highlighted"
    examples = page.css("pre:has(.gp)")
    assert [[line.rstrip() for line in each.text().splitlines()] for each in examples] == [
        [">>> area([3, 5])", "22.5"],
        [">>> halved(4, scale=2)", "4.0", ">>> halved(2)", "1.0"],
        [">>> halved(6)", "3.0"],
    ]
    assert [each.text() for each in examples[1].css(".go")] == ["4.0", "1.0"], "output is no code"
    fields = page.css_first('[id="shapes.kinds.Corner"]')
    assert [each.text() for each in fields.css(".rubric, dt, dd p")] == ["Attributes", "x", "to the right"]
    more = full.page("book/api-more")
    assert more.css_first('[id="shapes.solids.prism"]').css("p")[-1].text() == "Source: Euclid,\nbook XI."
    constant = more.css_first('[id="shapes.solids.SIDES"]')
    assert constant.css_first("p").text() == "How many sides each has."


def links(full: Built, docname: str, selector: str) -> list[tuple[str, str]]:
    found = [(each.text(), each.attributes["href"]) for each in full.page(docname).css(f"{selector} a")]
    return [(text, href.removeprefix("../api.html#shapes.")) for text, href in found if "api.html#" in href]


@pytest.mark.parametrize("code", ["en", "ko"])
def test_names_in_the_text_lead_to_their_entries(full: Built, code: str) -> None:
    assert links(full, f"book/{code}/02-names", "article section > p") == [
        ("shapes.area", "area"),
        ("area(2, 3)", "area"),
        ("shapes.areas.halved", "areas.halved"),
        ("kinds.Square.sides", "kinds.Shape.sides"),
        ("Corner", "kinds.Corner"),
    ]
    assert links(full, f"book/{code}/02-names", "h2") == []


def test_names_in_code_lead_to_their_entries(full: Built) -> None:
    assert links(full, "book/en/02-names", ".cell_input") == [
        ("kinds", "kinds"),
        ("shapes.kinds", "kinds"),
        *(("Corner", "kinds.Corner"), ("Edge", "kinds.Corner"), ("Corner", "kinds.Corner")),
        ("shapes.area", "area"),
        ("kinds.Square.grown", "kinds.Square.grown"),
    ]
    code = full.page("book/en/02-names").css_first(".cell_input pre").text()
    assert code.startswith("import shapes\nfrom shapes import kinds\n"), "copied code is unchanged"
    assert links(full, "book/en/02-names", ".cell_output") == [
        ("shapes.areas", "areas"),
        ("area", "area"),
        ("shapes.kinds", "kinds"),
    ]


def test_every_language_leads_there_and_back(full: Built) -> None:
    for code, word in {"en": "API reference", "ko": "API 레퍼런스(영어)"}.items():
        *_, last = full.page(f"book/{code}/01-masks").css("#pst-primary-sidebar nav.bd-docs-nav a")
        assert (last.text(), last.attributes["href"]) == (word, "../api.html")
        assert last.attributes.get("hreflang") == (None if code == "en" else "en")
    sidebar = full.page("book/api").css("#pst-primary-sidebar nav.bd-docs-nav a")
    assert [each.text() for each in sidebar if each.attributes.get("aria-current")] == ["API reference"]
    addresses = {each.text(): each.attributes["href"] for each in sidebar}
    assert addresses["More names"] == "api-more.html"
    assert [(each.text(), each.attributes["href"]) for each in sidebar if "lang" in each.attributes] == [
        ("한국어", "ko/index.html")
    ]


def test_nobody_is_offered_a_translation_of_it(full: Built) -> None:
    page = full.page("book/api")
    assert page.css(".polyglot-switcher") == []
    found = {each.attributes["hreflang"]: each.attributes["href"] for each in page.css("link[hreflang]")}
    assert found == dict.fromkeys(("en", "x-default"), "https://example.org/tiny/book/api.html")
    assert page.css_first("title").text().strip() == "Names – Tiny"
    assert page.css(".prev-next-footer") == []


def test_the_whole_site_passes_its_checks(full: Built) -> None:
    broken = check_site(full.html, {".ipynb", ".md", ".pdf"})
    # `make pages` adds the printed books and the handouts.
    assert [each for each in broken if not re.search("/(pdf|handouts)/tiny-", each)] == []
