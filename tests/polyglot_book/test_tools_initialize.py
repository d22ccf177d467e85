"""`init` on books that are not ours: what it adds, what it leaves alone, and how it pairs translations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from polyglot_book.__main__ import main
from polyglot_book.chapters import Cell, parse_chapter
from polyglot_book.config import Book
from polyglot_book.initialize import (
    Unit,
    initialize,
    language_entry,
    new_book,
    new_ids,
    pair,
    units,
    with_ids,
)
from polyglot_book.translations import progress_table

CONFIG = """\
# The book of a stranger.
title: Waves
execute:
  execute_notebooks: cache
sphinx:
  config:
    numfig: true   # figures have numbers
"""
TOC = """\
format: jb-book
root: intro   # the home page
parts:
- caption: Basics
  chapters:
  - file: part/sines.md
  - file: data
"""
SINES = """\
---
jupytext: {text_representation: {format_name: myst}}
kernelspec: {name: julia-1.10, display_name: Julia, language: julia}
author: {name: [A, B]}
---

(sines)=
# Sines

```{figure} ../images/wave.png
:name: wave
A wave
```
```{code-cell} julia
x = 1
```
```{code-cell} julia
:tags: [hide-input]

y = 2
```
```{code-cell}
---
tags: [hide-output]
---
z = 3
```

:::{note}
# Not a section
:::

## Sums $a + b$
Text with `x`.

## Sums $a + b$

