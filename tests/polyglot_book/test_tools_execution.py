"""One kernel, and all that an execution leaves of it in a notebook."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from polyglot_book.execution import CellFailure, execute

CODE = """\
import os, sys, time
for text in ("a", "b"):
    print(text, flush=True)
    time.sleep(0.02)
print("c", file=sys.stderr, flush=True)
time.sleep(0.02)
print("d")
_ = open(os.environ["POLYGLOT_TERMS"], "w").write("z\\ny\\ny\\n")
"""
ERROR = "def f():\n    raise ValueError(f'{object()} in /home/me/x.py')\nf()"


def test_what_an_execution_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    kept = {"mystnb": {"x": 1}}
    cells = [new_markdown_cell("# A"), new_code_cell(CODE, metadata=kept)]
    cells += [new_code_cell(ERROR, metadata={"tags": ["raises-exception"]})]
    cells += [new_code_cell("print(1)", metadata={"tags": ["starter"]})]
    cells += [new_code_cell("print(os.getcwd(), *map(os.environ.get, ('PYTHONHASHSEED', 'PYTHONWARNINGS')))")]
    notebook, profile = new_notebook(cells=cells), tmp_path / "profile"
    profile.mkdir()
    (profile / "terms").write_text("as a killed run leaves it")
    assert asyncio.run(execute(notebook, tmp_path, profile, 60, lambda cell: None)) == ("y", "z")
    assert not profile.exists()
    _, first, raised, starter, last = notebook.cells
    assert first.metadata == kept
    assert [(each.name, each.text) for each in first.outputs] == [
        ("stdout", "a\nb\n"), ("stderr", "c\n"), ("stdout", "d\n")
    ]  # fmt: skip
    (error,) = raised.outputs
    assert error.evalue == "<object object at 0x…> in x.py"
    assert "0x…" in error.traceback[-1] and "/home/me" not in error.traceback[-1]
    assert (starter.outputs, starter.execution_count) == ([], 3)
    assert last.outputs[0].text == f"{tmp_path} 0 None\n"
    assert [each.execution_count for each in notebook.cells[1:]] == [1, 2, 3, 4]


def test_the_cell_that_fails_is_named(tmp_path: Path) -> None:
    notebook = new_notebook(cells=[new_code_cell("1 / 0", id="it"), new_code_cell("2")])
    profile = tmp_path / "profile"
    with pytest.raises(CellFailure) as caught:
        asyncio.run(execute(notebook, tmp_path, profile, 60, lambda cell: None))
    assert (caught.value.cell, str(caught.value)) == ("it", f"it: {caught.value.traceback}")
    assert caught.value.traceback.endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in caught.value.traceback
    assert not profile.exists()
