from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from polyhead_course.handouts.copies import (
    copy_notebooks,
    has_solutions,
    install_code,
    reader_copy,
    student_copy,
    to_commonmark,
)
from tests.polyglot_book.tiny_book import TinyBook

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><text>잎</text></svg>'
IMAGE = {"mystnb": {"image": {"alt": 'A "leaf",\n  green'}}}


@pytest.fixture
def notebook() -> NotebookNode:
    figure = new_output("execute_result", data={"image/svg+xml": SVG, "text/plain": "<Drawing>"})
    printed = new_output("stream", text="42\n")
    exercise = ":::{admonition} Exercise 1\n:class: exercise\nSee [2](02-b.ipynb#why) and [here](#draw).\n:::"
    return new_notebook(
        cells=[
            new_markdown_cell(exercise, id="exercise-one", metadata={"of": "12345678"}),
            new_code_cell("...", id="exercise-one-code", execution_count=1, outputs=[printed]),
            new_markdown_cell(":::{dropdown} Solution\n42\n:::", id="solution-one"),
            new_code_cell("42", id="solution-one-code", execution_count=2, outputs=[printed]),
            new_code_cell("draw()", id="draw", metadata=IMAGE, execution_count=3, outputs=[figure]),
        ]
    )


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        (
            "Before.\n\n:::{admonition} Exercise `1`\n:class: exercise\nOne.\n\n- two\n:::\nAfter.",
            "Before.\n\n> **Exercise `1`**\n>\n> One.\n>\n> - two\n\nAfter.",
        ),
        (
            "::::{dropdown} Deeper: `a < b`\n:::{admonition} Inside\n$x$\n:::\n::::",
            "<details>\n<summary>Deeper: <code>a &lt; b</code></summary>\n\n"
            "> **Inside**\n>\n> $x$\n\n</details>",
        ),
        ("```\n:::{dropdown} Code\n:::\n```", "```\n:::{dropdown} Code\n:::\n```"),
        (":::{figure} a.svg\nWords.\n:::", ":::{figure} a.svg\nWords.\n:::"),
        ("```{dropdown} Old\n1\n```", "<details>\n<summary>Old</summary>\n\n1\n\n</details>"),
        (":::\nNo directive.\n:::", ":::\nNo directive.\n:::"),
        (
            ":::{dropdown} Two\n1\n:::\n\n:::{dropdown} Of them\n2\n:::",
            "<details>\n<summary>Two</summary>\n\n1\n\n</details>\n\n"
            "<details>\n<summary>Of them</summary>\n\n2\n\n</details>",
        ),
        (":::{admonition} Empty\n:::", "> **Empty**\n>\n>"),
        (
            ":::{admonition} Question 1\n:class: question\nWhich?\n\n1. one\n2. two\n:::\n\n"
            ":::{dropdown} Answers\n1. No.\n2. **Right.** Yes.\n:::",
            "> **Question 1**\n>\n> Which?\n>\n> 1. one\n> 2. two\n\n"
            "<details>\n<summary>Answers</summary>\n\n1. No.\n2. **Right.** Yes.\n\n</details>",
        ),
    ],
)
def test_directives_become_markdown_that_every_reader_shows(myst: str, markdown: str) -> None:
    assert to_commonmark(myst) == markdown


def test_a_copy_shows_its_figures_and_leads_to_the_other_pages(notebook: NotebookNode) -> None:
    before = nbformat.writes(notebook)
    copy = reader_copy(notebook, lambda stem, anchor: f"https://x.org/{stem}.html{anchor}", install="pass")
    nbformat.validate(copy)
    assert nbformat.writes(notebook) == before
    assert [cell.id for cell in copy.cells] == ["install", *(cell.id for cell in notebook.cells)]
    words = "See [2](https://x.org/02-b.html#why) and [here](#cell-id=draw)."
    assert copy.cells[1].source == f"> **Exercise 1**\n>\n> {words}"
    assert copy.cells[1].metadata == copy.cells[5].metadata == {}
    shown = copy.cells[5].outputs[0].data
    assert set(shown) == {"text/html", "text/plain"}
    assert shown["text/plain"] == 'A "leaf", green'
    alt, coded = re.fullmatch(
        '<img alt="(.*)" src="data:image/svg[+]xml;base64,(.*)">', shown["text/html"]
    ).groups()
    assert (alt, base64.b64decode(coded).decode()) == ("A &quot;leaf&quot;, green", SVG)


