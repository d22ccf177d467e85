"""For pytest: `attention_law`, a fixture with one parameter for each law of a decoder.

A test that takes it becomes a test for each law:

    def test_my_decoder(attention_law):
        attention_law(MyDecoder, vocab_size=50)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attention_clinic.certificate import law_rows, line_of
from attention_clinic.isolation import LIMIT, MEMORY, Stopped, isolated
from attention_clinic.laws import LAWS
from attention_clinic.targets import made


@pytest.fixture(params=[*LAWS])
def attention_law(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that fails if a decoder breaks the law, and skips if the law does not apply.

    Its arguments are a class or a function that makes a decoder, and the arguments for it; or a decoder. The
    decoder is made and called in a process of its own, with `limit` seconds and `memory` GiB.
    """

    def check(decoder: Any, limit: float = LIMIT, memory: float = MEMORY, **arguments: Any) -> None:
        try:
            row = isolated(_row, decoder, arguments, request.param, limit=limit, memory=memory)
        except Stopped as stop:
            pytest.fail(f"{request.param}: {stop}", pytrace=False)
        if row["error"] or row["holds"] is False:
            pytest.fail(line_of(row), pytrace=False)
        if row["holds"] is None:
            pytest.skip(f"{request.param} does not apply")

    return check


def _row(decoder: Any, arguments: dict[str, Any], law: str) -> Any:
    (row,) = law_rows(decoder(**arguments) if arguments else made(decoder), [law])
    return row
