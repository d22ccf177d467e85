"""What cells of chapters set when a test executes them, the next test does not see."""

from collections.abc import Iterator

import pytest
import torch

from polyhead_course.words import get_language, set_language


@pytest.fixture(autouse=True)
def settings_are_given_back() -> Iterator[None]:
    before = get_language()
    yield
    torch.set_printoptions(profile="default")
    set_language(before)
