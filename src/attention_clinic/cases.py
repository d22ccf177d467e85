"""One input with the right output and those of known mistakes, and what a candidate's output means."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

import torch
from torch import Tensor

from attention_clinic.arguments import Subject
from attention_clinic.diagnosis import Finding
from attention_clinic.trial import CallFailed, is_dense, type_name

Names = tuple[str, ...]
Named = Iterator[tuple[Names, Tensor]]
Option = tuple[str, Any]
Output = Tensor | CallFailed
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Case:
    """Arguments by their roles, the right output, and the outputs of known mistakes.

    A mistake has several names where it is several at once. Mistakes are computed on demand.
    """

    inputs: Mapping[str, Any]
    expected: Tensor
    mistakes: Callable[[], Iterable[tuple[Names, Tensor]]] = tuple

    def names(self, result: object) -> Names | None:
        """The names of the mistakes in a result: () if it is right, None if the mistake is unknown."""
        result = without_singletons(result, self.expected)
        if not is_dense(result):
            return None
        if same(result, self.expected):
            return ()
        if is_all_nan(result):  # which would equal any mistake that is NaN everywhere
            return ("all_nan",)
        return next((names for names, mistake in self.mistakes() if same(result, mistake)), None)

    def seen_as(self, inputs: Mapping[str, Any], change: Callable[[Tensor], Tensor]) -> "Case":
        """The same with other inputs, and with outputs of another form."""
        return Case(inputs, change(self.expected), lambda: ((of, change(x)) for of, x in self.mistakes()))

    def finding(self, name: str, result: object, **details: Any) -> Finding:
        """A finding with this case as evidence."""
        return Finding(name, dict(self.inputs), self.expected, result, details)


def choices(
    *stages: Iterable[Option], most: int | None = None, least: int = 1
) -> Iterator[tuple[Names, list[Any]]]:
    """Every choice of one thing from each stage that makes `least` to `most` mistakes, the fewest first.

    A stage has names and things; the first is right, and has the name "".

    Example:
        >>> list(choices([("", 1), ("negative", -1)], [("", 2), ("halved", 1)], most=1))
        [(('negative',), [-1, 2]), (('halved',), [1, 1])]
    """
    every = [[*stage] for stage in stages]
    for count in range(least, 1 + (len(stages) if most is None else most)):
        for wrong in itertools.combinations(range(len(every)), count):
            ways = (stage[1:] if place in wrong else stage[:1] for place, stage in enumerate(every))
            for chosen in itertools.product(*ways):
                yield tuple(name for name, _ in chosen if name), [thing for _, thing in chosen]


def by_name(*names: str) -> list[Option]:
    """A stage of which the things are their names."""
    return [(name, name) for name in names]


def staged(
    inputs: Mapping[str, Any], compute: Callable[..., Tensor], *stages: Any, most: int | None = None
) -> Case:
    """What the first thing of each stage gives is right; what others give are mistakes; see `choices`."""
    stages = tuple([*stage] for stage in stages)

    def mistakes() -> Named:
        yield from ((names, compute(*chosen)) for names, chosen in choices(*stages, most=most))

    return Case(inputs, compute(*(stage[0][1] for stage in stages)), mistakes)


def samples(*shapes: tuple[int, ...], digits: int | None = None) -> list[Tensor]:
    """Random tensors, always the same, rounded to `digits` for evidence that people read."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(shape, generator=generator) for shape in shapes]
    return tensors if digits is None else [each.mul(10**digits).round().div(10**digits) for each in tensors]


def same(result: object, expected: Tensor) -> TypeGuard[Tensor]:
    """Whether both have one shape and the same values, up to float32's rounding of the largest number."""
    if not is_like(result, expected) or result.shape != expected.shape:
        return False
    actual, right = result.detach().to(expected).float(), expected.detach().float()
    largest = right[right.isfinite()].abs().max().item() if right.isfinite().any() else 0.0
    return torch.allclose(actual, right, atol=1e-5 * max(1.0, largest), equal_nan=True)


def without_singletons(result: Result, expected: Tensor) -> Result | Tensor:
    """A result without dimensions of size 1 that what is right has not: a mask may be (1, n, n)."""
    shape = expected.squeeze().shape
    if is_dense(result) and result.ndim > expected.ndim and result.squeeze().shape == shape:
        return result.reshape(expected.shape)
    return result


def is_all_nan(result: object) -> bool:
    """Whether there are numbers, and none of them is one."""
    return is_dense(result) and bool(result.numel()) and bool(result.isnan().all())


