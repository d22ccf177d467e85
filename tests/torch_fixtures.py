"""Small tensors on one thread and the same random numbers: what every test that computes starts from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import jaxtyping
import pytest
import torch

# The tensors are tiny, and threads of several processes would wait for one another: minutes against seconds.
torch.set_num_threads(1)

hypothesis.settings.register_profile(
    "polyhead", deadline=None, database=None, derandomize=True, max_examples=30
)
hypothesis.settings.load_profile("polyhead")


@pytest.fixture(autouse=True)
def same_start() -> Iterator[None]:
    """The same random numbers for each test."""
    torch.manual_seed(0)
    yield


@contextlib.contextmanager
def without_checks() -> Iterator[None]:
    """The tests' own checks of every call are off, as for readers: what stays is polyhead's."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """No checks of calls in a whole test."""
    with without_checks():
        yield


@pytest.fixture
def in_one_graph(unchecked: None) -> Iterator[Callable[..., Any]]:
    """Compiles a function or a module, and fails where that would take more than one graph."""
    torch.compiler.reset()
    yield lambda thing, backend="eager": torch.compile(thing, backend=backend, fullgraph=True)
    torch.compiler.reset()