The last.
"""


def notebook(*cells: tuple[str, str], ids: bool = False) -> str:
    nodes = []
    for number, (kind, source) in enumerate(cells):
        code = {"execution_count": 1, "outputs": []} if kind == "code" else {}
        own = {"id": f"9f{number}"} if ids else {}
        nodes.append({"cell_type": kind, "metadata": {}, "source": source.splitlines(True), **own, **code})
    return json.dumps({"cells": nodes, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 if ids else 4})


@pytest.fixture
def book(tmp_path: Path) -> Path:
    for name, text in {
        "_config.yml": CONFIG,
        "_toc.yml": TOC,
        "intro.md": "# Waves\n\nSee [sines](part/sines.md).\n\nA footnote[^1].\n\n## More\n\n[^1]: It.\n",
        "part/sines.md": SINES,
        "data.ipynb": notebook(("markdown", "# Data"), ("code", "open('tide.csv')")),
        "images/wave.png": "png",
        "tide.csv": "1",
        "README.md": "# A repository",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(root: Path, *arguments: str) -> int:
    return main(["--root", str(root), *arguments])


def test_only_headers_are_added(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(book, "init") == 0
    assert capsys.readouterr().out.splitlines() == [
        "_config.yml: English (en); write the book's title in it there",
        "3 pages moved to book/en/",
        "book/en/images: a link to images",
        "book/en/tide.csv: a link to tide.csv",
        "_toc.yml: the new paths of the pages",
        "book/en/data.ipynb: ids for 2 of 2 cells",
        "book/en/intro.md: ids for 1 of 1 cells",
        "book/en/part/sines.md: ids for 7 of 7 cells",
    ]
    before, after = SINES.splitlines(), (book / "book/en/part/sines.md").read_text().splitlines()
    added = [*after]
    for line in before:
        added.remove(line)
    lines = iter(after)
    assert all(line in lines for line in before)  # in order
    assert [line for line in added if line] == [
        '+++ {"id": "sines"}', ":id: sines-code", ":id: sines-code-2", "id: sines-code-3",
        '+++ {"id": "sines-text"}', '+++ {"id": "sums-a-b"}', '+++ {"id": "sums-a-b-2"}',
    ]  # fmt: skip
    cells = parse_chapter((book / "book/en/part/sines.md").read_text()).cells
    assert [cell.source for cell in cells[1:4]] == ["x = 1", "y = 2", "z = 3"]
    assert cells[0].source.startswith("(sines)=\n# Sines")
    assert (book / "book/en/images/wave.png").read_text() == "png"
    assert (book / "README.md").is_file()
    assert not (book / "part").exists()
    assert (book / "_config.yml").read_text().startswith(CONFIG)
    assert yaml.safe_load((book / "_config.yml").read_text())["sphinx"]["config"]["polyglot_languages"] == {
        "en": {"locale": "en", "name": "English", "title": "Waves"}
    }
    assert (book / "_toc.yml").read_text().startswith("format: jb-book\nroot: book/en/intro   # the home")
    assert run(book, "init") == 0
    assert capsys.readouterr().out == ""
    assert run(book, "check") == 0


def test_a_language_is_begun_and_everything_in_it_waits(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(book, "init", "--language", "ar") == 0
    assert run(book, "init", "--language", "no") == 0
    capsys.readouterr()
    assert run(book, "status") == 1
    assert capsys.readouterr().out.splitlines()[:4] == [
        "chapter     ar                         no",
        "data        1 current, 1 untranslated  1 current, 1 untranslated",
        "intro       0 current, 1 untranslated  0 current, 1 untranslated",
        "part/sines  3 current, 4 untranslated  3 current, 4 untranslated",
    ]
    arabic = book / "book/ar/part/sines.md"
    assert "language: julia}\nauthor: {name: [A, B]}\n---" in arabic.read_text()
    assert "```{code-cell}\n---\nid: sines-code-3\ntags: [hide-output]\n---\nz = 3" in arabic.read_text()
    assert (book / "book/ar/images/wave.png").read_text() == "png"
    toc = yaml.safe_load((book / "_toc.yml").read_text())
    assert [part["chapters"] for part in toc["parts"]] == [
        [{"file": "book/en/part/sines.md"}, {"file": "book/en/data"}],
        [{"file": "book/ar/intro"}],
        [{"file": "book/ar/part/sines.md"}, {"file": "book/ar/data"}],
        [{"file": "book/no/intro"}],
        [{"file": "book/no/part/sines.md"}, {"file": "book/no/data"}],
    ]
    note = "```{note}\nThis part is not translated yet.\n```\n\n"
    text = arabic.read_text()
    assert text.count(note.rstrip()) == 4
    assert f"(sines)=\n# Sines\n\n{note}" in text
    arabic.write_text(text.replace(note, "").replace("Text with", "نص مع").replace("The last.", "الأخير"))
    assert run(book, "mark", "ar/part/sines") == 0
    lines = set(arabic.read_text().splitlines()) - set(text.splitlines())
    assert {line for line in lines if not line.startswith("+++")} == {"نص مع `x`.", "الأخير"}
    notebook = json.loads((book / "book/no/data.ipynb").read_text())
    notebook["cells"][0]["source"] = "# Tall"
    (book / "book/no/data.ipynb").write_text(json.dumps(notebook))
    assert run(book, "mark", "no/data#data") == 0
    assert json.loads((book / "book/no/data.ipynb").read_text())["cells"][0]["metadata"]["of"]
    capsys.readouterr()
    run(book, "status")
    assert capsys.readouterr().out.splitlines()[1:4] == [
        "data        1 current, 1 untranslated  2 current",
        "intro       0 current, 1 untranslated  0 current, 1 untranslated",
        "part/sines  7 current                  3 current, 4 untranslated",
    ]


def test_a_notebook_named_in_metadata_alone_is_no_page(book: Path) -> None:
    named = json.loads((book / "data.ipynb").read_text())
    named["metadata"]["colab"] = {"name": "old.ipynb"}
    (book / "data.ipynb").write_text(json.dumps(named))
    (book / "old.ipynb").write_text(notebook(("markdown", "# Old")))
    assert run(book, "init") == 0
    assert (book / "book/en/tide.csv").exists() and not (book / "book/en/old.ipynb").exists()


def test_a_language_that_the_settings_have_already_begins_with_its_own_note(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(book, "init") == 0
    config = book / "_config.yml"
    german = "      de: {locale: de, name: Deutsch, title: Wellen, untranslated: Noch nicht.}\n"
    begun = config.read_text() + german  # behind the reference, which is the last entry
    config.write_text(begun)
    assert run(book, "init", "--language", "de") == 0
    assert config.read_text() == begun
    assert (book / "book/de/part/sines.md").read_text().count("```{note}\nNoch nicht.\n```") == 4
    toc = yaml.safe_load((book / "_toc.yml").read_text())
    assert {"file": "book/de/part/sines.md"} in toc["parts"][-1]["chapters"]
    capsys.readouterr()
    assert run(book, "init", "--language", "de") == 0
    assert capsys.readouterr().out == ""


def test_translated_pages_are_paired_by_what_they_share() -> None:
    originals = [Cell("a", "markdown", "# One $x_1$", {}), Cell("b", "code", "f(1)", {})]
    originals += [Cell("c", "markdown", "## Two `g`", {}), Cell("d", "code", "g(2)", {})]
    parts = units("# Eins $x_1$\n\n```{code-cell}\ng(2)  # zwei\n```\n\n## Neu\n\nText\n")
    assert [each and each.id for each in pair(originals, parts)] == ["a", "d", None]
    text = with_ids("# Eins\n", ["a"], ["0123abcd"])
    assert parse_chapter(text).cells[0].of == "0123abcd"


def test_pages_of_a_translation(book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    german = (
        SINES.replace("# Sines", "# Sinus")
        .replace("Text with `x`", "Text mit `y`")
        .replace("The last.", "Ende.")
    )
    pages = book / "_german"
    (pages / "part").mkdir(parents=True)
    (pages / "part/sines.md").write_text(german)
    (pages / "data.ipynb").write_text(
        notebook(("markdown", "# Daten"), ("code", "open('tide.csv')"), ids=True)
    )
    assert run(book, "init", "--language", "de", "--pages", str(pages)) == 0
    out = capsys.readouterr().out
    assert "book/de/part/sines.md: 7 of 7 cells, 0 more" in out
    assert "book/de/data.ipynb: 2 of 2 cells, 0 more" in out
    assert "intro.md: no such page; the book has intro in en only" in out
    assert run(book, "check", "--annotations") == 1
    assert [line.partition(",line=")[2] for line in capsys.readouterr().out.splitlines()] == [
        "1::the chapter is missing; run `polyglot sync`",
        "40::#sums-a-b: code: lacks 'x' and adds 'y'; keep the same `code` in the prose",
    ]
    assert run(book, "check", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["violations"][1] == {
        "file": "book/de/part/sines.md", "cell": "sums-a-b", "line": 40,
        "problem": "code: lacks 'x' and adds 'y'", "remedy": "keep the same `code` in the prose",
    }  # fmt: skip
    assert run(book, "status", "--json") == 1
    states = json.loads(capsys.readouterr().out)["languages"]["de"]
    assert states["data"] == {"current": ["data", "data-code"]}
    assert states["intro"] == {"missing": ["waves"]}


def test_a_book_for_the_engine_of_myst(tmp_path: Path) -> None:
    (tmp_path / "myst.yml").write_text(
        "version: 1\nproject:\n  title: Waves\n  toc:\n    - file: >-\n        intro.md\n    - title: Part\n"
        "      children:\n        - file: sines.md\nsite:\n  template: book-theme\n"
    )
    (tmp_path / "intro.md").write_text("# Waves\n")
    (tmp_path / "sines.md").write_text(SINES)
    assert run(tmp_path, "init", "--folder", "pages", "--language", "zh-TW") == 0
    project = yaml.safe_load((tmp_path / "myst.yml").read_text())["project"]
    assert project["toc"][2] == {
        "title": "中文 (繁體, 台灣)",
        "children": [
            {"file": "pages/zh-TW/intro.md"},
            {"title": "Part", "children": [{"file": "pages/zh-TW/sines.md"}]},
        ],
    }
    assert yaml.safe_load((tmp_path / "polyglot.yml").read_text())["folder"] == "pages"
    assert run(tmp_path, "sync") == 0
    (tmp_path / "pages/zh-TW/intro.md").write_text('+++ {"id": "waves", "of": "00000000"}\n\n# 波\n')
    assert "intro    0 current, 1 stale" in progress_table(Book.load(tmp_path))


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({}, [], "expected pages, .md or .ipynb"),
        (
            {"a.md": "#", "_config.yml": "sphinx: {config: {x: 1}}"},
            [],
            "expected sphinx: config",
        ),
        ({"a.md": "# A", "_config.yml": "- a"}, [], "expected `key: value`, got ['a']"),
        ({"a.md": "# A"}, ["--pages", "x"], "--pages x: expected a new --language for them, got None"),
        ({"a.md": "# A\n\n```{raw-cell}\nx\n```\n"}, [], "a raw cell"),
    ],
)
def test_what_it_cannot_do_is_said(
    tmp_path: Path,
    files: dict[str, str],
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert run(tmp_path, "init", *arguments) == 1
    assert message in capsys.readouterr().err


def test_ids_are_ones_that_yaml_and_the_schema_leave_alone() -> None:
    cells = units("# 2 Σ\n\n# No\n\n# Été\n\n# No\n\n```{code-cell}\nx\n```\n")
    assert new_ids(cells) == ["section-2", "no", "ete", "no-2", "no-code"]


def test_a_book_without_a_table_of_contents(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n")
    initialize(tmp_path, report=lambda line: None)
    assert (tmp_path / "book/en/one.md").read_text() == '+++ {"id": "one"}\n\n# One\n'


LIKE = [("markdown", "# One", "# Eins"), ("code", "f(1)", "f(1)"), ("markdown", "## Two `g`", "## Zwei `g`")]
LIKE += [("code", "g(2)", "g(2)"), ("markdown", "Text g", "Wort g")]


@pytest.mark.parametrize(
    ("originals", "translated", "found"),
    [
        ([0], [1], [None]),
        ([0], [0, 1], [0, None]),
        ([0], [1, 2], [None, 0]),
        ([0], [0, 2], [0, None]),
        ([2], [0, 4], [None, 2]),
        ([0, 2], [2, 4], [2, None]),
        ([1, 4], [2, 3], [4, None]),
        ([2, 3], [0, 1, 4], [2, 3, None]),
        ([0, 1, 2, 3, 4], [4], [4]),
        ([0, 1, 2, 3, 4], [0, 3], [0, 3]),
    ],
)
def test_cells_are_paired_in_order_by_kind_level_and_names(
    originals: list[int], translated: list[int], found: list[int | None]
) -> None:
    cells = [Cell(str(each), *LIKE[each][:2], {}) for each in originals]
    parts = [Unit(0, LIKE[each][0], LIKE[each][2], {}) for each in translated]
    ids = [None if each is None else str(each) for each in found]
    assert [each and each.id for each in pair(cells, parts)] == ids


def small(root: Path, toc: str, config: str = "title: W\n") -> Path:
    root.mkdir()
    texts = {"_config.yml": config, "_toc.yml": toc, "intro.md": "# W\n", "a.md": "# A\n", "c/b.md": "# B\n"}
    for name, text in texts.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        (
            "format: jb-article\nroot: intro\nsections:\n- file: a\n- glob: c/*\n# end\n",
            "format: jb-article\nroot: book/en/intro\nsections:\n- file: book/en/a\n- glob: book/en/c/*\n",
            "- file: book/de/intro\n  sections:\n  - file: book/de/a\n  - glob: book/de/c/*\n# end\n",
        ),
        (
            "format: jb-book\nroot: intro\n",
            "format: jb-book\nroot: book/en/intro\n",
            "chapters:\n- file: book/de/intro\n",
        ),
        (
            "root: intro\nchapters:\n- file: a.md\n  title: A\n  sections:\n  - file: c/b\n- url: https://a\n",
            "root: book/en/intro\nchapters:\n- file: book/en/a.md\n  title: A\n  sections:\n"
            "  - file: book/en/c/b\n- url: https://a\n",
            "- file: book/de/intro\n  sections:\n  - file: book/de/a.md\n    title: A\n    sections:\n"
            "    - file: book/de/c/b\n  - url: https://a\n",
        ),
    ],
)
def test_a_table_of_contents_gets_the_pages_of_a_language_in_its_own_form(
    tmp_path: Path, before: str, after: str, added: str
) -> None:
    root = small(tmp_path / "book", before)
    initialize(root, "de", report=lambda line: None)
    assert (root / "_toc.yml").read_text() == after + added


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        ("|\n      a\n", "after: 1\n"),
        ("1\n", "# end\nafter: 1\n"),
        ("[1,\n      2]\n", "after: 1"),
        ("''", ""),
    ],
)
def test_settings_are_added_behind_the_last_of_those_there(tmp_path: Path, value: str, rest: str) -> None:
    root = small(tmp_path / "A title", "root: intro\n", f"sphinx:\n  config:\n    x: {value}{rest}")
    lines: list[str] = []
    initialize(root, folder="pages", report=lines.append)
    added = "    polyglot_languages:\n      en:\n        locale: en\n        name: English\n"
    added += "        title: A title\n"
    text = f"sphinx:\n  config:\n    x: {value.rstrip()}\n{added}    polyglot_folder: pages\n{rest}"
    assert (root / "_config.yml").read_text() == f"{text.rstrip()}\n"
    assert lines == [
        "_config.yml: English (en); write the book's title in it there",
        "1 pages moved to pages/en/",
        "_toc.yml: the new paths of the pages",
        "pages/en/intro.md: ids for 1 of 1 cells",
    ]


def test_settings_in_one_line_are_named(tmp_path: Path) -> None:
    root = small(tmp_path / "book", "root: intro\n", "sphinx: {config: {x: 1}}\n" + "# long\n" * 9)
    with pytest.raises(ValueError) as caught:
        initialize(root, report=lambda line: None)
    expected = "expected sphinx: config: polyglot_languages: a line for each entry"
    got = "{config: {x: 1}}\n# long\n# long\n# long\n# l"
    assert str(caught.value) == f"{root}/_config.yml: {expected}, got {got[:40]!r}"


def test_what_is_wrong_with_languages_and_folders_is_said_whole(tmp_path: Path) -> None:
    assert language_entry("tlh", "x") == {"locale": "tlh", "name": "Klingon", "title": "x"}
    assert language_entry("zh-TW", "x")["locale"] == "zh_TW"
    for code in ("xx", "Korean"):
        with pytest.raises(ValueError) as caught:
            language_entry(code, "x")
        assert str(caught.value) == f"expected the code of a language, such as de or zh-TW, got {code!r}"
    for language in (None, "en"):
        with pytest.raises(ValueError) as caught:
            new_book(tmp_path / "new", "en", language)
        assert str(caught.value) == f"--new: expected a --language other than en, got {language}"
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError) as caught:
        new_book(tmp_path, "en", "de")
    assert str(caught.value) == f"--new {tmp_path}: expected an empty folder, or none; it has files"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError) as caught:
        initialize(tmp_path / "empty")
    expected = "expected pages, .md or .ipynb, that _toc.yml or myst.yml names; got none"
    assert str(caught.value) == f"{tmp_path}/empty: {expected}"
    new_book(tmp_path / "empty", "en", "de")
    assert (tmp_path / "empty/_toc.yml").is_file()


PAGE = """\
---
a: 1
---

