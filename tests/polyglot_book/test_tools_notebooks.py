from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from polyglot_book import execution
from polyglot_book.__main__ import main
from polyglot_book.chapters import read_all, text_hash
from polyglot_book.config import Book
from polyglot_book.ipynb import read_notebook
from polyglot_book.notebooks import make_notebook, make_notebooks, orphans, select
from tests.polyglot_book.kernels import Kernels, make, stored
from tests.polyglot_book.tiny_book import TinyBook


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def library(tiny: TinyBook, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let real kernels import the tiny book's library."""
    monkeypatch.setenv("PYTHONPATH", str(tiny.root / "src"))
    yield


@pytest.mark.usefixtures("library")
def test_two_executions_give_equal_bytes(tiny: TinyBook, monkeypatch: pytest.MonkeyPatch) -> None:
    # Outputs that a timing splits, an order that hashing decides, and a backend that would swallow figures.
    monkeypatch.setenv("MPLBACKEND", "Agg")
    noise = "import os, sys, time\nfor i in range(3):\n    print(i, flush=True); time.sleep(0.02)\n"
    noise += "print({'a', 'b', 'c', 'd'}, os.environ['OMP_NUM_THREADS'], os.path.basename(os.getcwd()))\n"
    noise += "print(os.environ.get('MPLBACKEND'), os.environ['IPYTHONDIR'].split('_build/')[-1])\nx = 6"
    tiny.edit("chapters/ko/01-one.md", "x = 6", noise)
    profile = tiny.root / "_build/ipython/ko/01-one"
    profile.mkdir(parents=True)  # as a killed run leaves it
    assert make(tiny, "ko/01-one")[0]
    assert not profile.exists()
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
    assert lines[4].endswith(" ipython/ko/01-one")
    assert [cell["id"] for cell in notebook["cells"]] == ["title", "setup", "why", "draw"]
    assert notebook["cells"][3]["outputs"][0]["data"]["text/plain"] == ["square of 42 in ko"]
    assert notebook["metadata"]["language_info"] == {"name": "python", "pygments_lexer": "ipython3"}
    assert "execution" not in text.replace("execution_count", "")


@pytest.mark.skipif(os.name != "posix", reason="only there kernels have sockets in files")
@pytest.mark.usefixtures("library")
def test_no_two_kernels_can_take_one_port(tiny: TinyBook) -> None:
    code = "from ipykernel.connect import get_connection_info\nx = 6\nprint(get_connection_info())"
    tiny.edit("chapters/en/01-one.md", "x = 6", code)
    assert make(tiny, "en")[0]
    (notebook,) = stored(tiny).values()
    connection = json.loads("".join(json.loads(notebook)["cells"][1]["outputs"][0]["text"]))
    assert connection["transport"] == "ipc"
    assert not Path(connection["ip"]).parent.exists()


@pytest.mark.usefixtures("library")
def test_a_failing_cell_leaves_the_last_good_notebook(tiny: TinyBook) -> None:
    assert make(tiny, "en")[0]
    good = stored(tiny)
    tiny.edit("chapters/en/01-one.md", "x * 7", "1 / 0")
    ok, lines = make(tiny, "en")
    assert not ok
    assert stored(tiny) == good
    assert lines[1].startswith("chapters/en/01-one.md#draw: the cell failed\n")
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


@pytest.mark.usefixtures("library")
def test_a_starter_is_executed_and_its_output_neither_stored_nor_compared(tiny: TinyBook) -> None:
    started = "import pathlib; pathlib.Path('started').write_text('yes'); print('well done')"
    tiny.edit("chapters/en/01-one.md", "tinylib.square(x * 7)", started)
    assert make(tiny, "en")[0]
    assert b"well done\\n" in stored(tiny)["book/en/01-one.ipynb"]
    (tiny.root / "book/en/started").unlink()
    tiny.edit("chapters/en/01-one.md", "tags: [hide-input]", "tags: [starter]")
    assert make(tiny, "en")[0]
    cell = json.loads(stored(tiny)["book/en/01-one.ipynb"])["cells"][3]
    assert (tiny.root / "book/en/started").is_file()
    assert cell["outputs"] == []
    assert cell["metadata"]["tags"] == ["starter", "nbval-ignore-output"]


def test_a_dead_kernel_names_its_cell(tiny: TinyBook) -> None:
    tiny.edit("chapters/en/01-one.md", "import tinylib\n", "import os\nos._exit(1)\n")
    ok, lines = make(tiny, "en")
    assert not ok
    assert lines[1].startswith("chapters/en/01-one.md#setup: the cell failed")
    assert stored(tiny) == {}


@pytest.mark.usefixtures("library")
def test_a_cell_that_never_ends_is_named_and_stopped(tiny: TinyBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "PATIENCE", 0.5)
    tiny.edit("chapters/en/01-one.md", "tinylib.square(x * 7)", "while True:\n    pass")
    lines: list[str] = []
    assert not make_notebooks(tiny.book, ["en"], limit=2, report=lines.append)
    assert "chapters/en/01-one.md#draw: not finished after" in lines[1]
    assert lines[2:] == ["chapters/en/01-one.md#draw: the cell failed\n    not finished after 2 s"]
    assert stored(tiny) == {}


@pytest.mark.usefixtures("library")
def test_the_library_can_say_what_it_read_of_the_terms(tiny: TinyBook) -> None:
    code = (
        "import os, pathlib\npathlib.Path(os.environ['POLYGLOT_TERMS']).write_text('labels/b\\nlabels/a\\n')"
    )
    tiny.edit("chapters/en/01-one.md", "x = 6", f"{code}\nx = 6")
    assert make(tiny, "en")[0]
    assert json.loads(tiny.read("book/runs.jsonl"))["terms"] == ["labels/a", "labels/b"]


def test_a_failure_stops_what_has_not_begun(tiny: TinyBook, kernels: Kernels) -> None:
    tiny.edit("chapters/en/01-one.md", "x = 6", "1 / 0")
    lines: list[str] = []
    assert not make_notebooks(tiny.book, jobs=1, report=lines.append)
    assert "chapters/en/01-one.md#setup: the cell failed" in lines[1]
    assert "book/en/01-one.ipynb" not in stored(tiny)
    assert (kernels.started, len(lines)) == (1, 2)


def test_no_half_written_file_is_left(
    tiny: TinyBook, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tiny)
    good = stored(tiny)
    tiny.edit("chapters/en/01-one.md", "x = 6", "x = 5")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", fail)
    assert main(["--root", str(tiny.root), "notebooks"]) == 1
    printed = capsys.readouterr().err
    assert printed == f"[Errno 28] No space left on device: '{tiny.root}/book/en/01-one.ipynb'\n"
    assert stored(tiny) == good


def test_a_notebook_without_a_chapter_is_removed(tiny: TinyBook, kernels: Kernels) -> None:
    make(tiny)
    (tiny.root / "chapters/ko/01-one.md").unlink()
    tiny.write("book/ko/own.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    assert [path.name for path in orphans(tiny.book)] == ["01-one.ipynb", "own.ipynb"]
    assert make(tiny) == (
        True,
        [
            "removed book/ko/01-one.ipynb: its chapter does not exist",
            "book/ko/own.ipynb: a notebook without a chapter, left alone; remove it or write its chapter",
        ],
    )
    assert [path.name for path in orphans(tiny.book)] == ["own.ipynb"]


@pytest.mark.parametrize("name", ["ko/01-one", "chapters/ko/01-one.md", "book/ko/01-one.ipynb", "ko"])
def test_a_chapter_is_named_in_any_way(tiny: TinyBook, name: str) -> None:
    assert select(tiny.book, [name]) == [("ko", "01-one")]


def test_names_of_chapters(tiny: TinyBook) -> None:
    assert len(select(tiny.book, ["01-one"])) == 4
    with pytest.raises(ValueError, match="02-two: no such chapter; expected a name as in en/01-one"):
        select(tiny.book, ["02-two"])


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
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    def heed() -> None:  # tests in the background of a shell ignore Ctrl+C, and so does what they start
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, **pipes, text=True, preexec_fn=heed) as process:
        wait_until(lambda: asleep.exists() and asleep.read_text() != "")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "")
    assert out == "executing 1 notebook, 1 at a time\n"
    wait_until(lambda: not Path(f"/proc/{asleep.read_text()}").exists())
    assert stored(tiny) == {}


