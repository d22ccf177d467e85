"""The plugin of attention-clinic for pytest: `attention_law`, a fixture with one parameter for each law.

A test that takes it becomes a test for each law of a decoder:

    def test_my_decoder(attention_law):
        attention_law(MyDecoder, vocab_size=50)

Every start of pytest imports this module. So it is outside of the package, which imports torch, and has the
names of the laws, `DECODER` of `attention_clinic.certificate`, as text.
"""

from collections.abc import Callable
from typing import Any

import pytest

LAWS = (
    "twice", "causality", "past", "left_pad", "step", "chunk", "shift", "look", "docs", "reach", "batch",
    "train", "windows",
)  # fmt: skip


@pytest.fixture(params=LAWS)
def attention_law(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function that fails if a decoder breaks the law, and skips if the law does not apply.

    Its arguments are a class or a function that makes a decoder, and the arguments for it. The decoder is
    made and called in a process of its own, with `limit` seconds and `memory` GiB.
    """
    from attention_clinic.isolation import LIMIT, MEMORY, Stopped, isolated

    def check(make: Any, limit: float = LIMIT, memory: float = MEMORY, **arguments: Any) -> None:
        try:
            (row,) = isolated(_rows, make, arguments, request.param, limit=limit, memory=memory)
        except Stopped as stop:
            row = {"found": "undecided", "says": str(stop)}
        if row["found"] == "does not apply":
            pytest.skip(f"{request.param} does not apply")
        if row["found"] != "holds":
            pytest.fail(f"{request.param}: {row['says']}", pytrace=False)

    return check


def _rows(make: Any, arguments: dict[str, Any], law: str) -> Any:
    from attention_clinic.certificate import law_rows

    return law_rows(make(**arguments), [law])