def test_the_links_of_a_table_in_an_output_lead_there_too(notebook: NotebookNode) -> None:
    # Without addresses, a copy is beside its neighbours.
    assert "[2](02-b.ipynb#cell-id=why)" in reader_copy(notebook).cells[0].source
    table = new_output("execute_result", data={"text/markdown": "| [2](02-b.ipynb#why) |", "text/plain": "2"})
    notebook.cells[3].outputs = [table]
    copy = reader_copy(notebook, lambda stem, anchor: f"https://x.org/{stem}.html{anchor}")
    assert copy.cells[3].outputs[0].data["text/markdown"] == "| [2](https://x.org/02-b.html#why) |"


def test_students_get_neither_solutions_nor_outputs(notebook: NotebookNode) -> None:
    assert has_solutions(notebook)
    copy = reader_copy(student_copy(notebook), note="For students.")
    nbformat.validate(copy)
    ids = ["about-this-copy", "exercise-one", "exercise-one-code", "draw"]
    assert [cell.id for cell in copy.cells] == ids
    assert copy.cells[0].source == "For students."
    assert all(not cell.outputs and cell.execution_count is None for cell in copy.cells[2:])
    assert notebook.cells[-1].outputs
    assert not has_solutions(copy)


def test_the_first_cell_finds_wheels_by_an_expression() -> None:
    code = install_code({"no_such_package": ["{wheels}x.whl"]}, 'Path.cwd().as_uri() + "/"')
    values: dict[str, object] = {}
    exec(code.partition("\nif ")[0], values)
    assert values["wheels"] == f"{Path.cwd().as_uri()}/"
    assert code.endswith("\n    %pip install -q {wheels}x.whl")


def test_the_first_cell_installs_only_what_is_missing() -> None:
    lines, model = ["x.whl", "--no-deps y==1"], {"no_such_model": ["z"]}
    for missing, expected in (
        ({"json": lines}, []),
        ({"no_such_package": lines}, ["install -q x.whl", "install -q --no-deps y==1"]),
        # A chapter that needs more, where an earlier one has installed the rest.
        ({"json": lines, **model}, ["install -q z"]),
    ):
        code = TransformerManager().transform_cell(install_code(missing))
        ran: list[str] = []

        class Shell:
            def run_line_magic(self, name: str, line: str, ran: list[str] = ran) -> None:
                assert name == "pip"
                ran.append(line)

        exec(code, {"get_ipython": Shell})
        assert ran == expected


def test_the_folder_to_work_in_keeps_what_is_there(tmp_path: Path) -> None:
    tiny = TinyBook(tmp_path)
    tiny.pretend_to_execute()
    copied = copy_notebooks(tiny.book)
    names = sorted(path.relative_to(tiny.root / "lab") for path in tiny.root.glob("lab/*/*.ipynb"))
    assert names == sorted(path.relative_to(tiny.root / "book") for path in tiny.root.glob("book/*/*.ipynb"))
    assert sorted(copied) == [path.with_suffix("").as_posix() for path in names]
    mine, lost = (tiny.root / "lab" / name for name in names[:2])
    mine.write_text("my work")
    lost.unlink()
    assert len(copy_notebooks(tiny.book)) == 1
    assert mine.read_text() == "my work"
    assert lost.is_file()
    assert copy_notebooks(tiny.book) == []
