"""`@checked`: the annotations of a public function are the check of its arguments.

How an annotation becomes a check:

1. On its first call `_annotations` reads the function's annotations, `_alternatives` turns each into a list
   of `_Rule`s, one for each member of a union: a type, a number in a range, a literal, a tensor.
2. On each call `_check_arguments` tries the rules of each argument. A rule's `is_kind` looks at type and
   dtype, its `accepts` at the value. A tensor's rule, `_TensorRule`, also binds the names of dimensions: the
   first argument with `num_keys` sets the size that all later ones must have.
3. `_check_together` compares devices and dtypes of all tensors.
4. What fits no rule is refused by `_refuse`: a TypeError if it is of no kind that was meant, otherwise a
   ValueError.

What annotations cannot express is checked by hand: by `divide_exactly` and `check_range`.
"""

import functools
import inspect
import math
import numbers
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
T = TypeVar("T")
Sizes = dict[str, Any]  # a dimension's name: its size; of "*batch": a tuple of sizes

Mask = Bool[Tensor, "..."]
"""True = may attend; it broadcasts to (batch, num_queries, num_keys)"""

# Numeric types: a type, the description of a range, and its predicate.
Size = Annotated[int, "of at least 1", lambda number: number >= 1]
Count = Annotated[int, "of at least 0", lambda number: number >= 0]
Positive = Annotated[int | float, "above 0, and finite", lambda number: 0 < number < math.inf]
NotNegative = Annotated[int | float, "of at least 0, and finite", lambda number: 0 <= number < math.inf]
Probability = Annotated[int | float, "from 0 to 1", lambda number: 0 <= number <= 1]

_enabled = ContextVar("enabled", default=True)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function against its annotations before it runs.

    A dimension has the same size in all arguments; `{self.embed_dim}` is the module's attribute. All tensors
    are on one device, and all floating ones have one dtype, that of the module's parameters; under autocast
    dtypes may differ. NumPy's numbers are passed on as Python's.

    What a checked function calls is not checked again; what an `__init__` calls is, as it makes modules of
    its own arguments. A compiler traces the function without checks.

    Raises:
        TypeError: an argument is of the wrong type or dtype; the message names it, what was expected, and
            what came.
        ValueError: the shape does not fit, or the number is out of range.

    >>> @checked
    ... def double(size: Size) -> int:
    ...     return 2 * size
    >>> double(3)
    6
    >>> double(0)
    Traceback (most recent call last):
    ValueError: size must be an int of at least 1, got int 0
    """
    names = tuple(inspect.signature(function).parameters)
    is_init = function.__name__ == "__init__"

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if torch.compiler.is_compiling() or not _enabled.get():
            return function(*args, **kwargs)
        plain_args = tuple(map(_without_numpy, args))
        plain_kwargs = {name: _without_numpy(value) for name, value in kwargs.items()}
        _check_arguments(function, chain(zip(names, plain_args, strict=False), plain_kwargs.items()))
        token = _enabled.set(is_init)
        try:
            return function(*plain_args, **plain_kwargs)
        finally:
            _enabled.reset(token)

    return call


def checked_fields(dataclass: type[T]) -> type[T]:
    """Check the fields of a dataclass against their annotations, as `checked` does arguments.

    >>> @checked_fields
    ... @dataclass
    ... class Point:
    ...     size: Size
    >>> Point(0)
    Traceback (most recent call last):
    ValueError: size must be an int of at least 1, got int 0
    """
    dataclass.__init__ = checked(dataclass.__init__)  # type: ignore[method-assign]
    return dataclass


def divide_exactly(name: str, number: int, by_name: str, by: int) -> int:
    """Return number / by; a ValueError that names both if `by` does not divide it.

    >>> divide_exactly("embed_dim", 12, "num_heads", 4)
    3
    """
    if number % by:
        raise ValueError(f"{by_name} must divide {name} = {number}, got {by}")
    return number // by


def check_range(name: str, tensor: Tensor, limit: int, limit_name: str) -> None:
    """Refuse integers outside 0 … limit - 1, on the CPU only: for a GPU the program would have to wait.

    >>> check_range("ids", torch.tensor([3, 7]), 5, "vocab_size")
    Traceback (most recent call last):
    ValueError: ids must be at least 0 and below vocab_size = 5, got 7
    """
    bounds = value_bounds(tensor) if tensor.device.type == "cpu" else None
    if bounds is not None and not 0 <= bounds[0] <= bounds[1] < limit:
        wrong = bounds[0] if bounds[0] < 0 else bounds[1]
        raise ValueError(f"{name} must be at least 0 and below {limit_name} = {limit}, got {wrong}")


def value_bounds(tensor: Tensor) -> tuple[int, int] | None:
    """Return the least and the greatest of some integers; None if there are none, or none can be read.

    >>> value_bounds(torch.tensor([3, 7, 5]))
    (3, 7)
    """
    if torch.compiler.is_compiling() or tensor.is_meta or tensor.numel() == 0:
        return None
    try:
        least, greatest = tensor.aminmax()
        return int(least), int(greatest)
    except RuntimeError:  # under vmap, and of a FakeTensor, no number can be read
        return None


def _without_numpy(value: Any) -> Any:
    """Turn a NumPy number into Python's: PyTorch takes some of them for sizes, and not others."""
    return value.item() if isinstance(value, numbers.Number) and hasattr(value, "item") else value


