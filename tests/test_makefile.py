"""What `make` runs and when, with a stand-in for Python, pip, uv and the builder of the site."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = 2000
# Notes each command; makes the files that the real program would make; fails at a command that holds FAIL.
PROGRAM = f"""#!{sys.executable} -S
import os, shutil, sys, time
from pathlib import Path
command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
for module in ("lock", "publish"):
    if f"-m polyhead_course.workshop.{{module}}" in command:
        script = Path({str(ROOT)!r}, "src/polyhead_course/workshop", f"{{module}}.py")
        os.execv(sys.executable, [sys.executable, "-I", "-S", str(script), *sys.argv[3:]])
with open("log", "a") as log:
    log.write(command + " -B" * sys.dont_write_bytecode + "\\n")
if os.environ.get("FAIL", "nothing") in command:
    sys.exit(1)
if "-m venv" in command:
    shutil.rmtree(".venv", ignore_errors=True)
    Path(".venv/bin").mkdir(parents=True)
    for name in ("python", "uv", "jupyter-book"):
        shutil.copy(sys.argv[0], Path(".venv/bin") / name)
if "pip compile" in command:
    new = "cuda-x==1\\nnvidia-x==1\\nsetuptools==1\\ntorch==2+cpu\\ntriton==3\\nwheel==1\\n"
    Path(sys.argv[sys.argv.index("-o") + 1]).write_text(new)
if " wheel " in command:
    folder = Path(sys.argv[sys.argv.index("-w") + 1])
    folder.mkdir(parents=True)
    (folder / "x.whl").write_text(Path("src/polyhead/x.py").read_text())
if "jupyter-book build" in command:
    html = Path(sys.argv[sys.argv.index("--path-output") + 1], "_build/html")
    html.mkdir(parents=True, exist_ok=True)
    page = Path("book/page").read_text()
    for number in range({FILES} if page.startswith("many") else 0):
        (html / str(number)).write_text(page)
    (html / "index.html").write_text(page)
    (html / "kept").write_text((html / "kept").read_text() + "x" if (html / "kept").exists() else "x")
    if "slow" in page:
        time.sleep(0.5)
    if Path("book/typed").exists():  # by somebody, meanwhile
        Path("book/page").write_text(Path("book/typed").read_text())
        Path("book/typed").unlink()
    if "bad" in page:
        sys.exit(1)
if "polyglot_book notebooks" in command:
    Path("book/page").write_text(Path("chapters/page").read_text())
    if Path("chapters/typed").exists():
        time.sleep(0.05)
        Path("chapters/typed").touch()
if "polyglot_book outdated" in command and Path("chapters/new").exists():
    print("older: new")
    sys.exit(1)
"""


class Project:
    """A folder with the project's Makefile and little else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        files = [
            "requirements.txt",
            "requirements-no-deps.txt",
            "requirements-model.txt",
            "pyproject.toml",
            "_config.yml",
            "_toc.yml",
        ]
        for name in [*files, "book/page", "chapters/page", "src/polyglot_book/x.py", "src/polyhead/x.py"]:
            self.write(name, "first")
        shutil.copy(ROOT / "Makefile", root)
        (root / "python").write_text(PROGRAM)
        (root / "python").chmod(0o755)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def start(self, *arguments: str, fail: str = "nothing") -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["make", "PYTHON=./python", *arguments],
            cwd=self.root,
            env={**os.environ, "FAIL": fail, "MAKEFLAGS": "", "MAKELEVEL": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def make(self, *arguments: str, fail: str = "nothing") -> tuple[int, str, list[str]]:
        """Run make; give the exit status, what it printed, and the commands that it ran."""
        log = self.root / "log"
        log.write_text("")
        process = self.start(*arguments, fail=fail)
        printed, _ = process.communicate()
        commands = [line for line in log.read_text().splitlines() if "-c import" not in line]
        return process.returncode, printed, commands

    @property
    def site(self) -> str:
        return (self.root / "_build/html/index.html").read_text()

    @property
    def copied(self) -> list[str]:
        """The content of every numbered file of the site."""
        return [path.read_text() for path in self.root.glob("_build/html/[0-9]*")]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "it's a 空 folder")


def new_environment(commands: list[str]) -> bool:
    return any("-m venv" in command for command in commands)


def test_the_environment_is_made_once_and_updated_when_a_requirement_changes(project: Project) -> None:
    code, _, commands = project.make("environment")
    assert (code, new_environment(commands)) == (0, True)
    assert project.make("environment")[2] == []
    for name in ("requirements.txt", "requirements-no-deps.txt", "pyproject.toml"):
        project.write(name, "second")
        assert project.make("environment", fail="-e .")[0] != 0
        code, _, commands = project.make("environment")
        assert (code, bool(commands), new_environment(commands)) == (0, True, False)
        assert project.make("environment")[2] == []


def test_what_is_imported_is_compiled_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    commands = project.make("environment")[2]
    assert commands and not any(command.endswith(" -B") for command in commands)


def test_new_versions_are_written_below_the_first_line_without_those_of_one_machine(project: Project) -> None:
    project.write("requirements.txt", "# What this is.\ntorch==1\n")
    for only, upgrade in (("", "--upgrade"), ("torch", "--upgrade-package torch")):
        *_, command = project.make("renew", f"ONLY={only}")[2]
        assert f" {upgrade} -o " in command
        pins = (project.root / "requirements.txt").read_text()
        assert pins == "# What this is.\nsetuptools==1\ntorch==2\n"


