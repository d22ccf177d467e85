"""`@checked`: the annotations of a public function are its check.

Only what an annotation cannot say is checked by hand: by `divided` and `within`.
"""

from __future__ import annotations

import functools
import inspect
import math
import reprlib
import types
import typing
from collections.abc import Callable, Collection, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union

import torch
from jaxtyping import AbstractArray, Bool
from torch import Tensor, nn

P = ParamSpec("P")
R = TypeVar("R")
Sizes = dict[str, Any]  # a dimension's name: its size; "*batch": several

Mask = Bool[Tensor, "..."]
"""True = may attend; it broadcasts to (batch, num_queries, num_keys)"""


# Numbers: which are meant, in words and as a test.
Size = Annotated[int, "of at least 1", lambda number: number >= 1]
Count = Annotated[int, "of at least 0", lambda number: number >= 0]
Positive = Annotated[int | float, "above 0, and finite", lambda number: 0 < number < math.inf]
NotNegative = Annotated[int | float, "of at least 0, and finite", lambda number: 0 <= number < math.inf]
Probability = Annotated[int | float, "from 0 to 1", lambda number: 0 <= number <= 1]

_checking = ContextVar("checking", default=True)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function compare its arguments with its annotations before it runs.

    A dimension has the size that it has in an earlier argument, or that the module has as an attribute of
    its name. All tensors are on one device, and all floating ones have one dtype, the module's parameters
    included; under autocast dtypes may differ.
    What a checked function calls is not checked again; what an `__init__` makes is.

    Raises:
        TypeError: an argument is of the wrong type or dtype; the message says what was expected and came.
        ValueError: the shape does not fit, or the value is none of those that are meant.
    """
    names = tuple(inspect.signature(function).parameters)
    makes = function.__name__ == "__init__"

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if torch.compiler.is_compiling() or not _checking.get():
            return function(*args, **kwargs)
        _check(_annotations(function), chain(zip(names, args, strict=False), kwargs.items()))
        outer = _checking.set(makes)
        try:
            return function(*args, **kwargs)
        finally:
            _checking.reset(outer)

    return call


def _check(annotations: dict[str, list[_Rule]], arguments: Iterable[tuple[str, Any]]) -> None:
    sizes: Sizes = {}
    tensors: list[tuple[str, Tensor]] = []
    module: Any = None
    for name, value in arguments:
        if name == "self":
            module = value
            sizes = {name: size for name, size in vars(module).items() if type(size) is int}
            continue
        if name not in annotations:
            raise TypeError(f"arguments must be out of {', '.join(annotations)}, got {name}")
        for rule in annotations[name]:
            if rule.kind(value) and rule.holds(value, sizes):
                break
        else:
            _refuse(name, value, annotations[name], sizes)
        if isinstance(value, Tensor):
            tensors.append((name, value))
    if any(tensor.is_floating_point() for _, tensor in tensors):
        _check_together(module, tensors)


def _check_together(module: object, tensors: list[tuple[str, Tensor]]) -> None:
    """All on one device, and the floating ones of one dtype."""
    if isinstance(module, nn.Module):
        tensors = [*(("the parameters", each) for each in islice(module.parameters(), 1)), *tensors]
    other, first = next(each for each in tensors if each[1].is_floating_point())
    place, kind = first.device, first.device.type
    for name, tensor in tensors:
        if tensor.device != place:
            raise ValueError(f"{name} must be on the device of {other}, {place}, got {tensor.device}")
        if tensor.is_floating_point() and tensor.dtype != first.dtype:
            if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
                continue
            raise TypeError(f"{name} must have the dtype of {other}, {first.dtype}, got {tensor.dtype}")


def _refuse(name: str, value: object, rules: list[_Rule], sizes: Sizes) -> None:
    error = ValueError if any(rule.kind(value) for rule in rules) else TypeError
    wanted = " or ".join(rule.words(sizes) for rule in rules)
    came = f"{type(value).__name__} {reprlib.repr(value)}"
    if isinstance(value, Tensor):
        came = f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
        if "Bool" in wanted and error is TypeError:
            came += f" (for 0 and 1 write {name}.bool(), for 0 and -inf {name} == 0; True = may attend)"
    raise error(f"{name} must be {wanted}, got {came}")


@dataclass
class _Rule:
    """One thing that an argument may be: its kind, in words, and what else must hold."""

    kind: Callable[[Any], bool]
    name: str
    holds: Callable[[Any, Sizes], bool] = lambda value, sizes: True

    def words(self, sizes: Sizes) -> str:
        return self.name


@functools.cache
def _annotations(function: Callable[..., Any]) -> dict[str, list[_Rule]]:
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    for name, hint in list(hints.items()):
        if typing.get_origin(hint) is typing.Unpack:  # **options, typed by a TypedDict
            del hints[name]
            hints |= typing.get_type_hints(typing.get_args(hint)[0], include_extras=True)
    return {name: _rules(hint) for name, hint in hints.items()}


def _rules(hint: Any) -> list[_Rule]:
    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (Union, types.UnionType):
        return [rule for part in parts for rule in _rules(part)]
    if kind is Annotated:
        number = _rules(parts[0])[-1]  # of int | float the latter, which admits both
        return [_Rule(number.kind, f"{number.name} {parts[1]}", lambda v, sizes: parts[2](v))]
    if kind is Literal:
        name = f"one of {', '.join(map(repr, parts))}"
        return [_Rule(lambda v: isinstance(v, type(parts[0])), name, lambda v, sizes: v in parts)]
    if not isinstance(kind, type):
        return [_Rule(lambda v: True, "anything")]
    if issubclass(kind, AbstractArray):
        return [_Array(kind)]
    if kind in (int, float):
        name = "an int" if kind is int else "a number"
        return [_Rule(lambda v: isinstance(v, (int, kind)) and not isinstance(v, bool), name)]
    if issubclass(kind, Collection) and len(parts) == 1:
        items = _rules(parts[0])
        name = f"a {kind.__name__.lower()}, each of it {' or '.join(item.name for item in items)}"
        return [_Rule(lambda v: isinstance(v, kind) and type(v) is not str and _all_of(v, items), name)]
    name = {bool: "True or False", type(None): "None"}.get(kind, f"a {kind.__name__}")
    return [_Rule(lambda v: isinstance(v, kind), name)]


def _all_of(values: Iterable[Any], rules: list[_Rule]) -> bool:
    return all(any(rule.kind(value) for rule in rules) for value in values)


class _Array(_Rule):
    """A tensor's dtype, and its dimensions in jaxtyping's grammar."""

    def __init__(self, annotation: Any) -> None:
        dtypes = {getattr(torch, name, None) for name in annotation.dtypes}
        super().__init__(
            lambda v: isinstance(v, Tensor) and v.dtype in dtypes, annotation.dtype.__name__, self._fits
        )
        self.dims = [dim.strip("{}").removeprefix("self.") for dim in annotation.dim_str.split()]
        self.several = next((i for i, dim in enumerate(self.dims) if dim.startswith(("*", "..."))), None)

    def words(self, sizes: Sizes) -> str:
        dims = (f"{dim} = {sizes[dim]}" if dim in sizes else dim.lstrip("_") for dim in self.dims)
        return f"{self.name} ({', '.join(dims)})"

    def _fits(self, value: Tensor, sizes: Sizes) -> bool:
        """Whether the shape fits the sizes; those that it brings are added to them."""
        shape: tuple[Any, ...] = tuple(value.shape)
        if self.several is not None:
            stop = self.several + len(shape) - len(self.dims) + 1
            shape = (*shape[: self.several], shape[self.several : stop], *shape[max(stop, self.several) :])
        if len(shape) != len(self.dims):
            return False
        bound = dict(sizes)
        for dim, size in zip(self.dims, shape, strict=True):
            if dim != "..." and not dim.startswith("_"):
                known = int(dim) if dim.isdecimal() else bound.setdefault(dim, size)
                if known != size:
                    return False
        sizes |= bound
        return True


def divided(name: str, number: int, by_name: str, by: int) -> int:
    """Give number / by, where `by` divides it; otherwise a ValueError that names both."""
    if number % by:
        raise ValueError(f"{by_name} must divide {name} = {number}, got {by}")
    return number // by


def within(name: str, tensor: Tensor, limit: int, limit_name: str) -> None:
    """Refuse integers outside 0 … limit - 1; looked at on the CPU only: a GPU would have to be waited for."""
    if tensor.device.type != "cpu" or torch.compiler.is_compiling() or tensor.numel() == 0:
        return
    least, greatest = (int(bound) for bound in tensor.aminmax())
    if least < 0 or greatest >= limit:
        wrong = least if least < 0 else greatest
        raise ValueError(f"{name} must be at least 0 and below {limit_name} = {limit}, got {wrong}")
