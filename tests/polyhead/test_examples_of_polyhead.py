"""Each public name of the library has an example in its docstring, and each example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest
import torch

import polyhead

MODULES = [info.name for info in pkgutil.walk_packages(polyhead.__path__, "polyhead.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    names = {**vars(polyhead), "torch": torch, "nn": torch.nn, **vars(module)}
    runner, missing = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    for public, thing in vars(module).items():
        kind = inspect.isclass(thing) or inspect.isfunction(thing)
        if kind and thing.__module__ == name and not public.startswith("_"):
            tests = doctest.DocTestFinder().find(thing, public, module=False, globs=names)
            missing += [] if any(test.examples for test in tests) else [public]
            for test in tests:
                torch.manual_seed(0)
                runner.run(test)
    assert not missing
    assert not runner.failures


def test_the_example_of_the_package():
    assert doctest.testmod(polyhead).failed == 0
