from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from polyglot_book import environment
from polyglot_book.environment import EnvironmentProblem


class Machine:
    """Stands in for the programs that are run: records them, and makes what they would make."""

    def __init__(self, root: Path) -> None:
        self.root, self.commands = root, list[list[str]]()
        self.fail = ""

    def run(self, command: list[str] | tuple[str, ...], **_: object) -> SimpleNamespace:
        words = [str(word) for word in command]
        self.commands.append(words)
        failed = bool(self.fail) and self.fail in " ".join(words)
        if "--clear" in words and not failed:
            (self.root / ".venv/bin").mkdir(parents=True, exist_ok=True)
            (self.root / ".venv/bin/python").write_text("python")
            (self.root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
        if failed and _.get("check"):
            raise subprocess.CalledProcessError(1, words)
        return SimpleNamespace(returncode=int(failed), stdout=b"3 12\n")

    def steps(self) -> list[str]:
        names = {
            "--clear": "venv",
            "requirements.txt": "requirements",
            "requirements-no-deps.txt": "no-deps",
            "-e": "self",
        }
        found = [names.get(Path(word).name) for words in self.commands for word in words]
        return [name for name in found if name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("requirements.txt", "requirements-no-deps.txt", "pyproject.toml"):
        (tmp_path / name).write_text(f"# {name}\n")
    return tmp_path.resolve()


@pytest.fixture
def machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(root)
    monkeypatch.setattr(environment.subprocess, "run", machine.run)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**11))
    return machine


def test_it_is_made_once(root: Path, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert environment.main(root) == 0
    assert machine.steps() == ["venv", "requirements", "no-deps", "self"]
    no_deps = next(words for words in machine.commands if words[-1].endswith("no-deps.txt"))
    assert "--no-deps" in no_deps
    assert machine.commands[-1][-4:] == ["--no-deps", "--no-build-isolation", "-e", str(root)]
    assert capsys.readouterr().out.splitlines() == [
        f"making .venv with {environment.find_python(root / '.venv')}",
        "installing requirements.txt (minutes, the first time)",
        "installing requirements-no-deps.txt (minutes, the first time)",
        "installing the course itself",
        "the environment is ready",
    ]
    machine.commands.clear()
    assert environment.main(root) == 0
    assert machine.commands == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-no-deps.txt", "pyproject.toml"])
def test_a_changed_file_updates_it(root: Path, machine: Machine, name: str) -> None:
    environment.main(root)
    (root / name).write_text("changed")
    machine.commands.clear()
    assert environment.main(root) == 0
    assert machine.steps() == ["requirements", "no-deps", "self"]
    assert environment.is_current(root)


def test_another_python_or_another_folder_makes_it_stale(root: Path, machine: Machine) -> None:
    environment.main(root)
    stamp = root / ".venv/polyglot-installed"
    good = stamp.read_text()
    (root / ".venv/pyvenv.cfg").write_text("version = 3.13.0\n")
    assert not environment.is_current(root)
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    assert environment.is_current(root)
    stamp.write_text(json.dumps({**json.loads(good), "root": "/elsewhere"}))
    machine.commands.clear()
    assert environment.main(root) == 0
    assert machine.steps()[0] == "venv"
    # The interpreter that it stands on is gone.
    (root / ".venv/bin/python").unlink()
    (root / ".venv/bin/python").symlink_to("/nowhere/python3")
    assert not environment.is_current(root)


def test_half_made_it_is_completed(root: Path, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.fail = "requirements-no-deps.txt"
    assert environment.main(root) == 1
    assert capsys.readouterr().err == (
        "installing requirements-no-deps.txt (minutes, the first time): failed, as said above; "
        "mend that and run it again\n"
    )
    assert not environment.is_current(root)
    machine.fail = ""
    machine.commands.clear()
    assert environment.main(root) == 0
    assert machine.steps() == ["requirements", "no-deps", "self"]


def test_without_pip_it_is_made_anew(root: Path, machine: Machine) -> None:
    environment.main(root)
    (root / "pyproject.toml").write_text("changed")
    machine.fail = "import pip"
    machine.commands.clear()
    environment.main(root)
    assert machine.steps()[0] == "venv"


def test_an_old_python_looks_for_another(
    root: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.sys, "version_info", (3, 8, 10))
    monkeypatch.setattr(
        environment.shutil, "which", lambda name: "/x/python3.12" if name == "python3.12" else None
    )
    assert environment.find_python(root / ".venv") == "/x/python3.12"


def test_no_python_is_one_clear_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment.sys, "version_info", (3, 8, 10))
    monkeypatch.setenv("PATH", str(root))
    assert environment.main(root) == 1
    assert capsys.readouterr().err == (
        "Python 3.11 to 3.14 is needed, and this is 3.8; "
        "install one, e.g. apt-get install python3 python3-venv\n"
    )
    # What is called python3.12 and is none is passed over.
    (root / "python3.12").write_text("#!/bin/sh\nexit 1\n")
    (root / "python3.12").chmod(0o755)
    with pytest.raises(EnvironmentProblem):
        environment.find_python(root / ".venv")


def test_no_venv_module_is_one_clear_line(
    root: Path, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fail = "import venv"
    assert environment.main(root) == 1
    err = capsys.readouterr().err
    assert "apt-get install python3-venv" in err
    assert err.count("\n") == 1
    assert not (root / ".venv").exists()


def test_a_full_disk_is_one_clear_line(
    root: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: SimpleNamespace(free=2 * 10**9))
    assert environment.main(root) == 1
    assert capsys.readouterr().err == f"2.0 GB are free in {root}, and 4 GB are needed; make room there\n"


def test_inside_the_environment_the_python_below_it_is_taken(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.sys, "prefix", str(root / ".venv"))
    monkeypatch.setattr(environment.sys, "_base_executable", "/usr/bin/python3.12")
    assert environment.find_python(root / ".venv") == "/usr/bin/python3.12"


def test_an_old_python_can_read_it_and_it_needs_nothing_installed() -> None:
    path = Path(environment.__file__)
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules <= set(sys.stdlib_module_names)


def test_up_to_date_it_is_silent_and_fast(root: Path, machine: Machine) -> None:
    environment.main(root)
    code = f"import pathlib, runpy; main = runpy.run_path({environment.__file__!r})['main']; "
    code += f"raise SystemExit(main(pathlib.Path({str(root)!r})))"
    monkey = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    started = time.perf_counter()
    with subprocess.Popen([sys.executable, "-I", "-c", code], stdout=subprocess.PIPE, env=monkey) as process:
        out, _ = process.communicate()
    assert (process.returncode, out) == (0, b"")
    assert time.perf_counter() - started < 2  # 0.1 s on an idle machine