def _check_arguments(function: Callable[..., Any], arguments: Iterable[tuple[str, Any]]) -> None:
    annotations = _annotations(function)
    sizes: Sizes = {}
    tensors: list[tuple[str, Tensor]] = []
    module: Any = None
    for name, value in arguments:
        if name == "self":
            module = value
            sizes = {f"self.{name}": size for name, size in vars(module).items() if type(size) is int}
            continue
        if name not in annotations:
            raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}")
        if not any(rule.is_kind(value) and rule.accepts(value, sizes) for rule in annotations[name]):
            _refuse(name, value, annotations[name], sizes)
        if isinstance(value, Tensor):
            tensors.append((name, value))
    if any(tensor.is_floating_point() for _, tensor in tensors):
        _check_together(module, tensors)


def _check_together(module: object, tensors: list[tuple[str, Tensor]]) -> None:
    """Refuse several devices, and several floating dtypes."""
    if isinstance(module, nn.Module):
        tensors = [*(("the parameters", each) for each in islice(module.parameters(), 1)), *tensors]
    first_name, first = next(each for each in tensors if each[1].is_floating_point())
    device = first.device
    for name, tensor in tensors:
        if tensor.device != device:
            raise ValueError(f"{name} must be on the device of {first_name}, {device}, got {tensor.device}")
        if tensor.is_floating_point() and tensor.dtype != first.dtype:
            if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
                continue
            raise TypeError(f"{name} must have the dtype of {first_name}, {first.dtype}, got {tensor.dtype}")


def _refuse(name: str, value: object, rules: list["_Rule"], sizes: Sizes) -> None:
    """Raise the error that names the argument, what was expected, and what came."""
    error = ValueError if any(rule.is_kind(value) for rule in rules) else TypeError
    expected = " or ".join(rule.describe(sizes) for rule in rules)
    got = f"{type(value).__name__} {reprlib.repr(value)}"
    if isinstance(value, Tensor):
        got = f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
        if "Bool" in expected and error is TypeError:
            got += f" (for 0 and 1 write {name}.bool(), for 0 and -inf {name} == 0; True = may attend)"
    raise error(f"{name} must be {expected}, got {got}")


@dataclass
class _Rule:
    """One alternative of an annotation."""

    is_kind: Callable[[Any], bool]  # whether type and dtype fit; if no rule's do, it is a TypeError
    description: str
    accepts: Callable[[Any, Sizes], bool] = lambda value, sizes: True

    def describe(self, sizes: Sizes) -> str:
        """Describe what is expected, with the sizes that are bound."""
        return self.description


