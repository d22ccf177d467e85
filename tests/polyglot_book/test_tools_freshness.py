from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polyglot_book import chapters, freshness, notebooks
from polyglot_book.chapters import Chapter
from polyglot_book.checks import check_notebooks
from polyglot_book.config import Book
from polyglot_book.freshness import Run, Runs, Verified, library_hash
from polyglot_book.notebooks import outdated
from tests.polyglot_book.kernels import Kernels, make
from tests.polyglot_book.tiny_book import TinyBook


def test_nothing_is_executed_twice(tiny: TinyBook, kernels: Kernels) -> None:
    ok, lines = make(tiny)
    assert ok
    assert kernels.started == 4
    assert lines[0] == "executing 4 notebooks, 2 at a time"
    assert {line.split()[1] for line in lines[1:]} == {f"{code}/01-one" for code in tiny.book.languages}
    assert lines[-1].startswith("[4/4] ")
    assert make(tiny) == (True, [])
    assert kernels.started == 4


def clone(tiny: TinyBook, root: Path) -> TinyBook:
    """Copy what git would copy."""
    shutil.copytree(tiny.root, root, ignore=shutil.ignore_patterns("_build"))
    copy = TinyBook.__new__(TinyBook)
    copy.root = root
    return copy


LIBRARY = "src/tinylib/__init__.py"


def test_a_clone_executes_nothing_until_its_library_changes(
    tiny: TinyBook, kernels: Kernels, tmp_path: Path
) -> None:
    make(tiny)
    copy = clone(tiny, tmp_path / "elsewhere" / "copy")
    # What an editor or an import leaves behind is no part of the library.
    copy.write("src/tinylib/__pycache__/x.pyc", "x")
    copy.write("src/tinylib/.x.swp", "x")
    assert make(copy) == (True, [])
    edited = clone(tiny, tmp_path / "edited")
    edited.edit(LIBRARY, "class Drawing", "class  Drawing")
    assert len(outdated(edited.book)) == 4
    assert make(edited)[0]
    assert kernels.started == 8
    assert make(edited) == (True, [])


def test_what_was_edited_is_executed_before_what_the_library_made_old(
    tiny: TinyBook, kernels: Kernels
) -> None:
    make(tiny)
    tiny.edit(LIBRARY, "class Drawing", "class  Drawing")
    tiny.edit("chapters/ko/01-one.md", "x * 7", "x * 8")
    assert outdated(tiny.book) == ["ko/01-one", "en/01-one", "zh-TW/01-one", "zh-CN/01-one"]
    lines = make(tiny)[1]
    assert lines[0] == "executing 4 notebooks, 2 at a time; 3 of them because of the library, last"


@pytest.mark.parametrize("content", [None, "", "[]", "3", '{"library": {'])
def test_losing_what_this_machine_knows_changes_nothing(
    tiny: TinyBook, kernels: Kernels, content: str | None
) -> None:
    make(tiny)
    path = tiny.root / "_build/runs.jsonl"
    path.unlink()
    if content is not None:
        path.write_text(content)
    tiny.edit(LIBRARY, "class Drawing", "class  Drawing")
    assert len(outdated(tiny.book)) == 4
    tiny.edit(LIBRARY, "class  Drawing", "class Drawing")
    assert make(tiny) == (True, [])
    assert kernels.started == 4


def test_notebooks_without_a_record_are_executed(tiny: TinyBook, kernels: Kernels) -> None:
    make(tiny)
    (tiny.root / "book/runs.jsonl").unlink()
    (tiny.root / "_build/runs.jsonl").unlink()
    assert len(outdated(tiny.book)) == 4