+++ {"x": 1}

(l)=

# One
Text

## Two

```{code-cell}
---
tags: [x]
---
y
```
+++ {"id": "own"}
Three
# Four
```{code-cell}
z
```
+++

# Five

# Six

[a]: b
"""


def test_a_page_is_cut_and_gets_its_ids() -> None:
    found = units(PAGE)
    assert found == [
        Unit(4, "markdown", "(l)=\n\n# One\nText", {"x": 1}),
        Unit(11, "markdown", "## Two", {}),
        Unit(13, "code", "y", {"tags": ["x"]}),
        Unit(19, "markdown", "Three\n# Four", {"id": "own"}),
        Unit(22, "code", "z", {}),
        Unit(25, "markdown", "# Five\n\n# Six\n\n[a]: b", {}),
    ]
    ids = new_ids(found)
    assert ids == ["one", "two", "two-code", "own", "two-code-2", "five"]
    text = with_ids(PAGE, ids, ["1", None, "2", None, "3", "4"])
    expected = PAGE.replace('{"x": 1}', '{"id": "one", "of": "1", "x": 1}')
    expected = expected.replace("## Two", '+++ {"id": "two"}\n\n## Two')
    expected = expected.replace("---\ntags:", '---\nid: two-code\nof: "2"\ntags:')
    expected = expected.replace("{code-cell}\nz", '{code-cell}\n:id: two-code-2\n:of: "3"\nz')
    assert text == expected.replace("+++\n", '+++ {"id": "five", "of": "4"}\n')
    notebook = json.loads(with_ids(json.dumps({
        "cells": [{"metadata": {"a": 1}}, {"metadata": {}}], "nbformat_minor": 4
    }), ["a", "b"], ["1", None], ".ipynb"))  # fmt: skip
    cells = [{"metadata": {"a": 1, "of": "1"}, "id": "a"}, {"metadata": {}, "id": "b"}]
    assert notebook == {"cells": cells, "nbformat_minor": 5}
    sections = [
        Unit(0, "markdown", text, {}) for text in ("Text", "More", "# Ünïcode & (more)!", f"# {'a b ' * 30}")
    ]
    long = "-".join("ab" * 12)
    assert new_ids(sections) == ["start-text", "start-text-2", "unicode-more", f"{long}"[:48].strip("-")]


def test_each_cell_of_a_page_needs_an_id() -> None:
    notebook = json.dumps({"cells": [{"metadata": {}}], "nbformat_minor": 5})
    for text, suffix in (("# One\n", ".md"), (notebook, ".ipynb")):
        for ids, hashes in ((["a", "b"], [None]), (["a"], [None, None]), ([], [])):
            with pytest.raises(ValueError, match=r"is (longer|shorter) than"):
                with_ids(text, ids, hashes, suffix)
