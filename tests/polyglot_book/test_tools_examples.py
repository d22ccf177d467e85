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


def test_the_book_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.findall(
        r"^(`{3,4})(yaml|yml|markdown|bash|python)\n(.*?)^\1$", README, re.DOTALL | re.MULTILINE
    )
    blocks = {language: text for _, language, text in found}
    Path("_config.yml").write_text(blocks["yaml"])
    Path("_toc.yml").write_text("format: jb-book\nroot: sums\n")
    Path("sums.md").write_text(blocks["markdown"])
    first, second = [text for _, language, text in found if language == "bash"][1:]

    def follow(commands: str) -> dict[str, int]:
        statuses = {}
        for line in commands.splitlines():
            command, _, comment = (part.strip() for part in line.partition("#"))
            if command.startswith("polyglot "):
                statuses[command] = main(command.split()[1:])
                if command == "polyglot check":
                    assert capsys.readouterr().out == f"{comment}\n"
            elif command.startswith("mkdir"):
                shutil.move("book", "chapters")
            elif comment.startswith("now translate"):
                korean = Path("book/ko/sums.md")
                text = re.sub(r":::.*?:::\n\n", "", korean.read_text(), flags=re.DOTALL)
                korean.write_text(
                    text.replace("# Sums", "# 합").replace("How much is $1 + 1$?", "$1 + 1$ 은?")
                )
            capsys.readouterr()
        return statuses

    expected = ["init", "init --language ko", "status", "mark ko/sums", "check"]
    assert follow(first) == {f"polyglot {each}": int(each == "status") for each in expected}
    assert follow(second) == {"polyglot sync": 0, "polyglot run": 0, "polyglot check": 0}
    imports, *examples = filter(None, blocks["python"].splitlines())
    names: dict[str, object] = {}
    exec(imports, names)
    assert len(examples) == 2
    for expression, result in (line.split("# ") for line in examples):
        assert repr(eval(expression, names)) == result
    config = Path("_config.yml").read_text()
    Path("_config.yml").write_text(f"{config}    polyglot_terms: terms.yml\n")
    Path("terms.yml").write_text(blocks["yml"])
    assert main(["check"]) == 0