def test_undoing_a_change_executes_nothing(tiny: TinyBook, kernels: Kernels) -> None:
    make(tiny)
    runs = tiny.read("book/runs.jsonl")
    tiny.edit(LIBRARY, "class Drawing", "class  Drawing")
    make(tiny)
    assert (kernels.started, tiny.read("book/runs.jsonl") == runs) == (8, False)
    tiny.edit(LIBRARY, "class  Drawing", "class Drawing")
    assert make(tiny) == (True, [])
    assert (kernels.started, tiny.read("book/runs.jsonl")) == (8, runs)
    # Outputs that another library made are no longer what the first one computes.
    name = "book/ko/01-one.ipynb"
    tiny.edit(name, "executed", "executed differently")
    assert outdated(tiny.book) == ["ko/01-one"]


def test_a_changed_term_executes_the_notebooks_that_read_it(tiny: TinyBook, kernels: Kernels) -> None:
    tiny.edit("_config.yml", "polyglot_terms: terms.yml", "polyglot_terms: src/tinylib/terms.yml")
    tiny.write("src/tinylib/terms.yml", tiny.read("terms.yml"))
    everyone = [f"{code}/01-one" for code in tiny.book.languages]
    make(tiny, "en")
    kernels.terms = ("labels/position/zh-TW",)
    make(tiny, "zh-TW")
    kernels.terms = ("labels/query/zh-CN", "terms/query/zh-CN")  # a term, because no label has its name
    make(tiny, "zh-CN")
    kernels.terms = ()
    make(tiny, "ko")
    assert outdated(tiny.book) == []
    terms = "src/tinylib/terms.yml"
    for old, new, expected in (
        ("ko: 위치", "ko: 자리", ["en/01-one"]),
        ("zh-TW: 位置", "zh-TW: 地方", ["en/01-one", "zh-TW/01-one"]),
        ("labels:", "labels:\n  query: {en: q, zh-TW: 查, zh-CN: 查, ko: 큐}", ["en/01-one", "zh-CN/01-one"]),
        ("labels:", "labels: {", everyone[:3]),
    ):
        before = tiny.read(terms)
        tiny.edit(terms, old, new)
        assert outdated(tiny.book) == expected
        tiny.write(terms, before)
    assert outdated(tiny.book) == []


@pytest.mark.parametrize(
    ("old", "new"), [("1. Queries", "1. Questions"), ("hide-input", "hide-cell"), ("A square", "Four sides")]
)
def test_new_prose_keeps_the_outputs(tiny: TinyBook, kernels: Kernels, old: str, new: str) -> None:
    make(tiny)
    assert outdated(tiny.book) == []
    name = "book/en/01-one.ipynb"
    tiny.edit("chapters/en/01-one.md", old, new)
    assert make(tiny) == (True, ["en/01-one: new text, outputs kept"])
    assert kernels.started == 4
    text = tiny.read(name)
    assert new in text
    assert "executed" in text


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("chapters/en/01-one.md", "x = 6", "x = 5"),
        ("chapters/en/01-one.md", "hide-input", "raises-exception"),
        ("chapters/en/01-one.md", "id: draw", "id: paint"),
        ("book/en/01-one.ipynb", '"execution_count": 2', '"execution_count": 3'),
        ("book/en/01-one.ipynb", "{", "["),
        (LIBRARY, "class Drawing", "class  Drawing"),
        (LIBRARY, "(code):", "(code):  # a chapter may print the library's source"),
        ("src/tinylib/data/x.csv", "0", "1"),
    ],
)
def test_what_outputs_depend_on_is_executed_again(
    tiny: TinyBook, kernels: Kernels, name: str, old: str, new: str
) -> None:
    tiny.write("src/tinylib/data/x.csv", "0")
    make(tiny)
    assert outdated(tiny.book) == []
    tiny.edit(name, old, new)
    concerned = tiny.book.languages if "tinylib" in name else ["en"]
    assert outdated(tiny.book) == [f"{code}/01-one" for code in concerned]
    make(tiny)
    assert kernels.started == 4 + len(concerned)
    assert make(tiny) == (True, [])