def test_a_hidden_cell_is_folded_in_notebooks_too(tiny: TinyBook) -> None:
    tiny.edit("chapters/en/01-one.md", ":id: setup\n", ":id: setup\n:tags: [hide-cell]\n")
    tiny.pretend_to_execute()
    notebook = read_notebook(tiny.root / "book/en/01-one.ipynb")
    (folded,) = [cell for cell in notebook.cells if "jupyter" in cell.metadata]
    assert folded.id == "setup"
    assert folded.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    assert folded.metadata.cellView == "form"


def test_everything_is_executed_where_that_is_asked(tiny: TinyBook, kernels: Kernels) -> None:
    make(tiny, "en")
    assert make(tiny, "en") == (True, [])
    assert make(tiny, "en", everything=True)[0]
    assert kernels.started == 2


def test_of_a_book_in_place_notebooks_alone_are_executed(
    tmp_path: Path, kernels: Kernels, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "polyglot.yml").write_text("languages: {en: {locale: en, name: English, title: x}}\n")
    pages = tmp_path / "book/en"
    pages.mkdir(parents=True)
    (pages / "text.md").write_text("# Text\n\n```{code-cell}\n1 / 0\n```\n")
    cells = [{"cell_type": "code", "source": "x", "metadata": {}, "execution_count": None, "outputs": []}]
    (pages / "data.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    )
    assert main(["--root", str(tmp_path), "init"]) == 0
    capsys.readouterr()
    assert main(["--root", str(tmp_path), "outdated"]) == 1
    assert main(["--root", str(tmp_path), "run"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "Notebooks older than their chapters or the library (run `polyglot run`): en/data"
    assert second == "executing 1 notebook, 1 at a time"
    assert third.startswith("[1/1] en/data ")
    (cell,) = read_notebook(pages / "data.ipynb").cells
    assert (cell.id, cell.execution_count, cell.outputs[0].text) == ("start-code", 1, "executed")
    for words in (["outdated"], ["run"], ["run", "en/text", "--all"]):
        assert main(["--root", str(tmp_path), *words]) == 0
    nothing = "nothing to execute here: the site's build executes text notebooks\n"
    assert capsys.readouterr().out == 2 * nothing
    (pages / "data.ipynb").write_text((pages / "data.ipynb").read_text().replace('"x"', '"1 / 0"'))
    assert main(["--root", str(tmp_path), "run", "--all"]) == 1
    assert capsys.readouterr().out == (
        "executing 1 notebook, 1 at a time\nbook/en/data.ipynb#start-code: the cell failed\n"
        "    ZeroDivisionError: division by zero\n"
    )
    assert kernels.started == 2
    assert orphans(Book.load(tmp_path)) == []


def test_what_a_notebook_has_beside_its_chapter(tiny: TinyBook) -> None:
    tiny.edit("chapters/ko/01-one.md", "[hide-input]", "[hide-output, starter]")
    tiny.edit("chapters/ko/01-one.md", ":id: setup\n", ":id: setup\n:tags: [hide-cell]\n")
    (chapter,) = [each for (code, _), each in read_all(tiny.book)[0].items() if code == "ko"]
    notebook = make_notebook(chapter)
    title, setup, _, draw = notebook.cells
    alt = {"image": {"alt": "정사각형"}}
    tags = ["hide-output", "starter", "nbval-ignore-output"]
    assert draw.metadata == {
        "of": text_hash("A square"), "jupyter": {"outputs_hidden": True}, "mystnb": alt, "tags": tags
    }  # fmt: skip
    hidden = {"outputs_hidden": True, "source_hidden": True}
    assert setup.metadata == {"cellView": "form", "jupyter": hidden, "tags": ["hide-cell"]}
    assert title.metadata == {"of": text_hash("# 1. Queries and keys")}
    assert notebook.metadata["polyglot_book"] == {"derived_from": chapter.file}


def test_a_name_of_no_chapter_and_a_book_without_any(tiny: TinyBook) -> None:
    every = [(code, "01-one") for code in tiny.book.languages]
    assert select(tiny.book, []) == every
    assert select(tiny.book, ["ko/", "en"]) == [every[0], every[3]]
    with pytest.raises(ValueError) as caught:
        select(tiny.book, ["en", "one"])
    assert str(caught.value) == "one: no such chapter; expected a name as in en/01-one"
    for code in tiny.book.languages:
        (tiny.root / f"chapters/{code}/01-one.md").unlink()
    with pytest.raises(ValueError) as caught:
        select(tiny.book, ["one"])
    assert str(caught.value) == "one: no such chapter"


def test_what_is_said_of_a_cell_that_takes_long(
    tiny: TinyBook, kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(notebook: NotebookNode, *rest: Any) -> None:
        folder, profile, limit, warn = rest
        assert (folder, profile) == (tiny.root / "book/en", tiny.root / "_build/ipython/en/01-one")
        warn("draw")
        raise execution.CellFailure("setup", f"one\ntwo {limit}")

    monkeypatch.setattr(execution, "execute", slow)
    assert make(tiny, "en") == (
        False,
        [
            "executing 1 notebook, 1 at a time",
            "chapters/en/01-one.md#draw: not finished after 60 s; the limit is 900 s",
            "chapters/en/01-one.md#setup: the cell failed\n    one\n    two 900.0",
        ],
    )
