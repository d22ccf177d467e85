"""Anchors of cells and headings, contents of languages, directions, formats: by hand, without a build."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import sphinx.locale
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from sphinx import addnodes

from polyglot_book.config import Language
from sphinx_polyglot import anchors, fallback, internals
from sphinx_polyglot.anchors import AnchorCells, ShareAnchors, mark_cells, share_anchors
from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import PageCatalogue, current_language, in_language

EN, KO, FA = (Language(code, code, code, code) for code in ("en", "ko", "fa"))
PAGES = Pages({each.code: each for each in (EN, KO, FA)}, "book", (), "book/en/index")
CONFIG = SimpleNamespace(_polyglot_pages=PAGES)


def document() -> Any:
    """An empty page, with what Sphinx adds to its settings."""
    document = new_document("page", get_default_settings(Parser))
    document.settings.env = SimpleNamespace(metadata={"page": {}}, docname="page")
    return document


def mark(identifier: str) -> nodes.comment:
    return nodes.comment("", f"polyglot-cell: {identifier} ")


def heading(text: str, *children: nodes.Node, identifier: str) -> nodes.section:
    return nodes.section("", nodes.title(text, text), *children, ids=[identifier])


def anchored(page: Any) -> Any:
    transform = AnchorCells(page)
    transform.apply()
    return page


# ---- notebooks


def test_ids_of_cells_are_written_where_the_parser_keeps_them() -> None:
    cells = [
        {"cell_type": "markdown", "id": "a", "source": "# 연못", "metadata": {}},
        {"cell_type": "code", "id": "b", "source": "1", "metadata": {"tags": ["x"]}, "outputs": []},
        {"cell_type": "markdown", "source": "old", "metadata": {}},
        {"cell_type": "raw", "id": "c", "source": "raw", "metadata": {}},
        {"cell_type": "code", "id": "d", "source": "2", "outputs": [], "metadata": {}},
    ]
    source, told = [json.dumps({"cells": cells, "nbformat": 4, "metadata": {}})], []
    env = SimpleNamespace(doc2path=lambda name: f"/src/{name}")
    app: Any = SimpleNamespace(env=env, emit=lambda *event: told.append(event))
    mark_cells(app, "page.md", source)
    assert told == []
    mark_cells(app, "page.ipynb", source)
    found = json.loads(source[0])["cells"]
    assert [each["source"] for each in found] == ["% polyglot-cell: a\n\n# 연못", "1", "old", "raw", "2"]
    assert [each.get("metadata") for each in found] == [
        {}, {"tags": ["x"], "polyglot_cell": "b"}, {}, {}, {"polyglot_cell": "d"},
    ]  # fmt: skip
    assert "연못" in source[0]
    assert [(name, notebook["cells"]) for name, notebook in told] == [("polyglot-notebook-read", found)]
    broken = ["no notebook"]
    mark_cells(app, "page.ipynb", broken)
    assert broken == ["no notebook"]


# ---- a page


def test_the_anchor_of_a_cell_is_on_its_first_visible_node() -> None:
    page = document()
    code = nodes.container(nb_element="cell_code", cell_metadata={"polyglot_cell": "code"}, ids=["x"])
    other = nodes.container(nb_element="cell_code_source", ids=["y"])
    section = heading("Ponds", nodes.paragraph("", "deep"), identifier="ponds")
    page += [
        mark("title"), section, mark("words"), nodes.comment("", "a remark"), nodes.paragraph("", "wide"),
        mark("image"), nodes.image(uri="a.png"), mark("nothing"), mark("last"), nodes.transition(),
        code, other,
    ]  # fmt: skip
    anchored(page)
    assert (section["ids"], code["ids"], other["ids"]) == (["title"], ["code", "x"], ["y"])
    assert [each["ids"] for each in page.findall(nodes.paragraph)] == [[], ["words"]]
    empty = [
        (each["ids"], type(each.next_node(descend=False, siblings=True)))
        for each in page.findall(nodes.target)
    ]
    assert empty == [(["image"], nodes.image), (["nothing"], nodes.target), (["last"], nodes.transition)]
    assert [each.astext() for each in page.findall(nodes.comment)] == ["a remark"]
    slugs = {key: (identifier, title) for key, (_, identifier, title) in page.myst_slugs.items()}
    assert slugs == {
        "title": ("title", "Ponds"),
        **{key: (key, "") for key in ("words", "image", "nothing", "last", "code")},
    }
    assert page.settings.env.metadata["page"]["myst_slugs"] == page.myst_slugs
    assert page.ids["title"] is section and page.ids["code"] is code


def test_further_headings_of_a_cell_are_numbered_and_own_labels_stay() -> None:
    page = document()
    inner = [heading(f"H{number}", identifier=f"h{number}") for number in (1, 2, 3)]
    first = heading("Why", inner[0], identifier="why-so")
    page += [heading("before", identifier="alone"), mark("why"), first, inner[1], mark("why-3"), inner[2]]
    page.nameids = {"why so": "why-so", "h1": "h1", "mine": "h2", "before": "alone"}
    page.nametypes = {"mine": True, "h1": False}
    page.ids = {each: None for each in ("alone", "why-so", "h1", "h2", "h3")}
    page.myst_slugs = {"why-so": (1, "why-so", "Why"), "h2": (2, "h2", "H2")}
    inner[1]["ids"] = ["h2-old", "h2"]
    anchored(page)
    assert [each["ids"] for each in page.findall(nodes.section)] == [
        ["alone"], ["why"], ["why-2"], ["why-4", "h2"], ["why-3"],
    ]  # fmt: skip
    assert page.nameids == {"why so": "why", "h1": "why-2", "mine": "h2", "before": "alone"}
    assert not {"why-so", "h1", "h3"} & page.ids.keys()
    assert {"h2", "alone"} <= page.ids.keys()
    assert page.myst_slugs["why-so"] == (1, "why", "Why")  # it leads to the new anchor
    assert page.myst_slugs["h2"] == (2, "h2", "H2")
    assert page.myst_slugs["why-4"][1:] == ("why-4", "H2")


def test_an_id_that_occurs_twice_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    logger = SimpleNamespace(warning=lambda text, *words, location: told.append(text % words))
    monkeypatch.setattr(anchors, "LOGGER", logger)
    page = document()
    page += [mark("a"), nodes.paragraph(), mark("b"), nodes.paragraph(), mark("a"), nodes.paragraph()]
    anchored(page)
    assert told == ["the cell id 'a' occurs twice on this page"]


# ---- translated headings


def contents(*entries: tuple[int, str]) -> nodes.bullet_list:
    """The contents of a page: the depth and the anchor of each heading."""
    top = nodes.bullet_list()
    for depth, anchor in entries:
        place: Any = top
        for _ in range(depth):
            place += nodes.bullet_list()
            place = place[-1]
        place += nodes.reference(anchorname=f"#{anchor}" if anchor else "")
    return top


def test_headings_of_a_translation_have_the_anchors_of_the_reference() -> None:
    tocs = {
        "book/en/a": contents((0, ""), (1, "why"), (1, "how"), (1, "end")),
        "book/ko/a": contents((0, ""), (1, "wae"), (1, "how"), (1, "kkeut")),
        "book/fa/a": contents((0, ""), (1, "why"), (2, "chetor"), (1, "end")),
        "book/ko/alone": contents((0, ""), (1, "x")),
    }
    ids = {"book/ko/a": {"end": "a table's"}}
    env: Any = SimpleNamespace(
        found_docs=set(tocs), tocs=tocs, metadata={each: {} for each in tocs},
        get_doctree=lambda name: SimpleNamespace(ids=ids.get(name, {})),
    )  # fmt: skip
    env.metadata["book/ko/a"]["polyglot_shared_anchors"] = {"first": "wae", "other": "else"}
    assert share_anchors(SimpleNamespace(config=CONFIG), env) == ["book/ko/a"]  # type: ignore[arg-type]
    assert [each["anchorname"] for each in tocs["book/ko/a"].findall(nodes.reference)] == [
        "", "#why", "#how", "#kkeut",
    ]  # fmt: skip
    assert [each["anchorname"] for each in tocs["book/fa/a"].findall(nodes.reference)][2] == "#chetor"
    assert env.metadata["book/ko/a"]["polyglot_shared_anchors"] == {
        "": "", "wae": "why", "how": "how", "kkeut": "kkeut", "first": "why", "other": "else",
    }  # fmt: skip
    assert env.metadata["book/fa/a"] == {}


def test_the_anchor_of_the_reference_stands_before_the_own_one() -> None:
    page = document()
    page += [heading("A", identifier="wae"), heading("B", identifier="b"), heading("C", identifier="x")]
    page[2]["ids"] = ["x", "why", "z"]
    page.settings.env = SimpleNamespace(metadata={"page": {}}, docname="page")
    transform: Any = ShareAnchors(page)
    transform.run()
    assert [each["ids"] for each in page.findall(nodes.section)] == [["wae"], ["b"], ["x", "why", "z"]]
    transform.env.metadata["page"]["polyglot_shared_anchors"] = {"wae": "why", "why": "why"}
    transform.run()
    assert [each["ids"] for each in page.findall(nodes.section)] == [["why", "wae"], ["b"], ["why", "x", "z"]]


# ---- contents of a language


def test_pages_are_read_again_when_what_they_list_changes() -> None:
    env: Any = SimpleNamespace(
        toctree_includes={"book/ko/index": ["book/ko/a"], "book/ko/a": ["book/ko/b"]},
        polyglot_changed={"book/fa/x", "book/fa/gone"},
        found_docs={"book/ko/index", "book/ko/a", "book/fa/x", "book/en/index", "book/fa/index"},
    )
    app: Any = SimpleNamespace(config=CONFIG)
    firsts = {f"book/{code}/index" for code in PAGES.languages}

    def read(*changes: set[str], pages: Pages = PAGES) -> set[str]:
        app.config = SimpleNamespace(_polyglot_pages=pages)
        return set(fallback.outdated(app, env, *changes))

    assert read(set(), {"book/ko/a"}, set()) == {"book/fa/x"}
    assert read(set(), set(), {"book/ko/b"}) == {"book/fa/x", "book/ko/a"}
    changes: tuple[set[str], set[str], set[str]]
    for changes in (
        ({"book/en/index"}, set(), set()),
        (set(), {"book/ko/index"}, set()),
        (set(), set(), {"book/ko/a"}),
    ):
        assert read(*changes) == {"book/fa/x"} | firsts
    apart = Pages(PAGES.languages, "book", (), "intro")
    assert read({"book/en/index"}, set(), set(), pages=apart) == {"book/fa/x"}


def test_a_language_s_part_of_the_contents_moves_to_its_first_page() -> None:
    entries = [(None, f"book/{name}") for name in ("en/a", "ko/index", "ko/a", "fa/a", "ko/b")]
    toctree = addnodes.toctree(parent="book/en/index", entries=entries)
    toctree["includefiles"] = [name for _, name in entries][:4]
    moved = fallback._taken_from(toctree, "book/ko/index", PAGES, KO)
    assert (moved["parent"], moved["entries"]) == (
        "book/ko/index",
        [(None, "book/ko/a"), (None, "book/ko/b")],
    )
    assert moved["includefiles"] == ["book/ko/a"]
    assert (toctree["parent"], toctree["entries"]) == (
        "book/en/index",
        [(None, "book/en/a"), (None, "book/fa/a")],
    )
    assert toctree["includefiles"] == ["book/en/a", "book/fa/a"]


# ---- formats and directions


def test_the_format_of_a_number_is_translated_as_a_whole_or_by_its_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = PageCatalogue({})
    words = {"Fig. %s": "그림 %s번", "Table": "표", "Hall %s": ""}
    monkeypatch.setattr(own, "find", words.get)
    others = {("general", "a"): SimpleNamespace(find="no catalogue of ours"), ("general", "b"): own}
    monkeypatch.setattr(sphinx.locale, "translators", others)
    given = {key: key for key in ("Fig. %s", "Table %s", "Table %s of %s", "Room %s", "")}
    formats = internals._Formats(given)
    monkeypatch.setattr(internals, "_", lambda text: f"sphinx: {text}")
    assert {key: formats[key] for key in given} == {
        "Fig. %s": "그림 %s번", "Table %s": "표 %s", "Table %s of %s": "sphinx: Table %s of %s",
        "Room %s": "sphinx: Room %s", "": "",
    }  # fmt: skip
    assert (formats.get("no"), formats.get("no", "Table %s")) == (None, "표 %s")


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        ("<html><html>", {"polyglot_direction": "rtl"}, '<html dir="rtl"><html>'),
        ('<html lang="fa">', {"polyglot_direction": "rtl"}, '<html dir="rtl" lang="fa">'),
        ('<html lang="fa" dir="auto">', {"polyglot_direction": "rtl"}, '<html lang="fa" dir="auto">'),
        ("<htmlx>", {"polyglot_direction": "rtl"}, "<htmlx>"),
        ("<html>", {"polyglot_direction": "ltr"}, "<html>"),
        ("<html>", {}, "<html>"),
    ],
)
def test_the_first_tag_has_the_direction(text: str, context: dict[str, str], expected: str) -> None:
    templates = SimpleNamespace(render=lambda template, context: f"{text}")
    app: Any = SimpleNamespace(builder=SimpleNamespace(format="html", templates=templates))
    internals.set_direction(app)
    assert templates.render("page.html", context) == expected


def test_other_builders_have_no_directions() -> None:
    builder = SimpleNamespace(format="latex")
    internals.set_direction(SimpleNamespace(builder=builder))  # type: ignore[arg-type]
    assert vars(builder) == {"format": "latex"}


def test_a_writing_process_has_the_language_of_its_page(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []
    app: Any = SimpleNamespace(
        config=SimpleNamespace(_polyglot_pages=PAGES, numfig_format={"figure": "Fig. %s"}, root_doc="other"),
        env=SimpleNamespace(config=CONFIG, master_doctree="other"), doctreedir=str(tmp_path),
    )  # fmt: skip
    app.builder = SimpleNamespace(write_doc=lambda *page: written.append((current_language(), *page)))
    monkeypatch.setattr(internals, "note_missing", written.append)
    internals.set_language_in_processes(app)
    with in_language(None):
        app.builder.write_doc("book/ko/pond", "tree")
    assert written == [(KO, "book/ko/pond", "tree"), tmp_path]
    assert isinstance(app.config.numfig_format, internals._Formats)
    assert (app.config.root_doc, hasattr(app.env, "master_doctree")) == ("book/en/index", False)
