"""Each mistake of an author is a warning that names its file, so that it fails the build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.books.fixtures import BOOKS, edit
from tests.building import Built, build, copy

# What is wrong -> the file, a text in it, the mistake instead, and the warning.
MISTAKES = {
    "a link on the page": ("book/ko/02-names.ipynb", "(#title)", "(#nowhere-here)", "'nowhere-here'"),
    "a link to a page": ("book/ko/02-names.ipynb", "#exercise-one", "#nowhere-there", "'nowhere-there'"),
    "a figure without a text": (
        "book/en/01-masks.ipynb",
        '"mystnb"',
        '"other"',
        "alternative text",
    ),
    "a formula": ("book/en/index.md", "What there is.", r"$\wrongname$", "wrongname"),
    "a figure without a module": (
        *("book/en/02-names.ipynb", '"kind": "counter"', '"kind": "nothing"'),
        "no module and template bring this figure to life",
    ),
    "an argument that does not exist": (
        *("shapes/areas.py", "        scale: a factor.", "        scales: a factor."),
        "Parameter 'scales' does not appear",
    ),
    "a picture that does not exist": (
        *("book/index.md", "choose-language}", "choose-language}\n:figure: ko/01-masks#leaf"),
        "no cell of a notebook is a live translator: 'ko/01-masks#leaf'",
    ),
}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = copy(BOOKS / "full", tmp_path_factory.mktemp("wrong") / "full")
    for path, old, new, _ in MISTAKES.values():
        edit(root / path, old, new)
    return build(root)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_a_warning_with_its_file(wrong: Built, name: str) -> None:
    path, _, _, message = MISTAKES[name]
    warnings = [each for each in wrong.warnings if message in each]
    assert len(warnings) == 1, wrong.log
    assert Path(path).stem in warnings[0]


def test_the_build_fails_and_warns_of_nothing_else(wrong: Built) -> None:
    assert wrong.code != 0
    assert len(wrong.warnings) == len(MISTAKES), wrong.warnings
