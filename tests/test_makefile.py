"""What `make` runs and when, with stand-ins for Python, pip, uv and the builder of the site."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Notes each command; makes the files that the real program would make; fails at a command that holds FAIL.
PROGRAM = f"""#!{sys.executable} -S
import os, shutil, sys, time
from pathlib import Path
command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
with open("log", "a") as log:
    log.write(command + "\\n")
if os.environ.get("FAIL", "nothing") in command:
    sys.exit(1)
if "-m venv" in command:
    shutil.rmtree(".venv", ignore_errors=True)
    Path(".venv/bin").mkdir(parents=True)
    for name in ("python", "uv", "jupyter-book", "jupyter-lab"):
        shutil.copy(sys.argv[0], Path(".venv/bin") / name)
if "-m venv _build/renew" in command:
    Path("_build/renew/bin").mkdir(parents=True)
    shutil.copy(sys.argv[0], "_build/renew/bin/pip")
if "pip freeze" in command:
    print("x==1+cpu")
if " wheel " in command:
    folder = Path(sys.argv[sys.argv.index("-w") + 1])
    folder.mkdir(parents=True)
    (folder / "x.whl").write_text(Path("src/polyhead/x.py").read_text())
if "jupyter-book build" in command:
    html = Path(sys.argv[sys.argv.index("--path-output") + 1], "_build/html")
    html.mkdir(parents=True, exist_ok=True)
    (html / "index.html").write_text(Path("book/page").read_text())
    (html / "kept").write_text((html / "kept").read_text() + "x" if (html / "kept").exists() else "x")
    if "bad" in Path("book/page").read_text():
        sys.exit(1)
if "polyglot_book notebooks" in command:
    Path("book/page").write_text(Path("chapters/page").read_text())
    if Path("chapters/typed").exists():  # by somebody, meanwhile
        time.sleep(0.05)
        Path("chapters/typed").touch()
if "polyglot_book pending" in command and Path("chapters/new").exists():
    print("older: new")
    sys.exit(1)
