from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import jupytext
import nbformat
import pytest

from polyglot_book.chapters import Cell, ChapterError, parse_chapter, text_hash
from tests.polyglot_book.tiny_book import TinyBook, chapter_text

ODD = """\
---
kernelspec: {display_name: Python 3, language: python, name: python3}
html_meta: {description: odd}
---
+++ {"id": "one", "script": "any"}
Text with a fence inside:

````{note}
```{code-cell} ipython3
:id: not-a-cell
```
+++ {"id": "not-a-break"}
````

```{code-cell} ipython3
:id: blank
:tags: [hide-input]



x = 1
```
```{code-cell} ipython3
---
id: dashes
mystnb:
  image:
    alt: |-
      Two
      lines
---
:not = "a header"
---
```

+++ {"id": "two"}

- a list

  +++

+++ {"id": "last"}
End"""


@pytest.mark.parametrize("text", [chapter_text("en"), chapter_text("ko"), ODD, ODD.replace("\n", "\r\n")])
def test_cells_are_what_jupytext_reads(text: str) -> None:
    expected = jupytext.reads(text.replace("\r\n", "\n"), fmt="md:myst")
    chapter = parse_chapter(text)
    notebook = chapter.notebook()
    # A blank line after a header would be lost when the chapter is written.
    assert [cell.source for cell in notebook.cells] == [cell.source.lstrip("\n") for cell in expected.cells]
    assert [cell.id for cell in notebook.cells] == [cell.metadata["id"] for cell in expected.cells]
    for cell, other in zip(notebook.cells, expected.cells, strict=True):
        assert cell.metadata == {key: value for key, value in other.metadata.items() if key != "id"}
    nbformat.validate(notebook)


def test_the_canonical_form_says_the_same_and_is_stable() -> None:
    chapter = parse_chapter(ODD.replace("\n", "\r\n"))
    written = chapter.canonical()
    again = parse_chapter(written)
    assert again.cells == chapter.cells
    assert again.metadata == chapter.metadata
    assert again.canonical() == written
    assert "\r" not in written


def test_front_matter_and_headers_keep_their_order_and_letters() -> None:
    text = """\
---
kernelspec:
  display_name: Python 3
  name: python3
title: 어텐션 查詢
needs: [01-single-head, 02-masks]
---

+++ {"id": "one", "of": "0123abcd", "script": "any"}

쿼리

```{code-cell} ipython3
---
id: two
of: '01234567'
tags: [hide-input]
mystnb:
  image:
    alt: "說明: 查詢"
---
x = 1    # (批次,)
```
"""
    chapter = parse_chapter(text)
    assert chapter.canonical() == text.replace('"說明: 查詢"', "'說明: 查詢'")
    assert chapter.notebook().metadata["needs"] == ["01-single-head", "02-masks"]
    assert chapter.by_id["two"].of == "01234567"


def test_the_notebook_holds_nothing_that_depends_on_the_machine() -> None:
    metadata = parse_chapter(ODD).notebook().metadata
    assert metadata == {
        "html_meta": {"description": "odd"},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }


