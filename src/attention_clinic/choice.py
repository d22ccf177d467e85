"""Which kinds a candidate may be, and how well that is known.

The candidate is examined as each of these kinds. How well its kind is known says how much may be wrong with
it: with more it is rather code of another kind.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from attention_clinic.arguments import Binding, plain, signature
from attention_clinic.kinds import decoder, layers, norms, positions
from attention_clinic.kinds.table import KINDS, KNOWN_MISTAKES, NO_RESULT, OTHER_NUMBERS, Kind

# What tells the kind, and the largest distance from it at which a candidate is ill.
FARTHEST = {"no other kind": NO_RESULT, "usual names": OTHER_NUMBERS, "a guess": KNOWN_MISTAKES}


def evidence_of_kind(candidate: Any, kind: str, kinds: list[str]) -> str:
    """What tells that a candidate, of all the kinds that come into question, is of this one.

    Example:
        >>> evidence_of_kind(lambda x: None, "causal_mask", ["causal_mask", "alibi"])
        'a guess'
        >>> evidence_of_kind(lambda num_tokens: None, "causal_mask", ["causal_mask", "alibi"])
        'usual names'
    """
    if kinds == ["sinusoidal"] and positions.is_learned(candidate):
        return "a guess"  # a trained table of positions may be anything
    if len(kinds) == 1:
        return "no other kind"
    return "usual names" if has_usual_names(candidate, kind) else "a guess"


def possible_kinds(candidate: Any, kind: str | None = None, causal: bool | None = None) -> list[str]:
    """The kinds that a candidate may be, of all those that `kind` allows, the likely ones first.

    Of a module its parts tell. Of a function they are the kinds whose names its arguments have; else those
    with as many required ones; else every kind but models.

    Raises:
        ValueError: `kind` is unknown; or `kind` is not given, and the signature tells nothing.

    Example:
        >>> possible_kinds(lambda queries, keys, values: None)
        ['attention']
    """
    if kind in KINDS:
        return [kind]
    if kind not in (None, "mask"):
        raise ValueError(f"kind must be one of {', '.join(KINDS)} or mask, got {kind!r}")
    if kind is None and isinstance(candidate, nn.Module):
        return kinds_of_module(candidate, causal)
    if kind is None and is_module_class(candidate):
        return ["multi_head"]
    every = signature(candidate)
    parameters = [each for each in every or [] if each.kind is not each.VAR_POSITIONAL]
    if kind is None and not parameters:
        reason = "signature is unknown" if every is None else "arguments do not tell which"
        raise ValueError(f"kind must be given, one of {', '.join(KINDS)}: the candidate's {reason}")
    names = [name for name in KINDS if kind is None or name.endswith("_mask")]
    names = [name for name in names if name not in ("encoder", "layer")]  # which are modules
    by_name = [name for name in names if _matches(candidate, KINDS[name])]
    by_name.sort(key=lambda name: not has_usual_names(candidate, name))
    by_position = [name for name in names if name != "decoder"]  # its argument has a name
    num_required = sum(each.default is each.empty for each in parameters)
    by_number = [name for name in by_position if len(KINDS[name].required) == num_required]
    return by_name or by_number or by_position


def is_module_class(candidate: Any) -> bool:
    """Whether a candidate is a class of modules.

    Example:
        >>> is_module_class(nn.Linear), is_module_class(nn.Linear(2, 2))
        (True, False)
    """
    return isinstance(candidate, type) and issubclass(candidate, nn.Module)


def kinds_of_module(module: nn.Module, causal: bool | None = None) -> list[str]:
    """The kinds that a module may be, by its parts.

    Example:
        >>> kinds_of_module(nn.MultiheadAttention(8, 2)), kinds_of_module(nn.LayerNorm(8))
        (['multi_head'], ['layer_norm'])
    """
    if kinds := positions.kinds_of_module(module) or norms.kinds_of_norm(module):
        return kinds
    if any(isinstance(part, nn.Embedding) for part in module.modules()):
        return ["encoder" if decoder.sees_both_ways(module, causal) else "decoder"]
    if layers.is_layer(module):
        return ["layer"]
    return ["multi_head" if any(True for _ in module.parameters()) else "attention"]


def has_usual_names(candidate: Any, kind: str) -> bool:
    """Whether its arguments have the names of a kind's first form.

    Example:
        >>> has_usual_names(lambda q, k, v: None, "attention")
        True
    """
    return _matches(candidate, KINDS[kind]._replace(also=()))


def _matches(candidate: Any, kind: Kind) -> bool:
    """Whether each required parameter has a name of one of the roles, and each required role a parameter."""
    names = {plain(each.name) for each in signature(candidate) or [] if each.default is each.empty}
    return bool(names) and any(
        names <= frozenset().union(*roles.values()) and required <= Binding(candidate, roles).accepts
        for roles, required in ((kind.roles, kind.required), *((each, each.keys()) for each in kind.also))
    )
