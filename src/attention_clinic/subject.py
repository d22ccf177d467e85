"""A candidate that can be called by the roles of its arguments, whatever their names are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attention_clinic.arguments import Binding, Roles
from attention_clinic.diagnosis import Finding
from attention_clinic.trial import Trial

# Arguments that a candidate without them is still called without; any other is passed by position, so that
# Python itself refuses it.
_DISPENSABLE = {"mask", "valid_lens", "key_padding_mask", "need_weights"}


class Subject:
    """A candidate under trial, called with its roles as keywords, whatever its parameters are called.

    `accepts` are the roles that it takes, `optional` those with a default.
    """

    def __init__(self, trial: Trial, roles: Roles, function: Callable[..., Any] | None = None) -> None:
        """Bind the candidate's parameters, or those of `function`, to roles."""
        self.trial = trial
        self.function = trial.candidate if function is None else function
        self.binding = Binding(self.function, roles)
        self.accepts, self.optional = self.binding.accepts, self.binding.optional
        self.without_dropout = self.is_repeatable = False

    def __call__(self, **inputs: Any) -> Tensor:
        """The output, alone or first of several.

        Raises:
            Stopped: the call fails, or its output is no tensor.
        """
        return self.trial.tensor(self.call, **inputs)

    def outputs(self, **inputs: Any) -> Any:
        """Whatever the candidate returns.

        Raises:
            Stopped: the call fails.
        """
        return self.trial.call(self.call, **inputs)

    def call(self, **inputs: Any) -> Any:
        """Call the candidate outside of the trial, as part of a function that the trial runs."""
        unknown = [value for role, value in inputs.items() if role not in _DISPENSABLE | self.accepts]
        args, kwargs = self.binding.arguments(inputs)
        with WithoutDropout() if self.without_dropout else contextlib.nullcontext():
            return self.function(*unknown, *args, **kwargs)

    def difference_of_calls(self, **inputs: Any) -> Finding | None:
        """A finding if two equal calls differ; if dropout is the reason, it is off from then on."""
        one, other = self(**inputs), self(**inputs)
        self.is_repeatable = True
        if identical(one, other):
            return None
        self.without_dropout = one.is_floating_point()
        if self.without_dropout and not identical(self(**inputs), self(**inputs)):
            self.without_dropout = False
        return Finding("not_deterministic", inputs, one, other)


class WithoutDropout(TorchFunctionMode):
    """Switch off dropout in every function of PyTorch."""

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
