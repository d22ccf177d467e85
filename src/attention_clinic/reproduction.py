"""Tests that fail on the owner's code: the same module and inputs, and what is right for them."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import torch
from torch import Tensor

_IMPORTS = {
    "diagnose": "attention_clinic", "laws": "attention_clinic", "seeded_copy": "attention_clinic",
    "awakened": "attention_clinic.adapter", "SmallConfig": "attention_clinic.kinds.modules",
}  # fmt: skip


def import_lines(candidate: Any) -> str:
    """Lines of Python that import a function or a class as `candidate`.

    Raises:
        ValueError: it cannot be imported by a name.

    Example:
        >>> print(import_lines(math.hypot))
        from math import hypot
        <BLANKLINE>
        candidate = hypot
    """
    name = getattr(candidate, "__qualname__", "<unknown>")
    module = getattr(candidate, "__module__", None) or "__main__"
    if "<" in name or module == "__main__":
        raise ValueError("say how the candidate is made: lines of Python that end with candidate = …")
    return f"from {module} import {name.partition('.')[0]}\n\ncandidate = {name}"


def failing_tests(diagnosis: Any, build: str | None = None) -> str:
    """The text of a test file with a test for each bug; see `Diagnosis.as_test`, which calls this."""
    if not diagnosis.bugs:
        raise ValueError(f"there is no bug to test for: the candidate is {diagnosis.verdict}")
    build = import_lines(diagnosis.candidate) if build is None else build
    tests = "\n\n\n".join(_test(diagnosis, bug) for bug in diagnosis.bugs)
    imports = [] if "import torch" in build.splitlines() else ["import torch"]
    imports += [f"from {place} import {name}" for name, place in _IMPORTS.items() if name in tests]
    head = "# Each of these tests fails until the bug that it is named after is mended."
    return "\n\n".join([head, *(["\n".join(imports)] if imports else []), f"{build}\n", tests]) + "\n"


def _test(diagnosis: Any, bug: Any) -> str:
    explanation = bug.explanation.removeprefix("✗ ").replace("\\", "\\\\").replace('"', "'")
    name, lines = "candidate", list[str]()
    if bug.made not in ("", "candidate"):
        name, lines = "made", ["torch.manual_seed(0)", f"made = {bug.made}"]
    try:
        lines += _called(bug, name)
    except TypeError:  # it cannot be written down
        lines = _diagnosed(diagnosis, bug)
    return "\n".join([f"def test_{bug.name}():", *map(_folded, [f'"""{explanation}"""', *lines])])


def _called(bug: Any, name: str) -> list[str]:
    """The very call and what is right for it, or the law that a decoder breaks.

    Raises:
        TypeError: there is neither.
    """
    law, ids, expected = bug.details.get("law", "parity"), bug.input.get("token_ids"), bug.expected
    if law != "parity" and isinstance(ids, Tensor):
        return [f"assert not laws.{law}({name}, batch={ids.shape[0]}, length={ids.shape[1]})"]
    is_single = bug.call and bug.made and bug.name != "not_deterministic"
    if not is_single or not isinstance(expected, Tensor) or expected.shape != bug.actual.shape:
        raise TypeError("no single call")
    slack = 1e-5 * max([1.0, *expected[expected.isfinite()].double().abs().tolist()])
    args = "".join(f"{_literal(each)}, " for each in bug.call.args)
    inputs = [f"    {key!r}: {_literal(value)}," for key, value in bug.call.options.items()]
    tolerance = f"rtol=0, atol={slack:.2g}, equal_nan=True, check_dtype={expected.dtype == torch.bool}"
    lines = ["inputs = {", *inputs, "}", f"expected = {_literal(expected)}"]
    lines += [f"actual = {name}({args}**inputs){bug.call.pick}"]
    return [*lines, f"torch.testing.assert_close(actual, expected, {tolerance})"]


def _diagnosed(diagnosis: Any, bug: Any) -> list[str]:
    """The diagnosis as a whole."""
    options = "".join(f", {name}={value!r}" for name, value in diagnosis.options.items())
    found = f"found = diagnose(candidate, {diagnosis.kind!r}{options})"
    return [found, f"assert {bug.name!r} not in {{bug.name for bug in found.bugs}}, found"]


def _folded(line: str) -> str:
    indent = " " * (4 + len(line) - len(line.lstrip()))
    deeper = indent if line.startswith('"') else f"{indent}    "  # a docstring's lines begin alike
    return textwrap.fill(
        line.lstrip(), 100, initial_indent=indent, subsequent_indent=deeper, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _literal(value: Any, dtype: torch.dtype | None = None) -> str:
    """Python for a value; a tensor has the same numbers again, in as few digits as its dtype needs.

    Raises:
        TypeError: there is none.
    """
    if isinstance(value, Tensor):
        return f"torch.tensor({_literal(value.detach().tolist(), value.dtype)}, dtype={value.dtype})"
    if isinstance(value, list):
        return f"[{', '.join(_literal(each, dtype) for each in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, float) and dtype is not None:
        texts = (f"{value:.{digits}g}" for digits in range(1, 18))
        return next(text for text in texts if torch.tensor(float(text), dtype=dtype).item() == value)
    if value is None or isinstance(value, bool | int | float | complex | str):
        return repr(value)
    raise TypeError(f"no Python for {type(value).__name__}")