@functools.cache
def _annotations(function: Callable[..., Any]) -> dict[str, list[_Rule]]:
    """Give the rules of each argument, by name."""
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    for name, hint in list(hints.items()):
        if typing.get_origin(hint) is typing.Unpack:  # **options, typed by a TypedDict
            del hints[name]
            hints |= typing.get_type_hints(typing.get_args(hint)[0], include_extras=True)
    return {name: _alternatives(hint) for name, hint in hints.items()}


def _alternatives(hint: Any) -> list[_Rule]:
    """Turn an annotation into rules, of which a value has to fit one."""
    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (Union, types.UnionType):
        return [rule for part in parts for rule in _alternatives(part)]
    if kind is Annotated:
        number = _alternatives(parts[0])[-1]  # of int | float the latter, which admits both
        return [_Rule(number.is_kind, f"{number.description} {parts[1]}", lambda v, sizes: parts[2](v))]
    if kind is Literal:
        description = f"one of {', '.join(map(repr, parts))}"
        return [_Rule(lambda v: isinstance(v, type(parts[0])), description, lambda v, sizes: v in parts)]
    if kind is Any or not isinstance(kind, type):
        return [_Rule(lambda v: True, "anything")]
    if issubclass(kind, AbstractArray):
        return [_TensorRule(kind)]
    if kind in (int, float):
        number_type, description = (numbers.Integral, "an int") if kind is int else (numbers.Real, "a number")
        return [_Rule(lambda v: isinstance(v, number_type) and not isinstance(v, bool), description)]
    if issubclass(kind, Collection) and len(parts) == 1:
        items = _alternatives(parts[0])
        each = " or ".join(item.description for item in items)
        description = f"{_with_article(kind.__name__.lower())}, each of it {each}"
        return [
            _Rule(lambda v: isinstance(v, kind) and type(v) is not str and _all_of(v, items), description)
        ]
    description = {bool: "True or False", type(None): "None"}.get(kind, _with_article(kind.__name__))
    return [_Rule(lambda v: isinstance(v, kind), description)]


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def _all_of(values: Iterable[Any], rules: list[_Rule]) -> bool:
    return all(any(rule.is_kind(value) for rule in rules) for value in values)


class _TensorRule(_Rule):
    """A tensor's dtype, and its dimensions in jaxtyping's grammar."""

    def __init__(self, annotation: Any) -> None:
        dtypes = {getattr(torch, name, None) for name in annotation.dtypes}
        super().__init__(
            lambda v: isinstance(v, Tensor) and v.dtype in dtypes, annotation.dtype.__name__, self._fits
        )
        self.dims = [dim.strip("{}") for dim in annotation.dim_str.split()]
        # The one name that takes any number of dimensions, as in "*batch length".
        self.variadic = next((i for i, dim in enumerate(self.dims) if dim.startswith(("*", "..."))), None)

    def describe(self, sizes: Sizes) -> str:
        names = (
            f"{dim.removeprefix('self.')} = {sizes[dim]}" if dim in sizes else dim.lstrip("_")
            for dim in self.dims
        )
        return f"{self.description} ({', '.join(names)})"

    def _fits(self, value: Tensor, sizes: Sizes) -> bool:
        """Compare the shape with the sizes; those that are new are added to them."""
        shape: tuple[Any, ...] = tuple(value.shape)
        if self.variadic is not None:
            first, stop = self.variadic, self.variadic + len(shape) - len(self.dims) + 1
            shape = (*shape[:first], shape[first:stop], *shape[max(stop, first) :])
        if len(shape) != len(self.dims):
            return False
        bound = dict(sizes)
        for dim, size in zip(self.dims, shape, strict=True):
            if dim != "..." and not dim.startswith("_"):
                expected = int(dim) if dim.isdecimal() else bound.setdefault(dim, size)
                if expected != size:
                    return False
        sizes |= bound
        return True
