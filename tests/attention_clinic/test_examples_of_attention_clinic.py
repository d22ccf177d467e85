"""The examples in the clinic's docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import attention_clinic
from attention_clinic import laws, planted

MODULES = [
    "attention_clinic",
    *(each.name for each in pkgutil.walk_packages(attention_clinic.__path__, "attention_clinic.")),
]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.usefixtures("unchecked")
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


PUBLIC = [*(getattr(attention_clinic, name) for name in attention_clinic.__all__), laws.gap, laws.parity,
          laws.other_tokens, laws.Law, planted.planted_decoder, planted.right_twin,
          planted.matrix]  # fmt: skip


@pytest.mark.parametrize("thing", [each for each in PUBLIC if callable(each) or inspect.ismodule(each)])
def test_public_names_have_an_example(thing):
    assert thing is planted or ">>>" in (inspect.getdoc(thing) or "")
