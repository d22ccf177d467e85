"""The examples of the packages' READMEs: what is after `>>>` runs and gives what is printed there."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

READMES = sorted((Path(__file__).parents[1] / "src").glob("*/README.md"))


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)
def test_the_examples_of_a_readme_run(readme):
    text = readme.read_text(encoding="utf-8").replace("```", "")  # a fence would be part of the output
    example = doctest.DocTestParser().get_doctest(text, {}, readme.parent.name, str(readme), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
    assert not report, "".join(report)
