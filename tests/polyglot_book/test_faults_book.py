"""What can go wrong around a book: each fault has a clear message, keeps what was good, and heals."""

from __future__ import annotations

import asyncio
import errno
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode

from polyglot_book import execution
from polyglot_book.__main__ import main
from polyglot_book.ipynb import read_notebook
from polyglot_book.notebooks import make_notebooks, outdated
from tests.faults import full_disk
from tests.polyglot_book.kernels import Kernels, make, stored
from tests.polyglot_book.tiny_book import TinyBook, chapter_text

CHAPTER, NOTEBOOK = "chapters/ko/01-one.md", "book/ko/01-one.ipynb"
_FORK = multiprocessing.get_context("fork")


def command(tiny: TinyBook, *words: str) -> int:
    return main(["--root", str(tiny.root), *words])


def everything(root: Path) -> dict[str, bytes]:
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


# ---- cells


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os._exit(3)", "the kernel died (out of memory?)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the kernel died (out of memory?)"),
        ("while True: pass", "not finished after 1.5 s"),
    ],
    ids=["exit", "kill", "hang"],
)
def test_a_cell_that_ends_or_hangs_its_kernel_is_named_and_the_last_notebook_stays(
    tiny: TinyBook, code: str, message: str
) -> None:
    tiny.pretend_to_execute()
    good = stored(tiny)
    tiny.edit("chapters/en/01-one.md", "import tinylib\n", f"{code}\n")
    lines: list[str] = []
    assert not make_notebooks(tiny.book, ["en"], limit=1.5, report=lines.append)
    assert lines[-1] == f"chapters/en/01-one.md#setup: the cell failed\n    {message}"
    assert stored(tiny) == good
    assert not [path for path in (tiny.root / "_build/ipython").rglob("*") if path.is_file()]
    tiny.edit("chapters/en/01-one.md", f"{code}\n", "import tinylib\n")
    assert make(tiny) == (True, [])


# ---- a full disk


def test_a_full_disk_leaves_the_last_notebook_and_with_room_the_next_run_writes_it(
    tiny: TinyBook, kernels: Kernels, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tiny)
    good = stored(tiny)
    tiny.edit("chapters/en/01-one.md", "x = 6", "x = 5")
    with full_disk(700):
        assert command(tiny, "run") == 1
    assert capsys.readouterr().err.endswith(f"too large: '{tiny.root}/book/en/01-one.ipynb'\n")
    assert stored(tiny) == good
    assert outdated(tiny.book) == ["en/01-one"]
    assert make(tiny)[0]
    assert "x = 5" in tiny.read("book/en/01-one.ipynb")
    assert outdated(tiny.book) == []


# ---- killed, or two at once


async def slowly(notebook: NotebookNode, *_: object) -> tuple[str, ...] | None:
    await asyncio.sleep(0.01)
    return await Kernels().run(notebook)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "execute", slowly)


@pytest.mark.usefixtures("slow")
def test_killed_at_random_moments_each_notebook_is_whole_and_the_last_run_makes_the_same(
    tmp_path: Path,
) -> None:
    stems = tuple(f"{number:02}-x" for number in range(1, 9))
    whole, tiny = TinyBook(tmp_path / "whole", stems), TinyBook(tmp_path / "killed", stems)
    began = time.perf_counter()
    make(whole)
    took = time.perf_counter() - began
    moments = random.Random(27)
    for _ in range(8):
        process = _FORK.Process(target=make, args=(tiny,))
        process.start()
        process.join(moments.uniform(0, took))
        process.kill()
        process.join()
        for path in tiny.root.glob("book/*/*.ipynb"):
            read_notebook(path)
        outdated(tiny.book)
    assert make(tiny)[0]
    kept = {name: data for name, data in stored(tiny).items() if "/." not in name}
    assert kept == stored(whole)
    assert tiny.read("book/runs.jsonl") == whole.read("book/runs.jsonl")
    assert make(tiny) == (True, [])


