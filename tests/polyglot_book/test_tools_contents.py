from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import polyglot_book
from polyglot_book.contents import Contents, Exercise
from tests.polyglot_book.tiny_book import TinyBook

KO = {"01-one": ("1. 쿼리와 키", []), "02-two": ("2. 쿼리와 키", ["01-one"])}
EXERCISES = """
+++ {"id": "exercise-add", "of": "12345678"}

:::{admonition} Exercise 1 (easy): `add`
:class: exercise
Write `add`.
:::

```{code-cell} ipython3
:id: exercise-add-code
:tags: [starter]

checks.add(my_add)
```

+++ {"id": "solution-add"}

:::{dropdown} Solution
checks.nothing
:::

+++ {"id": "warning"}

:::{admonition} No exercise
:class: warning
Beware.
:::

+++ {"id": "exercise-why"}

:::{admonition} Exercise 2 (hard): why?
:class: exercise
Why?
:::
"""


@pytest.fixture
def tiny(tmp_path: Path) -> TinyBook:
    """Two chapters that say what they need, and a page that is no chapter."""
    tiny = TinyBook(tmp_path / "book-root", ("01-one", "02-two", "index"))
    for code in tiny.book.languages:
        tiny.edit(f"chapters/{code}/01-one.md", "html_meta:", "needs: []\nhtml_meta:")
        tiny.edit(f"chapters/{code}/02-two.md", "html_meta:", "needs:\n- 01-one\nhtml_meta:")
    tiny.pretend_to_execute()
    return tiny


def titles_and_needs(tiny: TinyBook, code: str) -> dict[str, tuple[str, list[str]]]:
    found = polyglot_book.overview(tiny.root / "book" / code)
    return {stem: (chapter.title, chapter.needs) for stem, chapter in found.items()}


def test_the_overview_is_that_of_the_folders_language(
    tiny: TinyBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert titles_and_needs(tiny, "ko") == KO
    monkeypatch.chdir(tiny.root / "book/en")
    assert polyglot_book.overview()["02-two"][:2] == ("2. Queries and keys", ["01-one"])
    assert list(polyglot_book.overview()) == ["01-one", "02-two"]


@pytest.mark.parametrize("folder", [".", "pages/of/it"])
def test_the_text_is_that_of_the_book_whatever_its_folder_of_pages(tiny: TinyBook, folder: str) -> None:
    tiny.edit("_config.yml", "polyglot_folder: book", f"polyglot_folder: {folder}")
    tiny.write("../chapters/ko/x.md", "---\nneeds: []\n---\n\n# Of another book")
    found = polyglot_book.overview(tiny.book.notebooks_dir("ko"))
    assert {stem: (chapter.title, chapter.needs) for stem, chapter in found.items()} == KO


def test_the_text_counts_before_the_notebooks(tiny: TinyBook) -> None:
    tiny.edit("chapters/ko/01-one.md", "1. 쿼리와 키", "1. 질문과 키")
    assert titles_and_needs(tiny, "ko")["01-one"] == ("1. 질문과 키", [])
    shutil.rmtree(tiny.root / "chapters")
    assert titles_and_needs(tiny, "ko") == KO


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("needs: []", "needs: 00-zero", "01-one.md: needs must be a list .* got '00-zero'"),
        ("needs: []", "needs: [0]", r"01-one.md: needs must be a list .* got \[0\]"),
        ("# 1. 쿼리와", "## 1. 쿼리와", "01-one.md: expected a title"),
        ("needs: []", "needs: []\nminutes: long", "01-one.md: minutes must be a whole number, got 'long'"),
        ("needs: []", "needs: []\nminutes: yes", "01-one.md: minutes must be a whole number, got True"),
        ("needs: []", "needs: []\nnote: 1: 2", "01-one.md: the front matter is not valid YAML"),
    ],
)
def test_a_chapter_without_title_or_with_other_needs(
    tiny: TinyBook, old: str, new: str, message: str
) -> None:
    tiny.edit("chapters/ko/01-one.md", old, new)
    with pytest.raises(ValueError, match=message):
        polyglot_book.overview(tiny.root / "book/ko")


def test_a_front_matter_of_comments_alone_is_no_chapters(tiny: TinyBook) -> None:
    tiny.write("chapters/ko/03-three.md", "---\n# needs: []\n---\n\n# 3")
    assert titles_and_needs(tiny, "ko") == KO


