"""The page of the library's names: each public name has an entry, and names in the chapters lead there."""

from __future__ import annotations

import ast
import doctest
import gzip
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import polyhead
from polyglot_book.chapters import read_all
from polyglot_book.config import Book
from polyhead_course.theme.api import Api, parameters_of
from tests.pages import Page, parse

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"][
    "polyglot_api"
]
PACKAGES = {Path(each).name for each in SETTINGS["packages"]}
# What makes a page heavier is few bytes: links to one page are much alike.
MOST_BYTES = 1000


@pytest.fixture(scope="module")
def api() -> Api:
    return Api([ROOT / each for each in SETTINGS["packages"]], SETTINGS["pages"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    names = [f"{docname}.html" for docname in SETTINGS["pages"]]
    return {Path(name).name: parse((site / name).read_text(encoding="utf-8")) for name in names}


@pytest.fixture(scope="module")
def ids(pages: dict[str, Page]) -> dict[str, str]:
    """Give the page of each id."""
    return {each.attributes["id"] or "": name for name, page in pages.items() for each in page.css("[id]")}


def test_the_recipes_give_what_they_show() -> None:
    text = (ROOT / "book/api.md").read_text(encoding="utf-8")
    recipes = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    test = doctest.DocTestParser().get_doctest(recipes, {}, "api.md", None, 0)
    assert len(test.examples) > 15
    assert doctest.DocTestRunner().run(test).failed == 0


def test_every_public_name_has_an_entry(api: Api) -> None:
    names = [f"polyhead.{name}" for name in polyhead.__all__]
    for path in sorted(api.modules):
        module = importlib.import_module(path)
        names += [f"{path}.{name}" for name in getattr(module, "__all__", ())]
    assert len(names) > 150
    assert [name for name in names if api.find(name) is None] == []


def test_an_entry_says_what_python_says(api: Api) -> None:
    for path, entry in (item for section in api.sections for item in section.entries.items()):
        module, _, name = path.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        if inspect.isfunction(thing):
            assert entry.docstring and entry.docstring.value == inspect.getdoc(thing), path
            assert [each.name for each in parameters_of(entry)] == [*inspect.signature(thing).parameters], (
                path
            )


def test_the_built_pages_are_those_of_the_library(
    api: Api, pages: dict[str, Page], ids: dict[str, str]
) -> None:
    assert {path: f"{Path(page).name}.html" for path, page in api.pages.items()}.items() <= ids.items()
    assert set(ids.values()) == pages.keys()
    # A reader of a signature can look up what its kinds are.
    signature = pages["api.html"].css_first('[id="polyhead.MultiHeadAttention"] .polyglot-signature')
    assert {each.attributes["href"] for each in signature.css("a")} >= {
        "api-tools.html#polyhead.checked.Size"
    }


def test_every_name_that_a_chapter_uses_has_an_entry(book: Book, api: Api) -> None:
    missing = set()
    for chapter in read_all(book)[0].values():
        trees = [tree for cell in chapter.cells if cell.kind == "code" and (tree := _parsed(cell.source))]
        imported = dict(_imported(trees))
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.Attribute) and (path := _path(node, imported)):
                public = not any(part.startswith("_") for part in path.split("."))
                if public and _is_code(path) and api.find(path) is None:
                    missing.add(f"{chapter.file}: {path}")
        missing |= {
            f"{chapter.file}: {path}"
            for path in imported.values()
            if _is_code(path) and api.find(path) is None
        }
    assert missing == set(), "name them in polyglot_api in _config.yml:\n" + "\n".join(sorted(missing))


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except SyntaxError:
        return None


def _imported(trees: list[ast.Module]) -> Iterator[tuple[str, str]]:
    yield from ((name, name) for name in PACKAGES)
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)


def _path(node: ast.expr, imported: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return imported.get(node.id)
    if isinstance(node, ast.Attribute) and (path := _path(node.value, imported)):
        return f"{path}.{node.attr}"
    return None


def _is_code(path: str) -> bool:
    """Whether a path names a function or a class of the library: no module, no method, no number."""
    package, *names = path.split(".")
    thing: Any = importlib.import_module(package)
    for name in names:
        if inspect.isclass(thing):
            return False
        if isinstance(thing, ModuleType) and not hasattr(thing, name):
            try:
                importlib.import_module(f"{thing.__name__}.{name}")
            except ImportError:
                return False
        thing = getattr(thing, name, None)
    home = getattr(thing, "__module__", None) or ""
    return (inspect.isfunction(thing) or inspect.isclass(thing)) and home.split(".")[0] in PACKAGES


def test_links_to_names_lead_to_entries_and_weigh_little(site: Path, ids: dict[str, str], book: Book) -> None:
    link = re.compile(
        r'<a (?:class="polyglot-name[^"]*" )?href="\.\./(api[-\w]*\.html)#([^"]+)">(.*?)</a>', re.DOTALL
    )
    wrong, heavy, found = [], [], 0
    for code in book.languages:
        for path in sorted((site / book.folder / code).glob("*.html")):
            html = path.read_text(encoding="utf-8")
            names = link.findall(html)
            found += len(names)
            wrong += [f"{code}/{path.name}: {name}" for page, name, _ in names if ids.get(name) != page]
            more = len(gzip.compress(html.encode())) - len(gzip.compress(link.sub(r"\3", html).encode()))
            heavy += [f"{code}/{path.name}: {more} bytes"] if more > MOST_BYTES else []
    assert (wrong, heavy) == ([], [])
    assert found > 1000


@pytest.mark.parametrize(
    ("where", "name", "wanted"),
    [
        ("en/02-masks", "polyhead.causal_mask", "polyhead.causal_mask"),
        ("zh-TW/04-heads-in-parallel", "polyhead.MultiHeadAttention", "polyhead.MultiHeadAttention"),
        ("en/07-decoder", "DecoderLayer", "polyhead.DecoderLayer"),
        ("zh-CN/01-single-head", "sentence", "polyhead_course.words.sentence"),  # in code
        ("en/05-positions", "checks.rotary_positions", "polyhead_course.exercises.checks.rotary_positions"),
    ],
)
def test_names_in_chapters_lead_to_their_entries(
    site: Path, ids: dict[str, str], where: str, name: str, wanted: str
) -> None:
    chapter = parse((site / "book" / f"{where}.html").read_text(encoding="utf-8"))
    links = {each.text(): each.attributes["href"] for each in chapter.css("article a[href^='../api']")}
    assert links.get(name) == f"../{ids[wanted]}#{wanted}"
