"""The examples of the packages' READMEs run, and print what is printed there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.torch_fixtures import unchecked

__all__ = ["unchecked"]

READMES = sorted((Path(__file__).parents[1] / "src").glob("*/README.md"))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)
def test_the_examples_of_a_readme_run(readme: Path) -> None:
    # A closing fence is no part of an output.
    text = re.sub("^```.*$", "", readme.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, readme.parent.name, str(readme), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=report.append)
    assert not report, "".join(report)
