from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from polyglot_book import initialize, notebooks
from polyglot_book.__main__ import main
from tests.polyglot_book.tiny_book import TinyBook

HELP = {
    "": """\
usage: polyglot [-h] [--root ROOT] command ...
Tools for a book in several languages.
positional arguments:
command
init set up a book or a language; run again, it adds missing ids
outdated list notebooks older than their chapters or the library
sync copy the reference's code, and missing cells, to the translations
check run every check
status (translations) show how many cells of each language are current, stale or missing
mark record that a translation is up to date
export write files for translators: <folder>/<language>/<chapter>.po
import read them again: <folder>/<language>/<chapter>.po
run (notebooks) make the notebooks, executing what changed
options:
-h, --help show this help message and exit
--root ROOT the folder of _config.yml (default: this one)""",
    "init": """\
usage: polyglot init [-h] [--new DIR] [--language CODE] [--pages DIR] [--reference CODE] [--folder DIR]
options:
-h, --help show this help message and exit
--new DIR lay out a small book there, in --reference and --language
--language CODE a language to begin, as in zh-CN
--pages DIR its translated pages, where there are some
--reference CODE the language of the book as it is (default: en)
--folder DIR the folder for the languages' pages (default: book)""",
    "status": """\
usage: polyglot status [-h] [--json | --annotations]
options:
-h, --help show this help message and exit
--json print JSON
--annotations print annotations of GitHub's workflows""",
    "mark": """\
usage: polyglot mark [-h] [cell ...]
positional arguments:
cell <lang>/<chapter>#<cell>, or <lang>/<chapter> for all of its cells
options:
-h, --help show this help message and exit""",
    "export": """\
usage: polyglot export [-h] [folder]
positional arguments:
folder the folder (default: po)
options:
-h, --help show this help message and exit""",
    "run": """\
usage: polyglot run [-h] [--all] [--jobs N] [--limit S] [chapter ...]
positional arguments:
chapter as in ko/01-x, 01-x, or ko; default: all
options:
-h, --help show this help message and exit
--all execute even what is up to date
--jobs N kernels at a time (default: one per CPU)
--limit S seconds a cell may take (default: 900)""",
}


@pytest.fixture
def executed(tiny: TinyBook) -> TinyBook:
    tiny.pretend_to_execute()
    return tiny


def run(tiny: TinyBook, *arguments: str) -> int:
    return main(["--root", str(tiny.root), *arguments])


def test_each_command_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    for command, text in HELP.items():
        with pytest.raises(SystemExit):
            main([*filter(None, [command]), "--help"])
        assert capsys.readouterr().out.split() == text.split()


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "the following arguments are required: command" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names", "options"),
    [
        ("run", [], {"everything": False, "jobs": None, "limit": 900}),
        ("notebooks ko 01-x", ["ko", "01-x"], {"everything": False, "jobs": None, "limit": 900}),
        ("run --all --jobs 3 --limit 2.5", [], {"everything": True, "jobs": 3, "limit": 2.5}),
    ],
)
def test_run_passes_its_arguments_on(
    tiny: TinyBook, monkeypatch: pytest.MonkeyPatch, words: str, names: list[str], options: dict[str, object]
) -> None:
    calls: list[object] = []
    monkeypatch.setattr(notebooks, "make_notebooks", lambda *args, **named: calls.append((args, named)))
    assert run(tiny, *words.split()) == 1  # what is called returns nothing, as after a failure
    assert calls == [((tiny.book, names), options)]


@pytest.mark.parametrize(
    ("words", "positional", "named"),
    [
        ("init", (Path("x"), None, None), {"reference": "en", "folder": "book"}),
        ("init --language ko --pages p", (Path("x"), "ko", Path("p")), {"reference": "en", "folder": "book"}),
        ("init --reference de --folder f", (Path("x"), None, None), {"reference": "de", "folder": "f"}),
        ("init --new n --language ko", (Path("n"), "ko", None), {"reference": "en", "folder": "book"}),
    ],
)
def test_init_passes_its_arguments_on(
    monkeypatch: pytest.MonkeyPatch, words: str, positional: tuple[object, ...], named: dict[str, str]
) -> None:
    calls: list[object] = []
    monkeypatch.setattr(initialize, "new_book", lambda *args: calls.append(args))
    monkeypatch.setattr(initialize, "initialize", lambda *args, **named: calls.append((args, named)))
    assert main(["--root", "x", *words.split()]) == 0
    new = [(Path("n"), "en", "ko")] if "--new" in words else []
    assert calls == [*new, (positional, named)]


def test_the_texts_of_translators_are_in_po_unless_a_folder_is_named(
    tiny: TinyBook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny, "export") == run(tiny, "export", str(tiny.root / "texts")) == 0
    assert tiny.read("po/ko/01-one.po") == tiny.read("texts/ko/01-one.po")
    capsys.readouterr()
    assert run(tiny, "import") == run(tiny, "import", str(tiny.root / "texts")) == 0
    assert capsys.readouterr().out == ""


def test_status_and_check_print_what_they_found_in_three_forms(
    executed: TinyBook, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(executed.root)
    whole = {"01-one": {"current": ["title", "setup", "why", "draw"]}}
    states = {code: whole for code in ("zh-TW", "zh-CN", "ko")}
    assert run(executed, "status", "--json") == run(executed, "check", "--annotations") == 0
    printed = json.dumps({"languages": states, "violations": []}, indent=1)
    assert capsys.readouterr().out == f"{printed}\n"
    executed.edit("chapters/ko/01-one.md", "쿼리는", "질의는")
    executed.pretend_to_execute()
    problem, remedy = "the wording '질의' is to be avoided", "write '쿼리'"
    assert run(executed, "check") == run(executed, "check", "--json") == 1
    assert run(executed, "check", "--annotations") == 1
    summary = "1 chapter, 4 languages, 16 cells: 1 violation"
    found = {"file": "chapters/ko/01-one.md", "cell": "why", "problem": problem, "remedy": remedy, "line": 18}
    printed = json.dumps({"summary": summary, "violations": [found]}, ensure_ascii=False, indent=1)
    assert capsys.readouterr().out == (
        f"chapters/ko/01-one.md#why: {problem}; {remedy}\n{summary}\n{printed}\n"
        f"::error file=chapters/ko/01-one.md,line=18::#why: {problem}; {remedy}\n"
    )


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
    assert capsys.readouterr().out == (
        "Notebooks older than their chapters or the library (run `polyglot run`): ko/01-one en/01-one\n"
    )


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
