from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode

from polyglot_book.chapters import parse_chapter, read_chapter
from polyglot_book.execution import CellFailure, Execution
from polyglot_book.notebooks import inputs_hash, library_hash, make_notebooks, orphans, select
from tests.polyglot_book.tiny_book import TinyBook


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Kernels:
    """Counts kernels, and stands in for them: a cell prints its own source."""

    def __init__(self) -> None:
        self.started = 0

    def run(self, execution: Execution) -> NotebookNode:
        self.started += 1
        notebook: NotebookNode = execution._notebook
        number = 0
        for cell in notebook.cells:
            if cell.cell_type == "code":
                number += 1
                cell.execution_count = number
                if "1 / 0" in cell.source:
                    raise CellFailure(cell.id, "ZeroDivisionError: division by zero")
        return notebook


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    kernels = Kernels()
    monkeypatch.setattr(Execution, "run", lambda self: kernels.run(self))
    return kernels


@pytest.fixture
def library(tiny: TinyBook, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let real kernels import the tiny book's library."""
    monkeypatch.setenv("PYTHONPATH", str(tiny.root / "src"))
    yield


def make(tiny: TinyBook, *names: str, everything: bool = False) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return make_notebooks(tiny.book, names, everything=everything, jobs=2, say=lines.append), lines


def stored(tiny: TinyBook) -> dict[str, bytes]:
    return {str(path.relative_to(tiny.root)): path.read_bytes() for path in tiny.root.glob("book/*/*")}


@pytest.mark.usefixtures("library")
def test_two_executions_give_equal_bytes(tiny: TinyBook, monkeypatch: pytest.MonkeyPatch) -> None:
    # Outputs that a timing splits, an order that hashing decides, and a backend that would swallow figures.
    monkeypatch.setenv("MPLBACKEND", "Agg")
    noise = "import os, sys, time\nfor i in range(3):\n    print(i, flush=True); time.sleep(0.02)\n"
    noise += "print({'a', 'b', 'c', 'd'}, os.environ['OMP_NUM_THREADS'], os.path.basename(os.getcwd()))\n"
    noise += "print(os.environ.get('MPLBACKEND', 'default'))\nx = 6"
    tiny.edit("chapters/ko/01-one.md", "x = 6", noise)
    assert make(tiny, "ko/01-one")[0]
    first = stored(tiny)
    assert make(tiny, "ko/01-one", everything=True)[0]
    assert stored(tiny) == first
    (name,) = first
    assert name == "book/ko/01-one.ipynb"
    text = first[name].decode()
    assert text.endswith("}\n")
    notebook = json.loads(text)
    outputs = notebook["cells"][1]["outputs"]
    assert len(outputs) == 1
    lines = "".join(outputs[0]["text"]).splitlines()
    assert lines[:3] == ["0", "1", "2"]
    assert lines[3].endswith("} 1 ko")
    assert "inline" in lines[4]
    assert [cell["id"] for cell in notebook["cells"]] == ["title", "setup", "why", "draw"]
    assert notebook["cells"][3]["outputs"][0]["data"]["text/plain"] == ["square of 42 in ko"]
    assert notebook["metadata"]["language_info"] == {"name": "python", "pygments_lexer": "ipython3"}
    assert "execution" not in text.replace("execution_count", "")


@pytest.mark.usefixtures("library")
def test_a_failing_cell_leaves_the_last_good_notebook(tiny: TinyBook) -> None:
    assert make(tiny, "en")[0]
    good = stored(tiny)
    tiny.edit("chapters/en/01-one.md", "x * 7", "1 / 0")
    ok, lines = make(tiny, "en")
    assert not ok
    assert stored(tiny) == good
    assert lines[1].startswith("chapters/en/01-one.md#draw: the cell failed; mend it\n")
    assert "ZeroDivisionError: division by zero" in lines[1]
    assert "\x1b" not in lines[1]


@pytest.mark.usefixtures("library")
def test_a_cell_may_raise_where_it_says_so_and_its_traceback_names_no_machine(tiny: TinyBook) -> None:
    tiny.write("src/tinylib/broken.py", "def fail():\n    raise ValueError(f'{object()}')\n")
    tiny.edit("chapters/en/01-one.md", "tags: [hide-input]", "tags: [raises-exception]")
    tiny.edit(
        "chapters/en/01-one.md", "tinylib.square(x * 7)", "import tinylib.broken\ntinylib.broken.fail()"
    )
    ok, lines = make(tiny, "en")
    assert ok, lines
    text = stored(tiny)["book/en/01-one.ipynb"].decode()
    assert "ValueError" in text
    assert "broken.py" in text
    assert str(tiny.root) not in text
    assert "0x…" in text


def test_a_dead_kernel_names_its_cell(tiny: TinyBook) -> None:
    tiny.edit("chapters/en/01-one.md", "import tinylib\n", "import os\nos._exit(1)\n")
    ok, lines = make(tiny, "en")
    assert not ok
    assert lines[1].startswith("chapters/en/01-one.md#setup: the cell failed")
    assert stored(tiny) == {}


def test_nothing_is_executed_twice(tiny: TinyBook, kernels: Kernels) -> None:
    ok, lines = make(tiny)
    assert ok
    assert kernels.started == 4
    assert lines[0] == "executing 4 notebooks, 2 at a time"
    assert {line.split()[1] for line in lines[1:]} == {f"{code}/01-one" for code in tiny.book.languages}
    assert lines[-1].startswith("[4/4] ")
    assert make(tiny) == (True, [])
    assert kernels.started == 4


def test_a_fresh_copy_executes_nothing(tiny: TinyBook, kernels: Kernels, tmp_path: Path) -> None:
    make(tiny)
    shutil.copytree(tiny.root, tmp_path / "elsewhere" / "copy")
    copy = TinyBook.__new__(TinyBook)
    copy.root = tmp_path / "elsewhere" / "copy"
    # What an editor or an import leaves behind is no part of the library.
    copy.write("src/tinylib/__pycache__/x.pyc", "x")
    copy.write("src/tinylib/.x.swp", "x")
    assert make(copy) == (True, [])
    assert kernels.started == 4


@pytest.mark.parametrize(
    ("old", "new"), [("1. Queries", "1. Questions"), ("hide-input", "hide-cell"), ("A square", "Four sides")]
)
def test_new_prose_keeps_the_outputs(tiny: TinyBook, kernels: Kernels, old: str, new: str) -> None:
    make(tiny)
    name = "book/en/01-one.ipynb"
    marked = json.loads(stored(tiny)[name])
    marked["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["kept"]}]
    tiny.write(name, json.dumps(marked))
    tiny.edit("chapters/en/01-one.md", old, new)
    assert make(tiny) == (True, ["en/01-one: new text, outputs kept"])
    assert kernels.started == 4
    text = tiny.read(name)
    assert new in text
    assert "kept" in text


@pytest.mark.parametrize(
    "what", ["code", "library", "data", "environment", "tag", "id", "outputs", "notebook"]
)
def test_what_outputs_depend_on_is_executed_again(tiny: TinyBook, kernels: Kernels, what: str) -> None:
    make(tiny)
    chapter = "chapters/en/01-one.md"
    name = "book/en/01-one.ipynb"
    match what:
        case "code":
            tiny.edit(chapter, "x = 6", "x = 5")
        case "library":
            tiny.edit("src/tinylib/__init__.py", "class Drawing", "class  Drawing")
        case "data":
            tiny.write("src/tinylib/data/x.csv", "1")
        case "environment":
            tiny.edit(
                "_config.yml",
                "    polyglot_folder",
                "    polyglot_kernel_environment: {A: 1}\n    polyglot_folder",
            )
        case "tag":
            tiny.edit(chapter, "hide-input", "raises-exception")
        case "id":
            tiny.edit(chapter, "id: draw", "id: paint")
        case "outputs":
            tiny.edit(name, '"execution_count": 2', '"execution_count": 3')
        case "notebook":
            tiny.write(name, "{}")
    make(tiny)
    assert kernels.started == 4 + (4 if what in {"library", "data", "environment"} else 1)
    assert make(tiny) == (True, [])


def test_a_failure_stops_what_has_not_begun(tiny: TinyBook, kernels: Kernels) -> None:
    tiny.edit("chapters/en/01-one.md", "x = 6", "1 / 0")
    lines: list[str] = []
    assert not make_notebooks(tiny.book, jobs=1, say=lines.append)
    assert "chapters/en/01-one.md#setup: the cell failed" in lines[1]
    assert "book/en/01-one.ipynb" not in stored(tiny)
    assert kernels.started < 4 or len(lines) == 5


def test_no_half_written_file_is_left(
    tiny: TinyBook, kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tiny)
    good = stored(tiny)
    tiny.edit("chapters/en/01-one.md", "x = 6", "x = 5")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        make(tiny)
    assert stored(tiny) == good


def test_a_notebook_without_a_chapter_is_removed(tiny: TinyBook, kernels: Kernels) -> None:
    make(tiny)
    (tiny.root / "chapters/ko/01-one.md").unlink()
    tiny.write("book/ko/own.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    assert [path.name for path in orphans(tiny.book)] == ["01-one.ipynb", "own.ipynb"]
    assert make(tiny) == (
        True,
        [
            "removed book/ko/01-one.ipynb: its chapter is gone",
            "book/ko/own.ipynb: made from no chapter; left alone, remove it or write its chapter",
        ],
    )
    assert [path.name for path in orphans(tiny.book)] == ["own.ipynb"]


@pytest.mark.parametrize("name", ["ko/01-one", "chapters/ko/01-one.md", "book/ko/01-one.ipynb", "ko"])
def test_a_chapter_is_named_in_any_way(tiny: TinyBook, name: str) -> None:
    assert select(tiny.book, [name]) == [("ko", "01-one")]


def test_names_of_chapters(tiny: TinyBook) -> None:
    assert len(select(tiny.book, ["01-one"])) == 4
    with pytest.raises(ValueError, match="02-two: no such chapter; name one as in en/01-one"):
        select(tiny.book, ["02-two"])


def test_the_hash_is_of_code_not_of_prose_and_stable(tiny: TinyBook) -> None:
    book = tiny.book
    chapter = read_chapter(book, tiny.root / "chapters/en/01-one.md")
    before = inputs_hash(book, chapter, library_hash(book))
    prose = parse_chapter(chapter.text.replace("asks each key", "asks all keys"), chapter.where)
    assert inputs_hash(book, prose, library_hash(book)) == before
    code = parse_chapter(chapter.text.replace("x * 7", "x * 8"), chapter.where)
    assert inputs_hash(book, code, library_hash(book)) != before
    # Moving bytes from one file to another is a change.
    tiny.write("src/tinylib/a.txt", "asrc/tinylib/b.txt\0b")
    one = library_hash(book)
    tiny.write("src/tinylib/a.txt", "a")
    tiny.write("src/tinylib/b.txt", "b")
    assert len({one, library_hash(book), before}) == 3


def test_the_kernel_is_this_python_whatever_is_installed(
    tiny: TinyBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A kernelspec of the same name must not be looked at.
    folder = tiny.root / "jupyter/kernels/python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text('{"argv": ["/bin/false"], "display_name": "x", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tiny.root / "jupyter"))
    tiny.edit(
        "chapters/en/01-one.md", 'import tinylib\ntinylib.set_language("en")', "import sys\nprint(sys.prefix)"
    )
    tiny.edit("chapters/en/01-one.md", "tinylib.square(x * 7)", "x")
    assert make(tiny, "en")[0]
    assert sys.prefix in tiny.read("book/en/01-one.ipynb")


def test_ctrl_c_ends_command_and_kernel(tiny: TinyBook) -> None:
    asleep = tiny.root / "asleep"
    code = f"import os, time\nopen({str(asleep)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    tiny.edit("chapters/en/01-one.md", "import tinylib\n", code)
    command = [sys.executable, "-m", "polyglot_book", "--root", str(tiny.root), "notebooks", "en"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: asleep.exists() and asleep.read_text() != "")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "")
    assert out == "executing 1 notebook, 1 at a time\n"
    wait_until(lambda: not Path(f"/proc/{asleep.read_text()}").exists())
    assert stored(tiny) == {}
