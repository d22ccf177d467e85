"""The examples in the docstrings of the models run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from polyhead_course import models

MODULES = [module.name for module in pkgutil.walk_packages(models.__path__, f"{models.__name__}.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed == 0