def test_the_hash_is_of_the_stripped_text() -> None:
    assert text_hash("\n쿼리 \n") == hashlib.sha256("쿼리".encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"id": "why"', '"id": "title"', 18, "'title' again, first in line 6"),
        ('+++ {"id": "why"}', '+++ {"of": "12345678"}', 18, "markdown cell: expected a header with an id"),
        ('+++ {"id": "why"}', "+++", 18, "markdown cell: expected a header with an id"),
        ('+++ {"id": "why"}\n', "", 16, "markdown cell: expected a header with an id"),
        (":id: setup\n", "", 10, "code cell: expected a header with an id"),
        (":id: setup", ":id: Set_up", 10, "'Set_up'"),
        ('+++ {"id": "why"}', '+++ {"id": why}', 18, "could not be read"),
        ('+++ {"id": "why"}', '+++ ["why"]', 18, "not a dict"),
        ("tags: [hide-input]", "tags: hide-input", 22, "tags: expected a list of words, got 'hide-input'"),
        ("tags: [hide-input]", "tags: [hide-input", 22, "Invalid YAML"),
        ("tags: [hide-input]", 'tags: ["a,b"]', 22, "expected a word, got 'a,b'"),
        ("tags: [hide-input]", "tags: [x, x]", 22, "expected a list of words, got ['x', 'x']"),
        ("tags: [hide-input]", "of: 12345678", 22, "of: expected 8 hex digits in quotes, got 12345678"),
        ("alt: A square", "alt: 5", 22, "mystnb: image: alt: expected text in quotes, got 5"),
        ("x = 6", "x = 6\u2028", 15, "the character"),
        ("x = 6", "x = 6\x00", 15, "the character"),
        ("---\nhtml_meta", "\ufeff---\nhtml_meta", 1, "save the file as UTF-8 without a byte order mark"),
        ("---\nhtml_meta:\n  description: tiny\n---", "---\n- tiny\n---", 1, "front matter ['tiny']"),
        (chapter_text("en"), "", 1, "a chapter without cells"),
        (chapter_text("en"), "---\n---\n", 1, "a chapter without cells"),
        ("x = 6\n```", "x = 6", 10, "not closed"),
        ("{code-cell} ipython3\n:id", "{raw-cell}\n:id", 10, "a raw cell"),
    ],
)
def test_errors_name_file_and_line(tiny: TinyBook, old: str, new: str, line: int, message: str) -> None:
    text = chapter_text("en")
    assert old in text
    with pytest.raises(ChapterError) as caught:
        parse_chapter(text.replace(old, new, 1), "chapters/en/01-one.md")
    assert str(caught.value).startswith(f"chapters/en/01-one.md: line {line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_other_cells_leave_those_of_before_and_of_the_reference_as_they_are_written(end: str) -> None:
    kept = (
        '---\nauthor: {name: A}\n---\n+++ {"id": "a"}\nOne\n\n\n\n```{code-cell} julia\n:id: b\n\n\nx\n```\n'
    )
    chapter = parse_chapter(f'{kept}+++ {{"id": "c"}}\n*Two*{end}')
    code = "```{code-cell} julia\n:id: z\n\n\nz  =  1\n```\n"
    reference = parse_chapter(f'{code}+++  {{"id": "d"}}\nD{end}')
    a, b, c = chapter.cells
    z, d = reference.cells
    assert chapter.with_cells(chapter.cells, reference) == f'{kept}+++ {{"id": "c"}}\n*Two*\n'
    new = Cell("new", "code", "y = 2", {"tags": ["x"]})
    assert chapter.with_cells([a, b, c, z, d, new], reference) == (
        f'{kept}+++ {{"id": "c"}}\n*Two*\n\n{code}+++  {{"id": "d"}}\nD\n\n'
        "```{code-cell} julia\n:id: new\n:tags: [x]\n\ny = 2\n```\n"
    )
    assert chapter.with_cells([a.with_text("1"), b], reference) == kept.replace(
        '+++ {"id": "a"}\nOne', '+++ {"id": "a"}\n\n1'
    )
    begun = replace(chapter, text="", cells=(), blocks=())
    assert begun.with_cells([z], reference) == code


def test_other_cells_of_a_notebook_file_leave_its_outputs() -> None:
    def node(kind: str, cell_id: str, source: str) -> dict[str, object]:
        code: dict[str, object] = {
            "execution_count": 1,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "o"}],
        }
        return {"cell_type": kind, "id": cell_id, "metadata": {}, "source": source} | (
            code if kind == "code" else {}
        )

    cells = [node("markdown", "a", "# One"), node("code", "b", "x"), node("code", "c", "y")]
    text = json.dumps({"cells": cells, "metadata": {"m": 1}, "nbformat": 4, "nbformat_minor": 5})
    chapter = parse_chapter(text, "book/ko/one.ipynb")
    assert chapter.blocks == ()
    a, b, c = chapter.cells
    new = [Cell("d", "markdown", "Two", {"of": "01234567"}), Cell("e", "code", "z", {"tags": ["t"]})]
    written = nbformat.reads(
        chapter.with_cells([a.with_text("# 1"), b, replace(c, source="yy"), *new], chapter), as_version=4
    )
    nbformat.validate(written)
    assert written.metadata == {"m": 1}
    assert [(each.cell_type, each.id, each.source, each.metadata) for each in written.cells] == [
        ("markdown", "a", "# 1", {}),
        ("code", "b", "x", {}),
        ("code", "c", "yy", {}),
        ("markdown", "d", "Two", {"of": "01234567"}),
        ("code", "e", "z", {"tags": ["t"]}),
    ]
    kept = [(each.execution_count, len(each.outputs)) for each in written.cells if each.cell_type == "code"]
    assert kept == [(1, 1), (None, 0), (None, 0)]
    begun = replace(chapter, text="", cells=())
    assert [each.id for each in nbformat.reads(begun.with_cells([b], chapter), as_version=4).cells] == ["b"]
    raw = nbformat.v4.new_notebook(cells=[nbformat.v4.new_raw_cell("x", id="r")])
    with pytest.raises(ChapterError) as caught:
        parse_chapter(nbformat.writes(raw), "book/ko/one.ipynb")
    message = "a raw cell, r; only Markdown and code cells can be translated"
    assert str(caught.value) == f"book/ko/one.ipynb: line 1: {message}"