def test_only_what_changed_is_parsed(
    tiny: TinyBook, kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []

    def read_chapter(book: Book, path: Path) -> Chapter:
        parsed.append(book.relative(path))
        return chapters.read_chapter(book, path)

    make(tiny)
    outdated(tiny.book)
    monkeypatch.setattr(notebooks, "read_chapter", read_chapter)
    monkeypatch.setattr(freshness, "library_hash", lambda book: pytest.fail("the library is parsed"))
    assert outdated(tiny.book) == []
    assert parsed == []
    tiny.edit("chapters/en/01-one.md", "# 1. ", "# 1: ")
    assert outdated(tiny.book) == ["en/01-one"]
    assert parsed == ["chapters/en/01-one.md"]


def test_moving_bytes_from_one_file_to_another_is_a_change(tiny: TinyBook) -> None:
    tiny.write("src/tinylib/a.txt", "asrc/tinylib/b.txt\0b")
    one = library_hash(tiny.book)
    tiny.write("src/tinylib/a.txt", "a")
    tiny.write("src/tinylib/b.txt", "b")
    assert library_hash(tiny.book) != one


def test_what_only_the_site_reads_is_no_part_of_the_library(tiny: TinyBook) -> None:
    before = library_hash(tiny.book)
    tiny.write("src/tinylib/live/square.js", "export const render = () => {};")
    tiny.write("src/tinylib/live/live.css", "p { color: red }")
    assert library_hash(tiny.book) == before


DOCUMENTED = '''\
"""Module."""
def f(): "in line"; return 1
class C:
    """First.

    Second.
    """
    x = """no docstring"""
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""Module."""', '"""Another\n\nmodule."""', True),
        ('"""Module."""\n', "", True),
        ('"in line"', '"elsewhere"', True),
        ("return 1", "return 2", False),
        ("    Second.\n", "", True),
        ("no docstring", "none", False),
        ("class C", "class D", False),
        ("def f(): ", "def f(:", False),
    ],
)
def test_docstrings_are_no_part_of_the_library(tiny: TinyBook, old: str, new: str, same: bool) -> None:
    tiny.write("src/tinylib/more.py", DOCUMENTED)
    before = library_hash(tiny.book)
    tiny.edit("src/tinylib/more.py", old, new)
    assert (library_hash(tiny.book) == before) == same


def test_a_page_with_the_overview_is_executed_again_when_a_title_changes(
    tiny: TinyBook, kernels: Kernels
) -> None:
    for code in tiny.book.languages:
        tiny.edit(f"chapters/{code}/01-one.md", "html_meta:", "needs: []\nhtml_meta:")
    index = tiny.read("chapters/ko/01-one.md").replace("x = 6", "polyglot_book.overview()")
    tiny.write("chapters/ko/index.md", index)
    make(tiny)
    tiny.edit("chapters/en/01-one.md", "1. Queries", "1. Questions")
    assert outdated(tiny.book) == ["en/01-one"]
    tiny.edit("chapters/ko/01-one.md", "1. 쿼리", "1. 질문과")
    assert outdated(tiny.book) == ["ko/index", "en/01-one", "ko/01-one"]


@pytest.mark.usefixtures("kernels")
def test_a_page_with_the_overview_is_executed_again_when_an_exercise_changes(tiny: TinyBook) -> None:
    tiny.edit("chapters/ko/01-one.md", "html_meta:", "needs: []\nhtml_meta:")
    page = tiny.read("chapters/ko/01-one.md").replace("x = 6", "polyglot_book.overview()")
    tiny.write("chapters/ko/teaching.md", page)
    exercise = '+++ {{"id": "exercise-a"}}\n\n:::{{admonition}} {}\n:class: exercise\nWhy?\n:::\n'
    chapter = tiny.read("chapters/ko/01-one.md")
    tiny.write("chapters/ko/01-one.md", f"{chapter}\n{exercise.format('Exercise 1')}")
    make(tiny)
    tiny.edit("chapters/ko/01-one.md", "Exercise 1", "Exercise 1 (easy)")
    assert outdated(tiny.book) == ["ko/teaching", "ko/01-one"]


@pytest.mark.usefixtures("kernels")
def test_two_branches_that_edit_two_chapters_merge(tmp_path: Path) -> None:
    tiny = TinyBook(tmp_path / "merged", ("01-one", "02-two"))

    def git(*words: str) -> str:
        own = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *own, *words], cwd=tiny.root, check=True, capture_output=True, text=True
        ).stdout

    def commit() -> None:
        assert make(tiny)[0]
        git("add", ".")
        git("commit", "-q", "-m", "x")

    tiny.write(".gitignore", "_build\n")
    tiny.write(".gitattributes", "book/runs.jsonl merge=union\n")
    git("init", "-q", "-b", "main")
    commit()
    git("checkout", "-q", "-b", "other")
    tiny.edit("chapters/en/01-one.md", "x = 6", "x = 5")
    tiny.edit("chapters/ko/01-one.md", "x = 6", "x = 5")
    tiny.edit("src/tinylib/__init__.py", "def square(side):", "def square(side=1):")
    commit()
    git("checkout", "-q", "main")
    tiny.edit("chapters/en/02-two.md", "2. Queries", "2. Questions")
    tiny.edit("chapters/ko/02-two.md", "x * 7", "x * 8")
    tiny.edit("src/tinylib/__init__.py", 'language = "en"', '"""A library."""\nlanguage = code = "en"')
    commit()
    changed = git("diff", "--name-only", "HEAD~1", "--", "book").split()
    assert changed == ["book/en/02-two.ipynb", "book/ko/02-two.ipynb", "book/runs.jsonl"]
    git("merge", "-q", "--no-edit", "other")
    assert check_notebooks(tiny.book) == []
    assert git("status", "--porcelain") == ""
    assert len(outdated(tiny.book)) == 8, "nobody has executed them with the library of both"
    git("reset", "-q", "--hard", "HEAD~1")
    assert outdated(tiny.book) == []


def test_runs_are_kept_the_last_first_and_twenty_of_a_notebook(tiny: TinyBook) -> None:
    runs = Runs(tiny.book)
    assert runs.last("ko/01-one") is None
    for number in range(25):
        runs.add(Run("ko/01-one", "i", str(number), ("a/é",)))
    other = Run("en/01-one", "i", "r")
    runs.add(other)
    runs.add(Run("ko/01-one", "i", "7", ("a/é",)))
    runs.write({"ko/01-one"})
    line = '{"notebook": "ko/01-one", "inputs": "i", "result": "7", "terms": ["a/é"]}\n'
    assert tiny.read("book/runs.jsonl") == line
    history = tiny.read("_build/runs.jsonl").splitlines()
    results = [run.result for each in history for run in Run.parse(each)]
    assert results == ["r", "7", *(str(each) for each in range(24, 5, -1) if each != 7), "5"]
    assert history[0] == '{"notebook": "en/01-one", "inputs": "i", "result": "r", "terms": null}'
    again = Runs(tiny.book)
    assert again.last("en/01-one") == other
    assert again.last("ko/01-one") == Run("ko/01-one", "i", "7", ("a/é",))
    tiny.write("book/runs.jsonl", line.replace('"7"', '"24"') + line.replace('"7"', '"23"'))
    last = Runs(tiny.book).last("ko/01-one")
    assert last and last.result == "24"  # the committed file counts before what this machine has


def test_what_was_compared_is_kept_beside_what_was_before(tiny: TinyBook) -> None:
    verified = Verified(tiny.book)
    assert not verified.has("a", "1")
    verified.write({})
    assert not (tiny.root / "_build").exists()
    verified.write({"a": ("1", "2")})
    Verified(tiny.book).write({"b": ("3", "4")})
    again = Verified(tiny.book)
    assert again.has("a", "1") and again.has("a", "1", "2") and again.has("b", "3", "4")
    assert not (again.has("a", "2") or again.has("a", "1", "4") or again.has("c", "1"))
