"""The examples in the docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

from polyhead_course import models, words
from polyhead_course.figures import live, plots

FOLDERS = (plots, words)
MODULES = [
    "polyhead_course.peers",
    "polyhead_course.handouts.copies",
    *(
        f"{folder.__name__}.{module.name}"
        for folder in (*FOLDERS, live)
        for module in pkgutil.iter_modules(folder.__path__)
    ),
    *(module.name for module in pkgutil.walk_packages(models.__path__, f"{models.__name__}.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_show(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__)
def test_every_public_name_has_an_example(folder):
    assert not [
        name for name in folder.__all__ if ">>> " not in (inspect.getdoc(getattr(folder, name)) or "")
    ]
