"""The examples in the docstrings and in the README do what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
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
    fenced = re.findall(
        r"^(`{3,4})(yaml|yml|markdown|bash|python)\n(.*?)^\1$", README, re.DOTALL | re.MULTILINE
    )
    blocks = {language: text for _, language, text in fenced}
    Path("chapters/en").mkdir(parents=True)
    Path("_config.yml").write_text(blocks["yaml"])
    Path("chapters/en/01-sums.md").write_text(blocks["markdown"])
    statuses = {}
    for name, argument in re.findall(r"python -m polyglot_book (\S+) ?(\S*?) *#", blocks["bash"]):
        statuses[name] = main([name, *filter(None, [argument])])
        if name == "translations":
            korean = Path("chapters/ko/01-sums.md")
            korean.write_text(re.sub(r"# Sums.*?\n:::\n", "# 합\n", korean.read_text(), flags=re.DOTALL))
    assert statuses == {"sync": 0, "translations": 1, "mark": 0, "notebooks": 0, "check": 0}
    summary = capsys.readouterr().out.splitlines()[-1]
    assert blocks["bash"].endswith(f"# {summary}\n")
    imports, *examples = filter(None, blocks["python"].splitlines())
    names: dict[str, object] = {}
    exec(imports, names)
    assert len(examples) == 2
    for expression, result in (line.split("# ") for line in examples):
        assert repr(eval(expression, names)) == result
    Path("_config.yml").write_text(f"{blocks['yaml']}    polyglot_terms: terms.yml\n")
    Path("terms.yml").write_text(blocks["yml"])
    assert main(["check"]) == 0