@pytest.mark.usefixtures("slow")
def test_two_runs_at_once_make_what_one_makes(tmp_path: Path) -> None:
    whole, tiny = TinyBook(tmp_path / "whole"), TinyBook(tmp_path / "twice")
    make(whole)
    processes = [_FORK.Process(target=make, args=(tiny,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert stored(tiny) == stored(whole)
    assert make(tiny) == (True, [])


def test_a_killed_command_takes_its_kernel_along_and_leaves_nothing_in_the_way(tiny: TinyBook) -> None:
    asleep = tiny.root / "asleep"
    code = f"import os, time\nopen({str(asleep)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    tiny.edit("chapters/en/01-one.md", "import tinylib\n", code)
    words = [sys.executable, "-m", "polyglot_book", "--root", str(tiny.root), "run", "en"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait(lambda: asleep.exists() and asleep.read_text() != "")
        process.kill()
    wait(lambda: not Path(f"/proc/{asleep.read_text()}").exists())
    assert stored(tiny) == {}
    tiny.edit("chapters/en/01-one.md", code, "tinylib = type('', (), {'set_language': id, 'square': id})\n")
    assert make(tiny, "en")[0]
    assert not [path for path in (tiny.root / "_build/ipython").rglob("*") if path.is_file()]


def wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# ---- caches, notebooks, terms


JUNK = (b"", b"\0", b"[]", b"3", b"\xff", b"{", b"[" * 2000)
STATES = {
    "_build/runs.jsonl": (*JUNK, b'{"notebook": ["x"], "inputs": 1, "result": 2}', b'{"notebook": 5}'),
    "book/runs.jsonl": (*JUNK, b'{"notebook": "ko/01-one", "inputs": {}, "result": [], "terms": [[]]}'),
    "_build/verified.json": (*JUNK, b'{"ko/01-one": 5}', b'[["ko/01-one", null]]', b'{"ko/01-one": [5]}'),
}


def lines_of(text: str) -> list[object]:
    return sorted((json.loads(line) for line in text.splitlines()), key=str)


@pytest.mark.parametrize("name", STATES)
def test_a_cache_of_junk_changes_nothing_and_is_written_again(
    tiny: TinyBook, kernels: Kernels, name: str
) -> None:
    make(tiny)
    outdated(tiny.book)  # which writes what it has compared
    good = tiny.read(name)
    for content in (*STATES[name], good[: len(good) // 2].encode()):
        (tiny.root / name).write_bytes(content)
        assert outdated(tiny.book) == []
        assert make(tiny) == (True, [])
        assert lines_of(tiny.read(name)) == lines_of(good)
    assert kernels.started == 4


@pytest.mark.parametrize("content", [*JUNK, b'{"cells": 5, "metadata": {}, "nbformat": 4}', None])
def test_a_broken_notebook_is_named_and_made_again(
    tiny: TinyBook, kernels: Kernels, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    make(tiny)
    good = stored(tiny)
    (tiny.root / NOTEBOOK).write_bytes(good[NOTEBOOK][:-300] if content is None else content)
    assert command(tiny, "check") == 1
    assert f"{NOTEBOOK}: not a valid notebook; run `polyglot run`" in capsys.readouterr().out
    assert command(tiny, "outdated") == 1
    assert capsys.readouterr().out.endswith("(run `polyglot run`): ko/01-one\n")
    assert make(tiny)[0]
    assert stored(tiny) == good
    assert kernels.started == 5


INTRUDER = b"!!python/object/apply:os.system ['touch intruder']"


@pytest.mark.parametrize(
    "content", [*JUNK[1:], b"terms: &a [*a]", INTRUDER, b"terms: !!python/name:os.system"]
)
@pytest.mark.parametrize("name", ["terms.yml", "_toc.yml", "_config.yml"])
def test_a_broken_file_of_settings_is_named_and_nothing_in_it_runs(
    tiny: TinyBook,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes,
) -> None:
    monkeypatch.chdir(tiny.root)
    (tiny.root / name).write_bytes(content)
    assert command(tiny, "check") == 1
    printed = "".join(capsys.readouterr())
    assert f"{name}: " in printed
    assert len(printed) < 1500
    assert not (tiny.root / "intruder").exists()


# ---- chapters


@pytest.mark.parametrize(
    ("change", "line", "remedy"),
    [
        (lambda text: b"\xef\xbb\xbf" + text.encode(), 1, "save the file as UTF-8 without a byte order mark"),
        (lambda text: text.replace("x = 6", "x = 6\0").encode(), 15, "remove it; save the file as UTF-8"),
        (lambda text: text.replace("\n", "\r").encode(), 1, r"its line ends \n alone"),
        (lambda text: text.replace("x = 6", "x =\r 6").encode(), 15, r"its line ends \n alone"),
        (lambda text: text.encode("utf-16"), 1, "save it as UTF-8"),
        (lambda text: text.encode("cp949"), 8, "save it as UTF-8"),
        (lambda text: text.replace("쿼리와", "查詢").encode("big5", "ignore"), 8, "save it as UTF-8"),
        (lambda text: b"", 1, 'begin with +++ {"id": "title"} and a heading'),
        (lambda text: b" \n\n", 1, 'begin with +++ {"id": "title"} and a heading'),
        (lambda text: text.encode()[:350], 22, "correct the header"),
        (lambda text: text.replace("description: tiny", INTRUDER.decode()).encode(), 1, "correct the header"),
        (lambda text: text.replace("[hide-input]", INTRUDER.decode()).encode(), 1, "correct the header"),
    ],
    ids=[
        *("bom", "nul", "mac", "cr", "utf-16", "korean", "big5", "empty", "blank", "truncated"),
        *("front-tag", "cell-tag"),
    ],
)
def test_a_chapter_that_cannot_be_read_is_named_with_its_line_and_what_to_do(
    tiny: TinyBook,
    kernels: Kernels,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[str], bytes],
    line: int,
    remedy: str,
) -> None:
    monkeypatch.chdir(tiny.root)
    make(tiny)
    good = stored(tiny)
    (tiny.root / CHAPTER).write_bytes(change(chapter_text("ko")))
    for words in (["check"], ["run"], ["sync"], ["outdated"]):
        assert command(tiny, *words) == 1, words
        printed = "".join(capsys.readouterr())
        assert printed.startswith(f"{CHAPTER}: line {line}: "), words
        assert remedy in printed.splitlines()[0]
    assert stored(tiny) == good
    assert not (tiny.root / "intruder").exists()
    tiny.write(CHAPTER, chapter_text("ko"))
    assert make(tiny) == (True, [])


def test_windows_line_ends_are_named_and_sync_writes_others(
    tiny: TinyBook, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tiny.read(CHAPTER)
    tiny.write(CHAPTER, text.replace("\n", "\r\n"))
    assert command(tiny, "status") == 1
    assert f"{CHAPTER}: line ends of Windows (CRLF); run `polyglot sync`" in capsys.readouterr().out
    assert command(tiny, "sync") == 0
    assert tiny.read(CHAPTER) == text


def test_a_missing_translation_is_named_and_sync_begins_it(
    tiny: TinyBook, kernels: Kernels, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny.root / CHAPTER).unlink()
    assert make(tiny)[0]
    assert kernels.started == 3
    assert command(tiny, "check") == 1
    assert f"{CHAPTER}: the chapter is missing; run `polyglot sync`\n" in capsys.readouterr().out
    assert command(tiny, "sync") == 0
    assert make(tiny)[0]
    assert kernels.started == 4
    assert command(tiny, "status") == 1
    assert f"{CHAPTER}#why: " in capsys.readouterr().out


# ---- where the book is, and who works on it


@pytest.mark.parametrize("name", ["with spaces", "空 폴더", "it's", 'a"b$c`d;e&f', "-n", "%41[x]*?"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str, kernels: Kernels) -> None:
    tiny = TinyBook(tmp_path / name)
    assert make(tiny)[0]
    (tiny.root / "_toc.yml").write_text("root: book/index\nfile: x")
    for words in (
        ["check"],
        ["outdated"],
        ["status"],
        ["sync"],
        ["mark", "ko/01-one"],
        ["export"],
        ["import"],
    ):
        assert command(tiny, *words) == (words == ["check"]), words
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_a_symlinked_checkout_is_the_same_book(tiny: TinyBook, kernels: Kernels, tmp_path: Path) -> None:
    make(tiny)
    link = tmp_path / "link"
    link.symlink_to(tiny.root)
    before = everything(tiny.root)
    assert main(["--root", str(link), "outdated"]) == main(["--root", str(link), "check"]) == 0
    assert main(["--root", str(link), "run"]) == 0
    assert everything(tiny.root) | {"_build/verified.json": b""} == before | {"_build/verified.json": b""}
    assert kernels.started == 4


def test_a_checkout_that_cannot_be_written_is_read_and_a_run_names_what_it_cannot_write(
    tiny: TinyBook, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tiny)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    tiny.edit("chapters/en/01-one.md", "1. Queries", "1. Questions")
    before = everything(tiny.root)
    for name in ("mkdir", "write_bytes", "write_text", "unlink"):
        monkeypatch.setattr(Path, name, refuse)
    assert [command(tiny, word) for word in ("outdated", "check", "status")] == [1, 1, 1]
    assert "Traceback" not in "".join(capsys.readouterr())
    assert command(tiny, "run") == 1
    assert (
        capsys.readouterr().err == f"[Errno 30] Read-only file system: '{tiny.root}/book/en/01-one.ipynb'\n"
    )
    assert everything(tiny.root) == before


CODE = """\
import os, sys, matplotlib
print({"b", "a", "c"}, 1 / 3, "İı".lower(), matplotlib.rcParams["font.size"], sys.stdout.encoding)
print(matplotlib.rcParams["lines.color"], "intruder" in globals())
import tinylib
"""


@pytest.fixture
def hostile_home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody whose settings of matplotlib and IPython would change every output."""
    home = tmp_path / "it's a 空 home"
    for folder in (home / ".config/matplotlib", home / ".ipython/profile_default/startup"):
        folder.mkdir(parents=True)
    (home / ".config/matplotlib/matplotlibrc").write_text("font.size: 30\nlines.color: red\n")
    startup = home / ".ipython/profile_default/startup/first.py"
    startup.write_text("intruder = 1; print('hello')\n")
    (startup.parents[1] / "ipython_config.py").write_text("c.InteractiveShell.colors = 'NoColor'\n")
    yield {
        "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Asia/Seoul", "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "8",
        "PYTHONHASHSEED": "7",
    }  # fmt: skip


def test_a_home_with_settings_changes_no_output(
    tmp_path: Path, hostile_home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = TinyBook(tmp_path / "it's a 空 book")
    tiny.edit("chapters/en/01-one.md", "import tinylib\n", CODE)
    monkeypatch.setenv("PYTHONPATH", str(tiny.root / "src"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    (tmp_path / "matplotlibrc").write_text("font.size: 30\n")
    assert make(tiny, "en")[0]
    plain = stored(tiny)
    printed = json.loads(plain["book/en/01-one.ipynb"])["cells"][1]["outputs"][0]["text"]
    assert printed[0].endswith(" 10.0 UTF-8\n"), printed
    assert printed[1] == "C0 False\n"
    monkeypatch.delenv("MPLCONFIGDIR")
    for name, value in hostile_home.items():
        monkeypatch.setenv(name, value)
    assert make(tiny, "en", everything=True)[0]
    assert stored(tiny) == plain


def test_a_home_that_cannot_be_written_is_not_needed(tiny: TinyBook, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "/proc/nowhere")
    monkeypatch.setenv("PYTHONPATH", str(tiny.root / "src"))
    assert make(tiny, "en")[0]
    outputs = [cell.get("outputs") for cell in read_notebook(tiny.root / "book/en/01-one.ipynb").cells]
    assert outputs[1] == []
    assert outputs[3][0].data["text/plain"] == "square of 42 in en"


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8", "ko_KR.EUC-KR"])
def test_in_a_locale_of_few_letters_every_violation_is_told(tiny: TinyBook, locale: str) -> None:
    tiny.edit(CHAPTER, "쿼리는", "질의는")
    environment = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": "/nowhere"}
    words = [sys.executable, "-m", "polyglot_book", "--root", str(tiny.root), "check"]
    found = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (1, b"")
    assert found.stdout.splitlines()[0].startswith(b"chapters/ko/01-one.md#why: ")
    assert b"violation" in found.stdout
