"""One line of a table of bad input: a call, the error that it must raise, and both parts of its message."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest


def bad(name: str, call: Callable[[], object], error: type[Exception], expected: str, got: str) -> Any:
    """`expected` is what the message says was wanted, `got` what it says came instead."""
    return pytest.param(call, error, f"(?s){re.escape(expected)}.*{re.escape(got)}", id=name)


def assert_named(call: Callable[[], object], error: type[Exception], message: str) -> None:
    """Of exactly that class: a subclass such as UnicodeError would not be polyhead's own."""
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.type is error
