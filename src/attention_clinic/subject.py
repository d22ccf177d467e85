"""A candidate that can be called by the names of its arguments' roles, whatever it calls them itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_clinic.diagnosis import Finding
from attention_clinic.trial import Trial

Roles = Mapping[str, frozenset[str]]  # in the usual order; each with the names that parameters have for it


_DISPENSABLE = {"mask", "valid_lens", "key_padding_mask", "need_weights"}


def roles(**names: str) -> Roles:
    """Roles with other names for each: query="queries q"."""
    return {role: frozenset({role, *others.split()}) for role, others in names.items()}


class Subject:
    """A candidate under trial, called with keywords that are its roles.

    `accepts` are the roles that it takes, `optional` those that it can do without.
    """

    def __init__(self, trial: Trial, roles: Roles, function: Callable[..., Any] | None = None) -> None:
        """Read the signature, for which argument is which, and for nothing else."""
        self.trial = trial
        self.function = trial.candidate if function is None else function
        self.places = places(self.function, roles)
        self.accepts = {role for role, _, _ in self.places}
        self.optional = {role for role, _, needed in self.places if not needed}
        self.without_dropout = self.is_steady = False

    def __call__(self, **inputs: Any) -> Tensor:
        """The tensor that comes, alone or first of several.

        Raises:
            Stopped: nothing comes, or no tensor.
        """
        return self.trial.tensor(self._given, **inputs)

    def whole(self, **inputs: Any) -> Any:
        """All that comes."""
        return self.trial.call(self._given, **inputs)

    def first(self, **inputs: Any) -> Tensor:
        """The same without a watch, for what is watched as a whole."""
        output = self._given(**inputs)
        tensor: Tensor = output[0] if isinstance(output, tuple | list) else output
        return tensor

    def _given(self, **inputs: Any) -> Any:
        args, kwargs = [], {}
        spare = _DISPENSABLE | self.accepts
        args += [value for role, value in inputs.items() if role not in spare]  # to be refused by Python
        for role, name, needed in self.places:
            if name is None and role in inputs:
                args.append(inputs[role])
            elif name is not None and (needed or role in inputs):
                kwargs[name] = inputs.get(role)
        if self.without_dropout:
            with WithoutDropout():
                return self.function(*args, **kwargs)
        return self.function(*args, **kwargs)

    def steady(self, **inputs: Any) -> Finding | None:
        """A finding where two calls differ; where dropout is why, it is off from then on."""
        first, second = self(**inputs), self(**inputs)
        self.is_steady = True
        if identical(first, second):
            return None
        self.without_dropout = first.is_floating_point()
        if self.without_dropout and not identical(self(**inputs), self(**inputs)):
            self.without_dropout = False
        return Finding("not_deterministic", inputs, first, second)


class WithoutDropout(TorchFunctionMode):
    """Inside, no function of PyTorch drops anything."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (F.dropout, F.dropout1d, F.dropout2d, torch.dropout, torch.dropout_):
            return args[0] if args else kwargs["input"]
        if func is F.scaled_dot_product_attention:
            kwargs.pop("dropout_p", None)
            args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
        return func(*args, **kwargs)


def identical(one: Tensor, other: Tensor) -> bool:
    """The same shape and the same numbers, NaN included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def places(function: Callable[..., Any], roles: Roles) -> list[tuple[str, str | None, bool]]:
    """For each role that a function takes: the keyword, None where it goes by place; and if it is needed."""
    parameters = signature(function)
    if parameters is None:
        return [(role, None, True) for role in roles]
    found: dict[str, str] = {}  # parameter: role
    for parameter in parameters:
        role = next((r for r, names in roles.items() if _plain(parameter.name) in names), None)
        if role is not None and role not in found.values():
            found[parameter.name] = role
    left = [role for role in roles if role not in found.values()]
    for parameter in parameters:
        unnamed = parameter.name not in found and parameter.kind is not parameter.VAR_POSITIONAL
        if unnamed and left and parameter.default is parameter.empty:
            found[parameter.name] = left.pop(0)
    bound: list[tuple[str, str | None, bool]] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            bound += [(role, None, True) for role in left]
            left = []
        elif parameter.name in found:
            name = None if parameter.kind is parameter.POSITIONAL_ONLY else parameter.name
            bound.append((found[parameter.name], name, parameter.default is parameter.empty))
    return bound


def signature(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters, without `**options`; of a module those of its forward. None if nothing is known."""
    target = function.forward if isinstance(function, nn.Module) else function
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    return [each for each in parameters if each.kind is not each.VAR_KEYWORD]


def _plain(name: str) -> str:
    return name.lower().strip("_")
