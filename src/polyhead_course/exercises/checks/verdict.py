"""Runs a reader's function once, and names the clinic's findings in its output."""

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from attention_clinic.cases import Case, oddity
from attention_clinic.trial import CallFailed, Trial, first_output, is_dense
from polyhead_course.exercises import WORDING
from polyhead_course.words.language import text

Candidate = TypeVar("Candidate")
Findings = Iterator[str | None]
# Labels' keys without "check.", and what each mistake computes, in any shape; NaN stands for NaN.
Mistakes = Iterable[tuple[str, Tensor]]
# No vowels, so that no code is a word; the page's script makes the same codes.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
# Set where the book's notebooks are executed, and compared with what is stored: their outputs have no codes.
_OUR_OWN = {"POLYGLOT_TERMS", "PYTEST_VERSION"}


def exercise(check: Callable[[Candidate], Findings]) -> Callable[[Candidate], None]:
    """Make a check print the first thing that it finds wrong, and look no further; or that nothing is."""

    @functools.wraps(check)
    def printed(candidate: Candidate) -> None:
        right = text("check.agrees") + code_line(check.__name__)
        print(next(filter(None, check(candidate)), right))

    return printed


def code_of(check: str) -> str:
    """The four letters that tick an exercise with this check on the site, the same on every machine."""
    number = functools.reduce(lambda sum_, letter: (31 * sum_ + ord(letter)) % 20**4, check, 0)
    return "".join(_LETTERS[number // 20**power % 20] for power in (3, 2, 1, 0))


def code_line(check: str) -> str:
    """What a reader sees behind a right answer: the code of this check."""
    return "" if _OUR_OWN & os.environ.keys() else "\n" + text("solved.code", code=code_of(check))


def result_of(candidate: Callable[..., Any], *inputs: Any) -> Any:
    """What a reader's function returns, alone or first of several, or what stopped it."""
    try:
        return first_output(Trial(candidate, quiet=False).call(candidate, *inputs))
    except CallFailed as stop:
        return stop


def scalar(answer: Any) -> Any:
    """The Python value of a single number or truth value of numpy or PyTorch; anything else as it is."""
    single = isinstance(answer, np.generic) or (is_dense(answer) and answer.numel() == 1)
    return answer.item() if single else answer


def number(answer: Any) -> Any:
    """A tensor of a number of Python or numpy; anything else as it is."""
    value = answer if isinstance(answer, Tensor) else scalar(answer)
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return torch.tensor(float(value)) if is_number else answer


def verdicts(candidate: Callable[..., Any], *cases: Case) -> Findings:
    """What is wrong with the answer to each case, in the reader's language; None where it is right."""
    for case in cases:
        yield verdict(result_of(candidate, *case.inputs.values()), case)


def finding(result: object, expected: Tensor, mistakes: Mistakes = ()) -> str | None:
    """The same of one result, for an exercise whose mistakes are its own, and come one at a time."""
    return verdict(result, Case({}, expected, lambda: (((name,), mistake) for name, mistake in mistakes)))


def verdict(result: object, case: Case) -> str | None:
    """What is wrong with what `result_of` gives: a line for each mistake that is known, else what is odd."""
    names = None if isinstance(result, CallFailed) else case.names(result)
    if names is None:
        return replace(oddity(case, result), wording=WORDING).explanation
    return "\n".join(text(f"check.{name}") for name in names) or None