def is_like(result: object, expected: Tensor) -> TypeGuard[Tensor]:
    """Whether both are tensors that can be compared: real or complex numbers, integers, or truth values."""
    return is_dense(result) and _class_of(result) == _class_of(expected)


def _class_of(tensor: Tensor) -> tuple[bool, bool, bool]:
    return tensor.is_floating_point(), tensor.is_complex(), tensor.dtype == torch.bool


def examine(subject: Subject, cases: Sequence[Case], small: Sequence[Case] = ()) -> Iterator[Finding]:
    """Yield the known mistakes of the first case with any, shown by the smallest case; else what is odd.

    The cases after the first with a known mistake are skipped: their outputs are wrong for the same reason.
    """
    if not subject.is_repeatable and not isinstance(subject.answer(cases[0].inputs), CallFailed):
        difference = subject.difference_of_calls(**cases[0].inputs)
        if difference:
            yield difference
            if not subject.without_dropout:
                return
    odd: tuple[Case, Output] | None = None
    for case in cases:
        result = subject.answer(case.inputs)
        names = case.names(result)
        if names:
            shown, result = smallest(subject, case, result, small)
            yield from (shown.finding(name, result) for name in names)
            return
        if names is None:
            odd = odd or (case, result)
    if odd:
        yield oddity(*smallest(subject, *odd, small))


def smallest(subject: Subject, case: Case, result: Output, small: Iterable[Case]) -> tuple[Case, Output]:
    """The first small case with the same symptoms as a result, and its output; else both as they are."""

    def symptoms(case: Case, result: Output) -> Names:
        names = case.names(result)
        return (oddity(case, result).name,) if names is None else names

    sought = symptoms(case, result)
    for each in small:
        if subject.trial.late:
            break
        output = subject.answer(each.inputs)
        if symptoms(each, output) == sought:
            return each, output
    return case, result


def fits(result: Output, case: Case) -> TypeGuard[Tensor]:
    """Whether there is a result, and it has the shape of what is right."""
    return not isinstance(result, CallFailed) and result.shape == case.expected.shape


UNKNOWN = 10  # a distance


def distance(result: Output, case: Case, conventions: Set[str] = frozenset()) -> int:
    """How far a result is from what is right: 0, more by each mistake, `UNKNOWN`, more if it does not fit."""
    if not fits(result, case):
        return UNKNOWN + 1
    names = case.names(result)
    return UNKNOWN if names is None else len({*names} - conventions) + bool(names)


def has_right_shape(subject: Subject, case: Case) -> bool:
    """Whether the candidate runs, and its output has the shape of what is right."""
    return fits(without_singletons(subject.answer(case.inputs), case.expected), case)


def oddity(case: Case, result: object) -> Finding:
    """Why a result is neither right nor a known mistake."""
    expected, inputs = case.expected, dict(case.inputs)
    result = without_singletons(result, expected)
    if isinstance(result, CallFailed):
        return Finding(result.finding.name, inputs, details=result.finding.details)
    if not is_like(result, expected):
        if is_dense(result) and expected.dtype != torch.bool:
            return Finding("dtype", inputs, details={"expected": expected.dtype, "actual": result.dtype})
        name = "no_mask" if expected.dtype == torch.bool else "no_tensor"
        return Finding(name, inputs, details={"type": type_name(result)})
    if result.shape != expected.shape:
        shapes = {"expected": tuple(expected.shape), "actual": tuple(result.shape)}
        return Finding("shape", inputs, details=shapes)
    difference = f"{_largest_gap(expected, result):.2g}"
    return case.finding("differs", result, difference=difference, nearest=_nearest(case, result))


def _nearest(case: Case, result: Tensor) -> dict[str, float]:
    """The two known mistakes that are nearest to a result, and nearer than what is right, with their gaps."""

    def off(form: Tensor) -> float:
        return float(f"{_largest_gap(form, result):.2g}")

    gaps: dict[str, float] = {}
    for names, form in itertools.islice(case.mistakes(), 300):
        if len(names) == 1 and form.shape == result.shape and (gap := off(form)) < off(case.expected):
            gaps[names[0]] = min(gap, gaps.get(names[0], gap))
    return dict(sorted(gaps.items(), key=lambda each: each[1])[:2])


def _largest_gap(expected: Tensor, result: Tensor) -> float:
    return (result.detach().to(expected).float() - expected.float()).abs().max().item()
