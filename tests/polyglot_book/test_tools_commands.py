from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polyglot_book.__main__ import main
from tests.polyglot_book.tiny_book import TinyBook


@pytest.fixture
def executed(tiny: TinyBook) -> TinyBook:
    tiny.pretend_to_execute()
    return tiny


def run(tiny: TinyBook, *arguments: str) -> int:
    return main(["--root", str(tiny.root), *arguments])


def test_check_runs_every_check(executed: TinyBook, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(executed, "check") == 0
    assert capsys.readouterr().out == "1 chapter, 4 languages, 16 cells: 0 violations\n"
    executed.edit("chapters/ko/01-one.md", "x * 7", "x * 8")
    executed.edit("chapters/zh-TW/01-one.md", "為什麼](#why)", "为什麼](#other)")
    assert run(executed, "check") == 1
    out = capsys.readouterr().out
    for part in (
        "chapters/ko/01-one.md#draw: the code differs",
        "chapters/zh-TW/01-one.md#why: links: lacks '#why' and adds '#other'",
        "chapters/zh-TW/01-one.md#why: Simplified characters 为",
        "book/ko/01-one.ipynb#draw: it differs from the chapter's cell",
        "book/zh-TW/01-one.ipynb#why: it differs from the chapter's cell",
    ):
        assert part in out
    violations = len(out.splitlines()) - 1
    assert out.splitlines()[-1].endswith(f": {violations} violations")


def test_outdated_names_notebooks_in_one_line(executed: TinyBook, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(executed, "outdated") == 0
    assert capsys.readouterr().out == ""
    executed.edit("chapters/ko/01-one.md", "x * 7", "x * 8")
    executed.edit("chapters/en/01-one.md", "asks each key", "asks every key")
    assert run(executed, "outdated") == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith(": ko/01-one en/01-one")


def test_translations_fails_where_something_is_stale(
    tiny: TinyBook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny, "translations") == 0
    tiny.edit("chapters/en/01-one.md", "asks each key", "asks every key")
    assert run(tiny, "translations") == 1
    assert "chapters/ko/01-one.md#why: stale" in capsys.readouterr().out
    assert run(tiny, "mark", "ko/01-one#why") == 0
    assert run(tiny, "sync") == 0
    assert capsys.readouterr().out == "chapters/ko/01-one.md#why: marked as up to date\n"
    assert run(tiny, "mark", "zh-TW/01-one#why", "zh-CN/01-one") == 0
    assert run(tiny, "translations") == 0


def test_messages_name_the_commands_as_the_book_does(
    executed: TinyBook, capsys: pytest.CaptureFixture[str]
) -> None:
    executed.write("polyglot.yml", "commands: {run: make notebooks, mark: make mark CELL=}\n")
    executed.edit("chapters/en/01-one.md", "asks each key", "asks every key")
    executed.edit("chapters/ko/01-one.md", "x * 7", "x * 8")
    assert run(executed, "check") == 1
    out = capsys.readouterr().out
    for part in ("`make mark CELL=ko/01-one#why`", "run `make notebooks`", "run `polyglot sync`"):
        assert part in out
    assert "`polyglot run`" not in out
    executed.write("polyglot.yml", "commands: {mark: mybook mark}\n")
    run(executed, "check")
    assert "`mybook mark ko/01-one#why`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mark"], "which cell?"),
        (["mark", "ko/01-one#nothing"], "no such cell"),
        (["notebooks", "nothing"], "no such chapter"),
    ],
)
def test_errors_are_one_line(
    tiny: TinyBook, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(tiny, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_a_chapter_that_cannot_be_read_is_one_line(
    tiny: TinyBook, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.edit("chapters/ko/01-one.md", ":id: setup\n", "")
    assert run(tiny, "notebooks") == 1
    assert capsys.readouterr().err == (
        "chapters/ko/01-one.md: line 10: code cell: expected a header with an id, got {}; "
        "correct its header, as in :id: why-scale\n"
    )
    assert run(tiny, "check") == 1
    assert capsys.readouterr().out.startswith("chapters/ko/01-one.md: line 10: code cell: ")


def test_a_real_run_prints_progress_and_nothing_of_jupyter(tiny: TinyBook) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tiny.root / "src"), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "polyglot_book", "--root", str(tiny.root), "notebooks", "en"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "executing 1 notebook, 1 at a time"
    assert lines[1].startswith("[1/1] en/01-one ")
    assert len(lines) == 2
    again = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
