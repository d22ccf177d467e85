"""What a package's source says of its public names, and what its docstrings consist of."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyhead_course.theme.docstrings import blocks, inlines
from polyhead_course.theme.library import Entry, Library
from tests.polyglot_book.shapes import write_shapes


@pytest.fixture
def shapes(tmp_path: Path) -> Library:
    return Library(
        write_shapes(tmp_path), ["areas", "areas.halved", "nowhere", "kinds", "solids", "solids.parts"]
    )


def entries(library: Library) -> dict[str, Entry]:
    return {entry.path: entry for section in library.sections for entry in section.entries}


def test_public_is_what_a_module_or_its_package_exports(shapes: Library) -> None:
    found = {each.path: [entry.path for entry in each.entries] for each in shapes.sections}
    assert found == {
        "shapes.areas": ["shapes.area", "shapes.areas.halved"],
        "shapes.kinds": ["shapes.kinds.Shape", "shapes.kinds.Square", "shapes.kinds.Corner"],
        "shapes.solids": ["shapes.solids.volume", "shapes.solids.SIDES"],
        "shapes.solids.parts": ["shapes.solids.parts.edge"],
        # Exported, and in no module that was asked for.
        "shapes.other": ["shapes.late"],
    }


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
        ("shapes.areas.rounded", None),
        ("shapes.areas._secret", None),
        ("shapes.kinds.Square._hidden", None),
        ("shapes.kinds.Square.grown.more", None),
        ("shapes.nothing", None),
        ("shapes", None),
        ("math.sqrt", None),
    ],
)
def test_a_name_is_found_by_every_way_to_it(shapes: Library, path: str, wanted: str | None) -> None:
    assert shapes.find(path) == wanted


def test_signatures_are_those_of_the_source(shapes: Library) -> None:
    found = {path: entry.signature for path, entry in entries(shapes).items()}
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
    assert found["shapes.kinds.Square"] == "shapes.kinds.Square(name)"  # made as its base is
    assert found["shapes.kinds.Corner"] == "shapes.kinds.Corner(x: int, y: int = 3, tags: list = ...)"
    assert found["shapes.solids.SIDES"] == "SIDES: dict[str, int] = ..."
    shape = entries(shapes)["shapes.kinds.Shape"]
    assert [each.signature for each in shape.methods] == ["sides: int", "make(name) -> Shape", "of(name, /)"]


def test_docs_are_the_docstrings_and_the_comments(shapes: Library) -> None:
    found = entries(shapes)
    assert found["shapes.kinds.Shape"].docs == ("A shape.", "Name it.")
    assert found["shapes.kinds.Square"].docs == ("Four sides.",)
    assert found["shapes.kinds.Square"].bases == ("shapes.kinds.Shape",)
    assert [(each.name, each.comment) for each in found["shapes.kinds.Corner"].fields] == [
        ("x", "to the right"),
        ("y", ""),
        ("tags", ""),
    ]
    assert found["shapes.solids.SIDES"].docs == ("How many sides each has.",)


def test_a_folder_without_a_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a package, with a file __init__\.py"):
        Library(tmp_path)


def test_a_docstring_has_paragraphs_lists_and_code() -> None:
    doc = """One line,
    and another.

    - first
    - second,
      which goes on

        x = 1

    wide, high: two sizes.
    deep: a third.

    Args:
        *rest: goes on
            and on.
        one, two: as
            `three`.

    Returns:
        What comes.

        And more.

    Source: somebody.
    """
    assert [tuple(each) for each in blocks(doc, ["wide", "high", "deep"])] == [
        ("text", "One line, and another.", ()),
        ("points", "", (("", "first"), ("", "second, which goes on"))),
        ("code", "x = 1", ()),
        ("heading", "Attributes", ()),
        ("names", "", (("wide, high", "two sizes."), ("deep", "a third."))),
        ("heading", "Args", ()),
        ("names", "", (("*rest", "goes on and on."), ("one, two", "as `three`."))),
        ("heading", "Returns", ()),
        ("text", "What comes.", ()),
        ("text", "And more.", ()),
        ("text", "Source: somebody.", ()),
    ]


def test_lines_have_code_addresses_and_emphasis() -> None:
    text = "`a * b` is *not* a * b * c, see https://example.org/a_(b). ``c``"
    assert [tuple(each) for each in inlines(text)] == [
        ("code", "a * b"),
        ("text", " is "),
        ("emphasis", "not"),
        ("text", " a * b * c, see "),
        ("url", "https://example.org/a_(b"),
        ("text", "). "),
        ("code", "c"),
    ]