@pytest.mark.parametrize("text", [True, False])
def test_a_chapter_tells_its_minutes_and_its_exercises(tiny: TinyBook, text: bool) -> None:
    tiny.edit("chapters/ko/02-two.md", "- 01-one\n", "- 01-one\nminutes: 45\n")
    tiny.write("chapters/ko/02-two.md", tiny.read("chapters/ko/02-two.md") + EXERCISES)
    tiny.pretend_to_execute()
    if not text:
        shutil.rmtree(tiny.root / "chapters")
    first, second = polyglot_book.overview(tiny.root / "book/ko").values()
    assert (first.minutes, first.exercises) == (0, [])
    assert (second.title, second.needs, second.minutes) == ("2. 쿼리와 키", ["01-one"], 45)
    add, why = second.exercises
    assert add[:2] == ("exercise-add", "Exercise 1 (easy): `add`")
    assert "checks.add(my_add)" in add.text
    assert "nothing" not in add.text
    assert why[:2] == ("exercise-why", "Exercise 2 (hard): why?")


def test_the_overview_loads_nothing_heavy(tiny: TinyBook) -> None:
    code = (
        "import sys, polyglot_book; polyglot_book.overview('book/ko');"
        "print({'sphinx', 'jupytext', 'nbformat', 'nbclient'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tiny.root, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")


ONE = """\
---
needs: [b/two]
minutes: 7
---

+++ {"id": "start"}

Text

#  One

+++ {"id": "exercise-a", "of": "1"}

::::{admonition} Try
:class: exercise
Do.
::::

```{code-cell} ipython3
:id: a
:tags: [starter]

x
```

+++ {"id": "end"}

# Two
"""


def test_all_that_the_overview_tells(tmp_path: Path) -> None:
    texts = tmp_path / "chapters/ko"
    pages = {"one.md": ONE, "b/two.md": "---\nneeds: []\n---\n# B"}
    pages |= {"none.md": "# No", "x.md": "---\na: 1\n---\n# X"}
    for name, text in pages.items():
        (texts / name).parent.mkdir(parents=True, exist_ok=True)
        (texts / name).write_text(text)
    rest = "Do.\n::::\n\n```{code-cell} ipython3\n:id: a\n:tags: [starter]\n\nx\n```\n\n"
    exercise = Exercise("exercise-a", "Try", rest)
    notebooks = tmp_path / "book/ko"
    found = polyglot_book.overview(notebooks)
    assert [*found.items()] == [
        ("b/two", Contents("B", [], 0, [])),
        ("one", Contents("One", ["b/two"], 7, [exercise])),
    ]
    for text, problem in (
        ("---\nneeds: a\n---\n# A", "needs must be a list of chapters, such as [01-first], got 'a'"),
        ("---\nneeds: [1]\n---\n# A", "needs must be a list of chapters, such as [01-first], got [1]"),
        ("---\nneeds: []\nminutes: x\n---\n# A", "minutes must be a whole number, got 'x'"),
        ("---\nneeds: []\n---\n## A", "expected a title, a line that begins with '# '; there is none"),
    ):
        (texts / "none.md").write_text(text)
        with pytest.raises(ValueError) as caught:
            polyglot_book.overview(notebooks)
        assert str(caught.value) == f"{texts}/none.md: {problem}"
    shutil.rmtree(texts)
    cells = [
        {"cell_type": "markdown", "id": "a", "source": "# A"},
        {"cell_type": "markdown", "id": "e", "source": ":::{admonition} Try\n:class: exercise\nDo.\n:::"},
        {"cell_type": "code", "id": "c", "source": "x", "outputs": [], "execution_count": None},
        {"cell_type": "markdown", "id": "b", "source": "# B"},
    ]
    notebook = {"cells": [{**each, "metadata": {}} for each in cells], "nbformat": 4, "nbformat_minor": 5}
    notebooks.mkdir(parents=True)
    (notebooks / "a.ipynb").write_text(json.dumps({**notebook, "metadata": {"needs": []}}))
    (notebooks / "b.ipynb").write_text(json.dumps({**notebook, "metadata": {}}))
    expected = Contents("A", [], 0, [Exercise("e", "Try", "Do.\n:::\n\nx\n\n")])
    assert polyglot_book.overview(notebooks) == {"a": expected}