"""


class Project:
    """A folder with the project's Makefile and little else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        files = ["requirements.txt", "requirements-no-deps.txt", "pyproject.toml", "_config.yml", "_toc.yml"]
        sources = ["polyglot_book/x.py", "polyhead/x.py", "polyhead/live/x.js", "polyhead/checkpoints/x"]
        for name in [*files, "book/page", "chapters/page", *(f"src/{each}" for each in sources)]:
            self.write(name, "first")
        shutil.copy(ROOT / "Makefile", root)
        (root / "python").write_text(PROGRAM)
        (root / "python").chmod(0o755)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def make(self, *arguments: str, fail: str = "nothing") -> tuple[int, str, list[str]]:
        """Run make; give the exit status, what it printed, and the commands that it ran."""
        log = self.root / "log"
        log.write_text("")
        done = subprocess.run(
            ["make", "PYTHON=./python", *arguments],
            cwd=self.root,
            env={**os.environ, "FAIL": fail, "MAKEFLAGS": "", "MAKELEVEL": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        commands = [line for line in log.read_text().splitlines() if "-c import" not in line]
        return done.returncode, done.stdout + done.stderr, commands

    @property
    def site(self) -> str:
        return (self.root / "_build/html/index.html").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "a folder")


def made(commands: list[str]) -> bool:
    return any("-m venv" in command for command in commands)


def test_the_environment_is_made_once(project: Project) -> None:
    code, _, commands = project.make("environment")
    assert code == 0
    assert "-m venv --clear .venv" in commands[0]
    assert commands[1].endswith("-c requirements.txt torch uv")
    assert commands[2].startswith("uv pip install")
    assert commands[2].endswith("-r requirements.txt")
    assert commands[3].endswith("-r requirements-no-deps.txt -e .")
    assert len(commands) == 4
    assert project.make("environment")[2] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-no-deps.txt", "pyproject.toml"])
def test_a_changed_requirement_updates_the_environment(project: Project, name: str) -> None:
    project.make("environment")
    project.write(name, "second")
    _, _, commands = project.make("environment")
    assert len(commands) == 3
    assert not made(commands)
    assert project.make("environment")[2] == []


@pytest.mark.parametrize("step", ["-m venv", "torch uv", "-r requirements.txt", "-e ."])
def test_an_interrupted_installation_begins_anew(project: Project, step: str) -> None:
    assert project.make("environment", fail=step)[0] != 0
    code, _, commands = project.make("environment")
    assert (code, len(commands), made(commands)) == (0, 4, True)


def test_an_interrupted_update_goes_on(project: Project) -> None:
    project.make("environment")
    project.write("requirements.txt", "second")
    assert project.make("environment", fail="-r requirements-no-deps.txt")[0] != 0
    code, _, commands = project.make("environment")
    assert (code, len(commands), made(commands)) == (0, 3, False)


def test_where_uv_fails_pip_tries(project: Project) -> None:
    code, _, commands = project.make("environment", fail="uv pip")
    assert code == 0
    assert commands[3].startswith("python -m pip")
    assert commands[3].endswith("-r requirements.txt")


def test_an_environment_that_was_moved_is_made_anew(project: Project) -> None:
    project.make("environment")
    project.root = project.root.rename(project.root.with_name("elsewhere"))
    assert made(project.make("environment")[2])
    assert project.make("environment")[2] == []


def test_an_environment_whose_python_was_replaced_is_made_anew(project: Project) -> None:
    project.make("environment")
    python = project.root / ".venv/bin/python"
    python.rename(project.root / "python3.12")
    python.symlink_to(project.root / "python3.12")
    assert made(project.make("environment")[2])


def test_without_a_python_that_fits_one_line_says_what_is_needed(project: Project) -> None:
    code, printed, commands = project.make("environment", fail="version_info")
    assert (code, commands) == (2, [])
    lines = [line for line in printed.splitlines() if not line.startswith("make: ***")]
    assert len(lines) == 1
    assert "Python 3.11" in lines[0]


def test_the_site_is_built_when_a_page_or_a_requirement_changed(project: Project) -> None:
    code, printed, _ = project.make("site")
    assert (code, project.site) == (0, "first")
    assert f"file://{project.root}/_build/html/index.html" in printed
    assert project.make("site")[2] == []
    project.write("book/page", "second")
    assert [command.split()[0] for command in project.make("site")[2]] == ["jupyter-book", "python"]
    assert project.site == "second"
    assert (project.root / "_build/html/kept").read_text() == "xx"
    # Another version of Sphinx must not find what the last one kept.
    project.write("requirements.txt", "second")
    assert sum("jupyter-book" in command for command in project.make("site")[2]) == 1
    assert (project.root / "_build/html/kept").read_text() == "x"


def test_the_audit_installs_what_it_needs_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("npm", "node"):
        project.write(f"tools/{name}", PROGRAM)
        (project.root / "tools" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{project.root / 'tools'}:{os.environ['PATH']}")
    project.write("audit/package-lock.json", "first")
    project.write("audit/node_modules/axe", "")
    project.make("site")
    assert project.make("audit")[2] == ["npm ci --prefix audit", "node audit/audit.mjs _build/html"]
    assert project.make("audit", "PAGES=ko/01 en")[2] == ["node audit/audit.mjs _build/html ko/01 en"]
    assert project.make("audit", fail="audit.mjs")[0] != 0


def test_a_failed_build_keeps_the_last_good_site(project: Project) -> None:
    project.make("site")
    project.write("book/page", "bad")
    for _ in range(2):
        assert project.make("site")[0] != 0
        assert project.site == "first"
    project.write("book/page", "second")
    assert project.make("site")[0] == 0
    # Nothing that the failed build left was built upon.
    assert (project.site, (project.root / "_build/html/kept").read_text()) == ("second", "x")


def test_the_site_says_that_notebooks_are_older_until_they_are_not(project: Project) -> None:
    project.make("site")
    project.write("chapters/new", "text")
    for _ in range(2):
        code, printed, commands = project.make("site")
        assert (code, printed.count("older: new")) == (0, 1)
        assert not any("jupyter-book" in command for command in commands)
    (project.root / "chapters/new").unlink()
    project.write("chapters/page", "second")
    assert "older: new" not in project.make("site")[1]
    assert project.make("site")[2] == []


@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_has_just_been_made_is_not_compared_again(project: Project, meanwhile: bool) -> None:
    project.make("site")
    project.write("chapters/page", "second")
    if meanwhile:
        project.write("chapters/typed", "text")
    _, _, commands = project.make("notebooks", "site")
    assert project.site == "second"
    assert any("polyglot_book pending" in command for command in commands) == meanwhile


def test_the_site_carries_the_library_of_today(project: Project) -> None:
    wheel = project.root / "_build/html/x.whl"
    project.make("site")
    assert wheel.read_text() == "first"
    # A new page needs no new wheel, but finds it beside the pages.
    project.write("book/page", "second")
    assert not any(" wheel " in command for command in project.make("site")[2])
    assert wheel.read_text() == "first"
    project.write("src/polyhead/x.py", "second")
    commands = project.make("site")[2]
    assert wheel.read_text() == "second"
    assert any("jupyter-book" in command for command in commands), "its docstrings are on a page"
    assert project.make("site")[2] == []


def test_the_laboratory_opens_copies(project: Project) -> None:
    commands = project.make("lab")[2]
    assert commands[-2:] == ["python -m polyglot_book lab", "jupyter-lab lab"]
    (project.root / ".venv/bin/jupyter-lab").rename(project.root / "jupyter-lab")
    _, _, commands = project.make("lab")
    assert any("-c requirements.txt jupyterlab" in command for command in commands)


def test_the_site_is_served_to_this_machine_alone(project: Project) -> None:
    *_, last = project.make("serve", "PORT=8123")[2]
    assert last == "python -m http.server --bind 127.0.0.1 --directory _build/html 8123"


def test_the_pdfs_are_printed_from_the_site(project: Project) -> None:
    _, _, commands = project.make("pdf")
    site = next(number for number, each in enumerate(commands) if "jupyter-book build" in each)
    assert commands[-1] == "python -m polyglot_book pdf"
    assert site < len(commands) - 1


def test_what_is_published_holds_the_pdfs(project: Project) -> None:
    project.write("_build/pdf/x-ko.pdf", "paper")
    _, _, commands = project.make("pages")
    assert commands[-1] == "python -m polyglot_book pdf"
    assert (project.root / "_build/html/pdf/x-ko.pdf").read_text() == "paper"


def test_the_newest_versions_are_written_down(project: Project) -> None:
    project.write("_build/renew/left", "over")
    _, _, commands = project.make("renew")
    assert [each.split(" ")[0] for each in commands] == ["python", "pip", "pip"]
    assert "install -q .[book,test]" in commands[1]
    assert (project.root / "requirements.txt").read_text() == "x==1\n"
