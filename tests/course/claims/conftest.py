"""Seeds; and what cells of chapters set when a test executes them, the next test does not see."""

from collections.abc import Iterator

import pytest
import torch

from polyhead_course.words import get_language, set_language
from tests.torch_fixtures import without_checks


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(range(10), id="written"),
        pytest.param(range(100, 110), id="held_out", marks=pytest.mark.held_out),
    ],
)
def seeds(request: pytest.FixtureRequest) -> range:
    """The ten seeds that a page was written with, and ten that it does not show."""
    return request.param


@pytest.fixture(scope="module", autouse=True)
def calls_are_unchecked() -> Iterator[None]:
    """Trainings are thousands of calls, and readers run them without the tests' own checks."""
    with without_checks():
        yield


@pytest.fixture(autouse=True)
def settings_are_given_back() -> Iterator[None]:
    before = get_language()
    yield
    torch.set_printoptions(profile="default")
    set_language(before)


@pytest.fixture(scope="module", autouse=True)
def numbers_are_given_back() -> Iterator[None]:
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    yield
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)