def test_an_interrupted_installation_begins_anew(project: Project) -> None:
    assert project.make("environment", fail="-r requirements-no-deps.txt")[0] != 0
    code, _, commands = project.make("environment")
    assert (code, new_environment(commands)) == (0, True)


def test_an_environment_that_was_moved_or_whose_python_was_replaced_is_made_anew(project: Project) -> None:
    project.make("environment")
    project.root = project.root.rename(project.root.with_name("elsewhere"))
    assert new_environment(project.make("environment")[2])
    python = project.root / ".venv/bin/python"
    python.rename(project.root / "python3.12")
    python.symlink_to(project.root / "python3.12")
    assert new_environment(project.make("environment")[2])
    assert project.make("environment")[2] == []


def test_by_a_symbolic_link_it_is_the_same_folder(project: Project) -> None:
    project.make("site")
    link = project.root.with_name("link")
    link.symlink_to(project.root)
    project.root = link
    assert project.make("site")[2] == []


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


def test_a_page_that_left_the_contents_leaves_the_site(project: Project) -> None:
    project.make("site")
    project.write("_toc.yml", "second")
    project.make("site")
    assert (project.root / "_build/html/kept").read_text() == "x", "not built upon the last build"


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


def test_what_is_edited_during_a_build_is_built_by_the_next(project: Project) -> None:
    project.make("site")
    project.write("book/page", "second")
    project.write("book/typed", "third")
    project.make("site")
    assert project.site == "second"
    project.make("site")
    assert project.site == "third"


def test_a_build_killed_while_it_copies_leaves_the_last_good_site(project: Project) -> None:
    project.write("book/page", "many first")
    project.make("site")
    project.write("book/page", "many second")
    process = project.start("site")
    # During the copy some of the files, not all of them, are in a folder beside the site.
    while process.poll() is None:
        folders = [each for each in project.root.glob("_build/*html*") if each.name != "html"]
        sizes = [sum(1 for _ in folder.glob("[0-9]*")) for folder in folders]
        if any(0 < size < FILES for size in sizes) or len(project.copied) != FILES:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert set(project.copied) == {"many first"}
    assert len(project.copied) == FILES
    assert project.make("site")[0] == 0
    assert (set(project.copied), len(project.copied)) == ({"many second"}, FILES)
    left = {path.name for path in (project.root / "_build").iterdir()}
    assert left == {"html", "wheel", ".last", ".compared", ".site.lock"}


@pytest.mark.parametrize("after", [0.0, 0.3])  # seconds since its first page; all take 0.5
def test_a_build_killed_among_its_pages_leaves_the_last_good_site(project: Project, after: float) -> None:
    project.make("site")
    project.write("book/page", "slow second")
    process = project.start("site")
    page = project.root / "_build/.next/_build/html/index.html"
    while process.poll() is None and not (page.exists() and "second" in page.read_text()):
        time.sleep(0.001)
    time.sleep(after)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert project.site == "first"
    assert project.make("site")[0] == 0
    # Nothing that the killed build left was built upon.
    assert (project.site, (project.root / "_build/html/kept").read_text()) == ("slow second", "x")


def test_of_two_builds_at_once_the_second_waits(project: Project) -> None:
    project.make("site")
    project.write("book/page", "many slow")
    first = project.start("site")
    time.sleep(0.2)
    second = project.start("site")
    outputs = [process.communicate()[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs
    assert "another process holds" in outputs[1]
    assert (set(project.copied), len(project.copied)) == ({"many slow"}, FILES)
    assert (project.root / "_build/html/kept").read_text() == "xx", "built once, not twice"


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
    assert any("polyglot_book outdated" in command for command in commands) == meanwhile


def test_chapters_and_cells_are_named_one_or_several(project: Project) -> None:
    project.make("site")
    project.write("chapters/page", "second")
    both = "ko/02-masks en/02-masks"
    *_, notebooks, _, outdated = project.make("notebooks", "site", f"ONLY={both}")[2]
    assert notebooks == f"python -m polyglot_book notebooks {both}"
    assert outdated == "python -m polyglot_book outdated", "the others may still be old"
    cells = "ko/02-masks#causal ko/01-single-head"
    assert project.make("mark", f"CELL={cells}")[2] == [f"python -m polyglot_book mark {cells}"]


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


def test_what_is_published_holds_the_pdfs_and_handouts(project: Project) -> None:
    project.write("_build/pdf/x-ko.pdf", "paper")
    project.write("_build/handouts/x-ko-figures.zip", "figures")
    _, _, commands = project.make("pages")
    *_, pdf, handouts, documentation = commands
    assert [pdf, handouts] == ["python -m polyhead_course.pdf", "python -m polyhead_course.handouts"]
    assert documentation.startswith("jupyter-book build docs/polyglot --path-output _build/docs -W")
    assert (project.root / "_build/html/polyglot/index.html").is_file()
    assert (project.root / "_build/html/handouts/x-ko-figures.zip").read_text() == "figures"
    assert (project.root / "_build/html/pdf/x-ko.pdf").read_text() == "paper"
