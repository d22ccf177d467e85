"""The documentation, a book in two languages: it builds, differs in nothing, and lists every finding."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import polyglot_book
from polyglot_book.__main__ import main
from tests.building import Built, build, copy
from tests.pages import value

DOCUMENTATION = Path(__file__).parents[2] / "docs/polyglot"
SOURCES = sorted(Path(polyglot_book.__file__).parent.glob("*.py"))


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(copy(DOCUMENTATION, tmp_path_factory.mktemp("documentation") / "polyglot"))


def test_it_builds_in_both_languages(documentation: Built) -> None:
    assert (documentation.code, documentation.warnings) == (0, []), documentation.log
    for code, title in (("en", "One book, several languages"), ("zh-TW", "一本書，多種語言")):
        page = documentation.page(f"book/{code}/start")
        assert value(page.root, "lang") == code
        assert page.css_first("a.navbar-brand").text().strip() == title
        assert len(page.css(".bd-docs-nav .toctree-l1")) == 10
        assert page.css("article a[href='sphinx.html#words-of-the-interface']")
        around = [value(each, "href") for each in page.css(".prev-next-area a")]
        assert around == ["intro.html", "existing.html"]


def test_nothing_differs_or_waits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(DOCUMENTATION), "check"]) == 0
    assert re.fullmatch(r"10 chapters, 2 languages, \d+ cells: 0 violations\n", capsys.readouterr().out)


def listed() -> set[str]:
    """The findings in the first columns of the page's tables; `…` stands for what varies."""
    text = (DOCUMENTATION / "book/en/checks.md").read_text(encoding="utf-8")
    columns = "\n".join(re.findall(r"^\|(.*?)\| ", text, re.MULTILINE))
    return {span.strip() for _, span in re.findall(r"(?<!`)(`+)([^\n]+?)\1(?!`)", columns)}


def message(node: ast.expr) -> list[str]:
    """The texts that an expression may be, with `…` for the parts that vary."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = (str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)
        return ["".join(parts)]
    return [*message(node.body), *message(node.orelse)] if isinstance(node, ast.IfExp) else []


def problems(source: str) -> set[str]:
    """The problems that a module reports: to `Violation`, to `ChapterError`, as `problem`, or in a tuple."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name("Violation" | "ChapterError"), args=[_, _, problem, *_]):
                found += message(problem)
            case ast.Assign(targets=[ast.Name("problem")], value=problem):
                found += message(problem)
            case ast.Yield(ast.Tuple([problem, _]) | ast.Tuple([_, problem, _])):
                found += message(problem)
    return {each for each in found if re.search(r"\w", each)}  # others are put together from parts alone


def fits(finding: str, text: str) -> bool:
    return bool(re.fullmatch(".*".join(map(re.escape, finding.split("…"))) + "(, …)?", text))


def test_every_finding_is_listed_and_every_listed_one_exists() -> None:
    found = {each for path in SOURCES for each in problems(path.read_text(encoding="utf-8"))}
    assert len(found) > 40
    assert [each for each in sorted(found) if not any(fits(finding, each) for finding in listed())] == []
    # Conversely, in any string: some messages are put together from parts.
    texts = {
        text
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.expr)
        for text in message(node)
        if re.search(r"\w", text)
    }
    lost = [
        finding
        for finding in sorted(listed())
        if not any(fits(finding, text) or fits(text, finding) for text in texts)
        and not all(
            any(part.strip() == text.strip() for text in texts) for part in re.split("…|: ", finding) if part
        )
    ]
    assert lost == []
