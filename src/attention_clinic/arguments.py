"""Candidates, called by the roles of their arguments: by the usual names for them, else by position."""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Set
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_clinic.diagnosis import Call, Finding, tables
from attention_clinic.trial import CallFailed, Trial, first_output, identical, is_dense, shown, type_name

Roles = Mapping[str, frozenset[str]]  # in the usual order; each with the names that parameters have for it


def roles(**names: str) -> Roles:
    """Roles with other names for each: query="queries q"."""
    return {role: frozenset({role, *others.split()}) for role, others in names.items()}


ROLES: dict[str, Roles] = {kind: roles(**names) for kind, names in tables("roles.toml").items()}


def signature(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters without `**options`, of a module those of its forward; None if they are unknown."""
    target = function.forward if isinstance(function, nn.Module) else function
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    return [each for each in parameters if each.kind is not each.VAR_KEYWORD]


def named_parameters(function: Callable[..., Any], roles: Roles) -> dict[str, inspect.Parameter]:
    """The first parameter of each role's names."""
    found: dict[str, inspect.Parameter] = {}
    for parameter in signature(function) or []:
        name = plain(parameter.name)
        role = next((role for role, names in roles.items() if name in names), None)
        if role is not None and parameter.kind is not parameter.VAR_POSITIONAL:
            found.setdefault(role, parameter)
    return found


class Binding:
    """The parameters of a function by their roles.

    Where names do not tell, required parameters take the roles that are left, in the usual order, and so does
    `*args`. A function of unknown signature takes all roles by position. Those in `named` a name must tell.
    `accepts` are the roles that the function takes, `optional` those with a default, `required` the others.

    Example:
        >>> Binding(lambda k, q, extra=0: None, roles(query="q", key="k")).parameters
        {'key': <Parameter "k">, 'query': <Parameter "q">}
    """

    def __init__(self, function: Callable[..., Any], roles: Roles, named: Set[str] = frozenset()) -> None:
        """Read the signature."""
        known = named_parameters(function, roles)
        role_of = {parameter.name: role for role, parameter in known.items()}
        unnamed = [role for role in roles if role not in {*known, *named}]
        parameters = signature(function)
        if parameters is None:
            parameters = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
        self.parameters: dict[str, inspect.Parameter] = {}
        self.guessed: list[str] = []  # parameters whose names do not tell what they are for
        for parameter in parameters:
            taken: list[str] = []
            if parameter.name in role_of:
                taken = [role_of[parameter.name]]
            elif parameter.default is parameter.empty:
                self.guessed.append(parameter.name)
                taken = unnamed if parameter.kind is parameter.VAR_POSITIONAL else unnamed[:1]
                unnamed = unnamed[len(taken) :]
            self.parameters |= dict.fromkeys(taken, parameter)
        self.accepts = {*self.parameters}
        self.optional = {role for role, each in self.parameters.items() if each.default is not each.empty}
        self.required = self.accepts - self.optional

    def arguments(self, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the keyword arguments of a call; a required one that is not given is None."""
        args, kwargs = [], {}
        for role, parameter in self.parameters.items():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                args += [inputs[role]] if role in inputs else []
            elif role in inputs or parameter.default is parameter.empty:
                kwargs[parameter.name] = inputs.get(role)
        return args, kwargs


def plain(name: str) -> str:
    """A parameter's name without capitals and outer underscores."""
    return name.lower().strip("_")


# Arguments that a candidate without them is still called without.
_DISPENSABLE = {"mask", "valid_lens", "key_padding_mask", "need_weights"}


# In the names of arguments for what is kept of earlier tokens, which are not given.
_OF_CACHES = ("cache", "past", "start_pos", "offset")


class Subject(Binding):
    """A candidate under trial, called with its roles as keywords, whatever its parameters are called.

    `shape_of` tells the shape that the output should have for inputs: of several outputs that one is taken.
    """

    def __init__(
        self, trial: Trial, roles: Roles, function: Any = None, named: Set[str] = frozenset()
    ) -> None:
        """Bind the candidate's parameters, or those of `function`, to roles; see `Binding`."""
        self.trial = trial
        self.function = trial.candidate if function is None else function
        super().__init__(self.function, roles, named)
        trial.guessed.update(self.guessed)
        given = {each.name for each in self.parameters.values()}
        rest = " ".join(each.name for each in signature(self.function) or [] if each.name not in given)
        trial.skipped += ["cache"] if any(word in rest for word in _OF_CACHES) else []
        self.without_dropout = self.is_repeatable = False
        self.shape_of: Callable[[Mapping[str, Any]], tuple[int, ...]] | None = None

    def __call__(self, **inputs: Any) -> Tensor:
        """The output, alone, or of several the one of the shape that it should have, else the first.

        Raises:
            CallFailed: the call fails, or its output is no tensor.
        """
        output = self.trial.call(self.call, **inputs)
        if self.shape_of is not None and isinstance(output, tuple | list | Mapping):
            shape, several = self.shape_of(inputs), output.values() if isinstance(output, Mapping) else output
            output = next((x for x in several if isinstance(x, Tensor) and x.shape == shape), output)
        output = first_output(output)
        if type(output).__module__ == "numpy" and not any(isinstance(x, Tensor) for x in inputs.values()):
            output = torch.as_tensor(output)  # a table that was made of numbers
        if not is_dense(output):
            raise CallFailed(Finding("no_tensor", shown(inputs), details={"type": type_name(output)}))
        return output

    def answer(self, inputs: Mapping[str, Any]) -> Tensor | CallFailed:
        """The output, or why there is none; a candidate that never ends is not called again."""
        try:
            return self(**inputs)
        except CallFailed as stop:
            if stop.finding.name == "never_ends":
                raise
            return stop

    def call(self, **inputs: Any) -> Any:
        """Call the candidate outside of the trial, as part of a function that the trial runs."""
        unknown = [role for role in inputs if role not in _DISPENSABLE | self.accepts]
        if unknown:
            raise TypeError(f"it takes no argument for {', '.join(unknown)}")
        self.trial.guessed |= self.required - inputs.keys()
        args, kwargs = self.arguments(inputs)
        with WithoutDropout() if self.without_dropout else contextlib.nullcontext():
            output = self.function(*args, **kwargs)
        first = first_output(output)
        if isinstance(first, Tensor) and not self.without_dropout:
            self.trial.recorded[first] = Call((*args,), kwargs, "" if first is output else "[0]")
        return output

    def difference_of_calls(self, **inputs: Any) -> Finding | None:
        """A finding if two equal calls differ; if dropout is the reason, it is off from then on."""
        one, other = self(**inputs), self(**inputs)
        self.is_repeatable = True
        if identical(one, other):
            return None
        self.without_dropout = True
        self.without_dropout = one.is_floating_point() and identical(self(**inputs), self(**inputs))
        return Finding("not_deterministic", inputs, one, other)


class MaskSubject(Subject):
    """A candidate that gives masks, in which integers are truth values, unless one is neither 0 nor 1."""

    has_others = False

    def __call__(self, **inputs: Any) -> Tensor:
        """The mask."""
        mask = super().__call__(**inputs)
        self.has_others |= bool(((mask != 0) & (mask != 1)).any())
        return mask if mask.is_floating_point() or mask.is_complex() or self.has_others else mask.bool()


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
