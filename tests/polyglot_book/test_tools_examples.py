"""The examples in the docstrings and in the README do what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shutil
from pathlib import Path

import pytest

import polyglot_book
from polyglot_book.__main__ import main

MODULES = [each.name for each in pkgutil.iter_modules(polyglot_book.__path__) if each.name != "__main__"]
README = (Path(polyglot_book.__file__).parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"polyglot_book.{name}")).failed == 0


GUIDE = Path(__file__).parents[2] / "docs/polyglot/book/en"


def blocks(text: str, language: str) -> list[str]:
    """List the fenced texts of a language."""
    fences = re.findall(rf"^(`{{3,4}}){language}\n(.*?)^\1$", text, re.DOTALL | re.MULTILINE)
    return [block for _, block in fences]


def follow(commands: str) -> dict[str, int]:
    """Type commands; return the exit status of those of `polyglot`."""
    statuses = {}
    for line in commands.splitlines():
        command, _, comment = (part.strip() for part in line.partition("#"))
        if command.startswith("polyglot "):
            statuses[command] = main(command.split()[1:])
        elif command.startswith("mkdir"):
            assert command == "mkdir chapters && mv book/en book/de chapters"
            shutil.move("book", "chapters")
        elif comment.startswith("now translate"):
            german = Path("book/de/sums.md")
            text = re.sub(r"```{note}.*?```\n\n", "", german.read_text(), flags=re.DOTALL)
            german.write_text(
                text.replace("# Sums", "# Summen").replace("How much is $1 + 1$?", "Was ist $1 + 1$?")
            )
    return statuses


def test_the_book_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("_config.yml").write_text("title: Sums\n")
    Path("_toc.yml").write_text("format: jb-book\nroot: sums\n")
    Path("sums.md").write_text("---\nneeds: []\n---\n\n" + blocks(README, "markdown")[0])  # a chapter
    commands = blocks(README, "bash")[1]
    expected = ["init", "init --language de", "status", "mark de/sums", "check"]
    assert follow(commands) == {f"polyglot {each}": int(each == "status") for each in expected}
    assert capsys.readouterr().out.splitlines()[-1] == commands.splitlines()[-1].partition("# ")[2]
    # What the documentation says of stored outputs, and of terms.
    commands = blocks((GUIDE / "existing.md").read_text(encoding="utf-8"), "bash")[-1]
    assert follow(commands) == {"polyglot sync": 0, "polyglot run": 0, "polyglot check": 0}
    assert '"2"' in Path("book/de/sums.ipynb").read_text()
    Path("polyglot.yml").write_text("terms: terms.yml\n")
    settings = (GUIDE / "settings.md").read_text(encoding="utf-8")
    Path("terms.yml").write_text(blocks(settings, "yaml")[-1])
    assert main(["check"]) == 0
    imports, example = filter(None, blocks(settings, "python")[0].splitlines())
    expression, result = example.split("# ")
    names: dict[str, object] = {}
    exec(imports, names)
    assert repr(eval(expression, names)) == result


def test_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that the page shows but the builds, which `tests/sphinx_polyglot/test_template.py` does."""
    text = (GUIDE / "start.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    _, new, status, marked, check, third = blocks(text, "bash")
    table, stale = blocks(text, "text")
    assert new.splitlines()[1:] == ["cd tea", "jupyter-book build ."]
    assert follow(new) == {"polyglot init --new tea --language de": 0}
    monkeypatch.chdir("tea")
    assert follow(status) == {"polyglot status": 1}
    assert table in capsys.readouterr().out
    Path("book/de/intro.md").write_text(blocks(text, "markdown")[0], encoding="utf-8")
    assert follow(marked) == {"polyglot mark de/intro": 0, "polyglot status": 1}
    assert "intro    1 current\n" in capsys.readouterr().out
    english = Path("book/en/intro.md")
    english.write_text(english.read_text().replace("How long", "For how long"))
    assert follow(check) == {"polyglot check": 1}
    assert stale in capsys.readouterr().out
    assert follow(third) == {"polyglot init --language ko": 0}
    for name in (
        "book/en",
        "book/de",
        "book/ko",
        "_config.yml",
        "_toc.yml",
        *re.findall(r"^\| `(.*?)`", text, re.M),
    ):
        assert Path(name).exists()
