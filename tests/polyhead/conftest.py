"""Every call that these tests make to polyhead has its shapes and types checked at run time."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import hypothesis
import jaxtyping
import pytest
import torch

from tests.polyhead import shape_checks

# A copy that other tests imported earlier in this process was compiled without the checks.
for _name in [name for name in sys.modules if name == "polyhead" or name.startswith("polyhead.")]:
    del sys.modules[_name]
jaxtyping.install_import_hook("polyhead", f"{shape_checks.__name__}.check")

# The tensors are tiny, and threads of several processes would wait for one another: minutes against seconds.
torch.set_num_threads(1)

hypothesis.settings.register_profile(
    "polyhead", deadline=None, database=None, derandomize=True, max_examples=30
)
hypothesis.settings.load_profile("polyhead")


@pytest.fixture(autouse=True)
def same_start() -> Iterator[None]:
    """English, and the same random numbers, for each test."""
    from polyhead import set_language

    set_language("en")
    torch.manual_seed(0)
    yield
    set_language("en")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """The run-time checks are off, as for readers: what polyhead itself says of bad input is seen."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
