"""Runs a reader's function once, and compares what it gave with what is right and with known mistakes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard, TypeVar

import torch
from torch import Tensor, nn

from polyhead.language import text

Candidate = TypeVar("Candidate")
Findings = Iterator[str | None]
Module = TypeVar("Module", bound=nn.Module)
# Labels' keys without "check.", and what each mistake computes, in any shape; NaN stands for NaN.
Mistakes = Iterable[tuple[str, Tensor]]


def exercise(check: Callable[[Candidate], Findings]) -> Callable[[Candidate], None]:
    """Make a check print the first thing that it finds wrong, and look no further; or that nothing is."""

    @functools.wraps(check)
    def printed(candidate: Candidate) -> None:
        print(next(filter(None, check(candidate)), text("check.agrees")))

    return printed


def samples(*shapes: tuple[int, ...]) -> list[Tensor]:
    """Random tensors, always the same; a chapter's own random numbers stay what they are."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def drawn(make: Callable[[], Module]) -> Module:
    """A module whose parameters are such random tensors."""
    generator = torch.Generator().manual_seed(1)
    with torch.random.fork_rng(devices=[]):
        module = make()
    for parameter in module.parameters():
        nn.init.normal_(parameter, generator=generator)
    return module


def result_of(candidate: Callable[..., object], *inputs: object) -> object:
    """What a reader's function gives, alone or as the first of a tuple, or the error that stopped it."""
    try:
        output = candidate(*inputs)
    except Exception as error:
        return error
    return output[0] if isinstance(output, tuple) and output else output


def finding(result: object, expected: Tensor, mistakes: Mistakes = ()) -> str | None:
    """What is wrong with what `result_of` gives, in the reader's language; None where it is right."""
    if isinstance(result, Exception):
        return text("check.raises", error=f"{type(result).__name__}: {result}")
    if not _is_like(result, expected):
        kind = type(result).__name__
        if isinstance(result, Tensor):
            kind = f"{result.dtype} ({result.layout}, {result.device})"
        return text("check.no_mask" if expected.dtype == torch.bool else "check.no_tensor", kind=kind)
    if known(result, [("agrees", expected)]):
        return None
    if name := known(result, mistakes):
        return text(f"check.{name}")
    if result.shape != expected.shape:
        return text("check.shape", expected=tuple(expected.shape), actual=tuple(result.shape))
    difference = (result.detach().to(expected).float() - expected.float()).abs().max().item()
    return text("check.differs", difference=f"{difference:.2g}")


def known(result: object, mistakes: Mistakes) -> str | None:
    """The name of the mistake that gives this result, if one does."""
    for name, mistake in mistakes:
        if _is_like(result, mistake) and result.shape == mistake.shape:
            given, other = result.detach().to(mistake).float(), mistake.float()
            if torch.allclose(given, other, atol=1e-5, equal_nan=True):
                return name
    return None


def _is_like(result: object, expected: Tensor) -> TypeGuard[Tensor]:
    """Whether both are tensors that can be compared: floating numbers, or truth values."""
    if not isinstance(result, Tensor) or result.layout != torch.strided or result.is_meta:
        return False
    return result.is_floating_point() if expected.is_floating_point() else result.dtype == expected.dtype
