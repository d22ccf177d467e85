"""One input with what is right for it and what known mistakes give; and what a candidate's answer says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import Tensor

from attention_clinic.diagnosis import Finding
from attention_clinic.subject import Subject
from attention_clinic.trial import Stopped, kind_of

Names = tuple[str, ...]
Mistakes = Iterable[tuple[Names, Tensor]]


@dataclass(frozen=True, eq=False)
class Case:
    """Arguments by the names of their roles, the right answer, and the answers of known mistakes.

    A mistake has several names where several are made at once. They are computed when asked for.
    """

    inputs: Mapping[str, Any]
    expected: Tensor
    mistakes: Callable[[], Mistakes] = tuple

    def names(self, result: object) -> Names | None:
        """What is wrong with a result: nothing, (); a known mistake, its names; anything else, None."""
        if same(result, self.expected):
            return ()
        return next((names for names, mistake in self.mistakes() if same(result, mistake)), None)


def samples(*shapes: tuple[int, ...], digits: int | None = None) -> list[Tensor]:
    """Random tensors, always the same; rounded where somebody is to read them."""
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(shape, generator=generator) for shape in shapes]
    return drawn if digits is None else [each.mul(10**digits).round().div(10**digits) for each in drawn]


def same(result: object, expected: Tensor) -> TypeGuard[Tensor]:
    """Whether both have one shape and the same numbers, up to rounding, or the same truth values.

    Rounding is what float32 leaves of the largest number.
    """
    if not is_like(result, expected) or result.shape != expected.shape:
        return False
    given, other = result.detach().to(expected).float(), expected.detach().float()
    largest = other[other.isfinite()].abs().max().item() if other.isfinite().any() else 0.0
    return torch.allclose(given, other, atol=1e-5 * max(1.0, largest), equal_nan=True)


def is_like(result: object, expected: Tensor) -> TypeGuard[Tensor]:
    """Whether both are tensors that can be compared: floating numbers, or truth values."""
    if not isinstance(result, Tensor) or result.layout != torch.strided or result.is_meta:
        return False
    return result.is_floating_point() if expected.is_floating_point() else result.dtype == expected.dtype


def examine(subject: Subject, exams: Sequence[Case], small: Sequence[Case] = ()) -> Iterator[Finding]:
    """The known mistakes of the first exam that shows any, with the smallest case; else what is odd.

    Mistakes that a case names are enough: what another case then makes of the candidate is their doing.
    """
    if not subject.is_steady and not isinstance(answer(subject, exams[0]), Stopped):
        unsteady = subject.steady(**exams[0].inputs)
        if unsteady:
            yield unsteady
            if not subject.without_dropout:
                return
    odd: list[tuple[Case, Stopped | Tensor]] = []
    for case in exams:
        result = answer(subject, case)
        names = None if isinstance(result, Stopped) else case.names(result)
        if names:
            yield from smallest(subject, case, result, names, small)
            return
        if names is None:
            odd.append((case, result))
    if odd:
        yield oddest(subject, *odd[0], small)


def answer(subject: Subject, case: Case) -> Tensor | Stopped:
    """What the candidate gives, or why it gives nothing; one that never ends is not called again."""
    try:
        return subject(**case.inputs)
    except Stopped as stop:
        if stop.finding.name == "never_ends":
            raise
        return stop


def case_finding(name: str, case: Case, result: object, **details: Any) -> Finding:
    """A finding with this case as evidence."""
    return Finding(name, dict(case.inputs), case.expected, result, details)


def smallest(
    subject: Subject, case: Case, result: object, names: Names, small: Iterable[Case]
) -> Iterator[Finding]:
    """A finding for each name, shown by the first of the small cases that has just these mistakes."""
    for each in small:
        if subject.trial.late:
            break
        given = answer(subject, each)
        if not isinstance(given, Stopped) and each.names(given) == names:
            case, result = each, given
            break
    for name in names:
        yield case_finding(name, case, result)


def oddest(subject: Subject, case: Case, result: Tensor | Stopped, small: Sequence[Case]) -> Finding:
    """What is unknown: an error, another shape or dtype, other numbers; on the smallest case that has it."""
    first = oddity(case, result)
    for each in () if subject.trial.late else small:
        given = answer(subject, each)
        if case_is_odd(each, given) and (finding := oddity(each, given)).name == first.name:
            return finding
    return first


def case_is_odd(case: Case, result: object) -> bool:
    """Whether a result is neither right nor a known mistake."""
    return isinstance(result, Stopped) or case.names(result) is None


def oddity(case: Case, result: object) -> Finding:
    """Why a result is neither right nor a known mistake."""
    expected, inputs = case.expected, dict(case.inputs)
    if isinstance(result, Stopped):
        return Finding(result.finding.name, inputs, details=result.finding.details)
    if not is_like(result, expected):
        name = "no_mask" if expected.dtype == torch.bool else "no_tensor"
        return Finding(name, inputs, details={"kind": kind_of(result)})
    if result.shape != expected.shape:
        shapes = {"expected": tuple(expected.shape), "actual": tuple(result.shape)}
        return Finding("shape", inputs, details=shapes)
    gap = (result.detach().to(expected).float() - expected.float()).abs().max().item()
    return case_finding("differs", case, result, difference=f"{gap:.2g}")
