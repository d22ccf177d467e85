"""Which parameter of a function takes which argument: by the usual names for it, else by position."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

Roles = Mapping[str, frozenset[str]]  # in the usual order; each with the names that parameters have for it


def roles(**names: str) -> Roles:
    """Roles with other names for each: query="queries q"."""
    return {role: frozenset({role, *others.split()}) for role, others in names.items()}


DECODER = roles(
    token_ids="ids idx input_ids tokens",
    mask="attention_mask padding_mask",
    cache="kv_cache past_key_values",
    positions="position_ids",
    documents="document_ids",
    need_weights="",
)


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
    `*args`. A function of unknown signature takes all roles by position.

    Example:
        >>> Binding(lambda k, q, extra=0: None, roles(query="q", key="k")).parameters
        {'key': <Parameter "k">, 'query': <Parameter "q">}
    """

    def __init__(self, function: Callable[..., Any], roles: Roles) -> None:
        """Read the signature."""
        named = named_parameters(function, roles)
        unnamed = [role for role in roles if role not in named]
        role_of = {parameter.name: role for role, parameter in named.items()}
        parameters = signature(function)
        if parameters is None:
            parameters = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
        self.parameters: dict[str, inspect.Parameter] = {}
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.parameters |= dict.fromkeys(unnamed, parameter)
                unnamed = []
            elif parameter.name in role_of:
                self.parameters[role_of[parameter.name]] = parameter
            elif unnamed and parameter.default is parameter.empty:
                self.parameters[unnamed.pop(0)] = parameter

    @property
    def accepts(self) -> set[str]:
        """The roles that the function takes."""
        return {*self.parameters}

    @property
    def optional(self) -> set[str]:
        """The roles that have a default."""
        return {role for role, each in self.parameters.items() if each.default is not each.empty}

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
