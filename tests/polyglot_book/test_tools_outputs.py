from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from polyglot_book.checks import check_notebooks
from tests.polyglot_book.tiny_book import TinyBook

NAME = "book/ko/01-one.ipynb"
SVG = {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}, "metadata": {}}


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def error(value: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "ValueError", "evalue": value, "traceback": [value]}


def show(kind: str, value: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {kind: value}, "metadata": {}}


def outputs(cell: int, output: dict[str, Any], **others: Any) -> Callable[[list[dict[str, Any]]], object]:
    return lambda cells: cells[cell].update(outputs=[output], **others)


def check(tiny: TinyBook) -> list[str]:
    return [str(each) for each in check_notebooks(tiny.book)]


@pytest.fixture
def executed(tiny: TinyBook) -> TinyBook:
    tiny.pretend_to_execute()
    return tiny


@pytest.mark.parametrize(
    ("break_it", "cell", "what"),
    [
        (lambda cells: cells[1].update(execution_count=None), "setup", "never executed"),
        (lambda cells: cells[3].update(execution_count=1), "draw", "executed as number 1, expected 2"),
        (outputs(1, error("no")), "setup", "stored error ValueError"),
        (outputs(1, stream("Careful!", "stderr")), "setup", "output on stderr: Careful!"),
        (outputs(1, show("image/png", "aaaa")), "setup", "a bitmap (image/png)"),
        (outputs(1, show("image/jpeg", "aaaa")), "setup", "a bitmap (image/jpeg)"),
        (outputs(1, show("image/gif", "aaaa")), "setup", "a bitmap (image/gif)"),
        (outputs(1, stream("x"), metadata={"tags": ["starter"]}), "setup", "the output of a starter"),
        (outputs(1, SVG), "setup", "a figure without alternative text"),
        (lambda cells: cells[3]["metadata"].update(execution={}), "draw", "execution timestamps"),
        (outputs(1, stream("/home/me/x.py")), "setup", "a path of one machine"),
        (outputs(1, show("text/html", "in C:\\Users\\me")), "setup", "a path of one machine"),
        (outputs(1, stream("<X at 0x7f0011223344>")), "setup", "a memory address"),
        (lambda cells: cells[0].update(source="# 다른"), "title", "it differs from the chapter's cell"),
        (lambda cells: cells[1].update(source="x = 5"), "setup", "it differs from the chapter's cell"),
        (lambda cells: cells[0].update(metadata={}), "title", "it differs from the chapter's cell"),
        (lambda cells: cells[2].update(id="other"), "", "2 cells differ from the chapter's: why, other"),
        (lambda cells: cells.insert(0, cells.pop(2)), "", "its cells are in another order"),
    ],
)  # fmt: skip
def test_what_must_not_be_stored_is_named_with_its_cell(
    executed: TinyBook, break_it: Callable[[list[dict[str, Any]]], object], cell: str, what: str
) -> None:
    notebook = json.loads(executed.read(NAME))
    break_it(notebook["cells"])
    executed.write(NAME, json.dumps(notebook))
    place = f"{NAME}#{cell}" if cell else NAME
    assert any(line.startswith(f"{place}: {what}") for line in check(executed)), check(executed)


@pytest.mark.parametrize(
    ("printed", "wrong"),
    [
        ("✗ 모양이 (3, 1, 5) 입니다.\n", True),
        ("✓ 맞습니다.\n✗ 모양이 (3, 1, 5) 입니다.\n", True),
        ("✗ 흔한 실수입니다.\n✓ 맞습니다.\n", False),
        ("a ✗ b\n", False),
    ],
)
@pytest.mark.parametrize("solution", [True, False])
def test_a_solution_that_its_check_calls_wrong(
    executed: TinyBook, printed: str, wrong: bool, solution: bool
) -> None:
    executed.edit(
        "_config.yml", "polyglot_folder", "polyglot_verdicts: {right: ✓, wrong: ✗}\n    polyglot_folder"
    )
    if solution:
        executed.edit("chapters/ko/01-one.md", ":id: setup", ":id: solution-one-code")
        executed.pretend_to_execute()
    notebook = json.loads(executed.read(NAME))
    outputs(1, stream(printed))(notebook["cells"])
    executed.write(NAME, json.dumps(notebook))
    expected = (
        f"{NAME}#solution-one-code: its check calls the solution wrong: ✗ 모양이 (3, 1, 5) 입니다.; correct"
    )
    assert [line[: len(expected)] for line in check(executed)] == ([expected] if wrong and solution else [])


def test_an_announced_error_and_a_described_figure_pass(executed: TinyBook) -> None:
    executed.edit("chapters/ko/01-one.md", "tags: [hide-input]", "tags: [raises-exception]")
    executed.pretend_to_execute()
    notebook = json.loads(executed.read(NAME))
    notebook["cells"][3]["outputs"] = [SVG, error("expected 2/3 of http://example.org/home/x, got a/tmp/b")]
    executed.write(NAME, json.dumps(notebook))
    assert check(executed) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"name": "python3"', '"name": "python4"', "its metadata is not what the chapter makes"),
        ('"nbformat": 4', '"nbformat": "4"', "not a valid notebook"),
        ("{", "", "not a valid notebook"),
        ('   "id": "title",\n', "", "not a valid notebook"),
        ('"id": "title"', '"id": "why"', "not a valid notebook"),
    ],
)
def test_what_is_wrong_with_a_whole_notebook(executed: TinyBook, old: str, new: str, what: str) -> None:
    executed.edit(NAME, old, new)
    assert check(executed) == [f"{NAME}: {what}; run `polyglot run`"]


def test_a_notebook_of_an_older_format(executed: TinyBook) -> None:
    text = re.sub(r'   "id": "[^"]*",\n', "", executed.read(NAME))
    executed.write(NAME, text.replace('"nbformat_minor": 5', '"nbformat_minor": 4'))
    assert check(executed) == [f"{NAME}: not a valid notebook; run `polyglot run`"]


def test_chapters_and_notebooks_belong_together(executed: TinyBook) -> None:
    (executed.root / NAME).rename(executed.root / "book/ko/02-two.ipynb")
    assert check(executed) == [
        "book/ko/02-two.ipynb: a notebook without a chapter; run `polyglot run`, which removes it",
        "book/ko/01-one.ipynb: chapters/ko/01-one.md has no notebook; run `polyglot run`",
    ]
