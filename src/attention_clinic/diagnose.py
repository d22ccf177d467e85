"""Find out what kind of code a candidate is, and what is wrong with it.

A diagnosis has two steps. The names and the number of its arguments tell of which kinds a candidate may be,
such as "attention" or "causal_mask". Then it is examined as code of each of them: it is called, the results
are compared with right and known wrong ones, and all that is wrong or remarkable is a `Finding`. The first
kind of which the candidate is right makes the `Diagnosis`, and so does one as which a call or the whole takes
too long. Else it is the kind that explains the results best, unless even that explains too little: then the
kind is unknown.

The kinds are in `kinds/table.py`, and so is what counts as a bug; the other modules there examine them.
"""

import contextlib
import difflib
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from attention_clinic.adapter import MODEL
from attention_clinic.arguments import Binding, plain, signature
from attention_clinic.diagnosis import ENGLISH, FINDINGS, FORMULAS, NAMES, Diagnosis, Finding, Wording
from attention_clinic.kinds import decoder, layers, norms, positions, table
from attention_clinic.kinds.modules import build_module
from attention_clinic.kinds.table import KINDS, Kind, counts_as, misfit
from attention_clinic.seeded import around
from attention_clinic.trial import SECONDS, CallFailed, Meant, TimeIsUp, Trial, call_text, one_thread
from polyhead.modes import evaluation_mode

__all__ = ["KINDS", "assert_healthy", "diagnose"]

# A whole diagnosis may take so many times as long as one call.
MOST_CALLS = 20


@one_thread()
def diagnose(
    candidate: Any,
    kind: str | None = None,
    *,
    causal: bool | None = None,
    mask: str | None = None,
    rope: str | None = None,
    residual: bool | None = None,
    ignore: Collection[str] = (),
    seconds: float = SECONDS,
    wording: Wording = ENGLISH,
) -> Diagnosis:
    """Diagnose a piece of attention code by its behaviour alone.

    What the caller does not say is found out where it can be, and told in the notes.

    Args:
        candidate: a function, a module, or a class that makes one. Its arguments may have any order and the
            usual names; without such names they are taken by position, in the order of `KINDS[kind].roles`.
        kind: what it is meant to be, one of `KINDS`, or "mask" for any of the masks. By default the kind
            follows from the signature, or else it is the kind that explains the results best.
        causal: whether each token is to see itself and those before it alone, though no mask says so.
        mask: what its masks are: "keeps" if True may be seen, "hides" if True is hidden, "additive" for
            numbers that are added to the scores.
        rope: how its rotary positions pair numbers, "halves" or "neighbours".
        residual: whether it adds its input to its output.
        ignore: names of findings that do not count.
        seconds: the time limit of one call, 2 by default.
        wording: the words in which the diagnosis prints.

    Returns:
        The diagnosis; it is true if its verdict is "healthy".

    Raises:
        ValueError: `kind`, `mask`, `rope` or a name in `ignore` is unknown; or `kind` is not given, and the
            signature has no arguments or cannot be read.

    Example:
        >>> diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value).names
        ('unscaled',)
    """
    if unknown := [name for name in ignore if name not in NAMES]:
        near = ", ".join(difflib.get_close_matches(unknown[0], NAMES, 3)) or "none"
        raise ValueError(f"ignore must have names of findings, got {unknown[0]!r}; names like it: {near}")
    made = "candidate"
    meant = Meant(False if kind == "encoder" and causal is None else causal, mask, rope, residual)
    if kind is None and is_module_class(candidate):
        candidate, made = _built(candidate, seconds, causal)
    diagnoses, end = [], time.monotonic() + MOST_CALLS * seconds
    with evaluation_mode(nn.ModuleList(around(candidate))):  # a function hides what it calls
        for name in (kinds := possible_kinds(candidate, kind, causal)):
            trial = Trial(candidate, seconds, meant=meant)
            trial.made, trial.end = made, end
            trial.kind_is_guessed = kind is None and not has_usual_names(candidate, name)
            diagnosis, end = _examine(trial, name, ignore, wording), trial.end  # later by what imports took
            if diagnosis.healthy or {"never_ends", "out_of_time"} & {*diagnosis.names}:
                return diagnosis
            diagnoses.append(diagnosis)
    best = min(diagnoses, key=misfit)
    if kind is None and misfit(best) > largest_misfit(candidate, best.kind, kinds):
        return _of_unknown_kind(best, kinds)
    return best


def assert_healthy(candidate: Any, kind: str | None = None, **options: Any) -> Diagnosis:
    """Diagnose a candidate, and raise an error that prints the diagnosis unless it is healthy.

    Args:
        candidate: as in `diagnose`.
        kind: as in `diagnose`.
        **options: its other arguments, such as `causal=True`.

    Returns:
        The diagnosis, which may have notes.

    Raises:
        AssertionError: the candidate is ill, or it could not be compared.

    Example:
        >>> assert_healthy(lambda query, key, value: (query @ key.mT).softmax(-1) @ value)
        Traceback (most recent call last):
        AssertionError: ✗ The dot products are not divided by √head_dim.
          query = [[[1.5, -0.3, -2.2, 0.6]]]
          key = [[[-1.1, -1.4, 0.4, 0.8], [-0.7, -0.4, -0.6, 0.2]]]
          value = [[[-0.9], [1.1]]]
          expected = [[[0.5892]]]
          actual = [[[0.8895]]]
    """
    diagnosis = diagnose(candidate, kind, **options)
    if not diagnosis:
        raise AssertionError(str(diagnosis))
    return diagnosis


# ---- which kinds a candidate may be, and how much may be wrong before it is taken for none of them


def largest_misfit(candidate: Any, kind: str, kinds: list[str]) -> int:
    """The largest misfit with which a candidate is ill code of this kind, of all that come into question.

    Example:
        >>> kinds = ["causal_mask", "alibi"]
        >>> largest_misfit(lambda x: None, "causal_mask", kinds) == table.KNOWN_MISTAKES
        True
        >>> largest_misfit(lambda num_tokens: None, "causal_mask", kinds) == table.OTHER_NUMBERS
        True
    """
    if kinds == ["sinusoidal"] and positions.is_learned(candidate):
        return table.KNOWN_MISTAKES  # a trained table of positions may be anything
    if len(kinds) == 1:
        return table.NO_RESULT
    return table.OTHER_NUMBERS if has_usual_names(candidate, kind) else table.KNOWN_MISTAKES


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
    if "decoder" in by_name and decoder.sees_both_ways(candidate, causal):  # a function around an encoder
        by_name[by_name.index("decoder")] = "encoder"
    by_position = [name for name in names if name != "decoder"]  # its argument has a name
    num_required = sum(each.default is each.empty for each in parameters)
    forms = {name: (KINDS[name].required, *KINDS[name].also) for name in by_position}
    by_number = [name for name in by_position if num_required in map(len, forms[name])]
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
    if any(True for _ in module.parameters()):
        return ["multi_head"]
    is_mask = "mask" in type(module).__name__.lower() and not has_usual_names(module, "attention")
    return possible_kinds(module, "mask") if is_mask else ["attention"]


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


# ---- what is wrong with it, as code of one kind


def _examine(trial: Trial, kind: str, ignore: Collection[str], wording: Wording) -> Diagnosis:
    """Examine the candidate of a trial as code of one kind, and sort the findings."""
    found: list[Finding] = []
    try:
        for finding in KINDS[kind].examine(trial):
            found.append(finding)
    except CallFailed as stop:
        found.append(stop.finding)
    except TimeIsUp:
        found.append(Finding("out_of_time", details={"seconds": MOST_CALLS * trial.seconds}))
        trial.question = f"seconds={10 * trial.seconds:g}"
    if not trial.has_run and _guesses_arguments(trial, kind):
        found = [_not_called(trial, kind, each) if each.name == "raises" else each for each in found]
    findings: dict[str, list[Finding]] = {"bugs": [], "doubts": [], "notes": []}
    for each in (*found, *trial.conduct.values()):
        if each.name not in ignore:
            if FINDINGS["doubt"].get(each.name) == "asked":  # its owner is, whether it is meant
                trial.question = f'ignore=["{each.name}"]'
            call = trial.recorded.get(each.actual) if isinstance(each.actual, Tensor) else None
            right = {"formula": FORMULAS.get(kind)} if each.name in ("differs", "not_compared") else {}
            findings["notes" if each.name in trial.on_purpose else counts_as(each.name, kind)].append(
                replace(each, details={**each.details, **right}, wording=wording, made=trial.made, call=call)
            )
    return Diagnosis(
        kind, wording=wording, **{part: tuple(some) for part, some in findings.items()},
        examined=(*dict.fromkeys(trial.examined),),
        skipped=(*(each for each in dict.fromkeys(trial.skipped) if each not in trial.examined),),
        tried=(*dict.fromkeys(trial.tried),), question=trial.question, candidate=trial.candidate,
        options=trial.meant.said() | ({"ignore": (*ignore,)} if ignore else {}),
    )  # fmt: skip


def _built(candidate: type[nn.Module], seconds: float, causal: bool | None) -> tuple[Any, str]:
    """A module of a class that is no attention, and the call that made it; else the class itself."""
    trial = Trial(candidate, seconds)
    with contextlib.suppress(CallFailed):
        module = build_module(trial)
        if module is not None and kinds_of_module(module, causal) not in (["multi_head"], ["attention"]):
            return module, trial.made
    return candidate, "candidate"


def _guesses_arguments(trial: Trial, kind: str) -> bool:
    """Whether the clinic does not know what some required argument is for: an error may be its own fault."""
    if KINDS[kind].roles is not MODEL:
        return trial.kind_is_guessed or bool(trial.guessed)
    binding = Binding(trial.candidate, MODEL, named=MODEL.keys() - {"token_ids"})
    given = {each.name for role, each in binding.parameters.items() if role in ("token_ids", "start_pos")}
    required = [p.name for p in signature(trial.candidate) or [] if p.default is p.empty]
    return bool({*required} - given or (trial.kind_is_guessed and binding.guessed))


def _not_called(trial: Trial, kind: str, error: Finding, most: int = 3) -> Finding:
    """A doubt in place of an error; the trial gets the calls that failed, and what the caller could say."""
    calls: dict[tuple[int, ...], str] = {}
    for inputs in trial.failed:
        sizes = (x.shape if isinstance(x, Tensor) else repr(x) for x in inputs.values())
        calls.setdefault((*map(len, sizes),), call_text("candidate", inputs))
    trial.tried = [*calls.values()][:most]
    is_part = isinstance(trial.candidate, nn.Module | type) and kind in ("multi_head", "layer")
    template = "Module(forward=lambda x: …)" if is_part else f"lambda {', '.join(KINDS[kind].required)}: …"
    trial.question = f"candidate={template}"
    return replace(error, name="not_called")


def _of_unknown_kind(best: Diagnosis, kinds: list[str]) -> Diagnosis:
    """The diagnosis of what may be of several kinds, where even the best does not explain the results."""
    errors = [each.details for each in (*best.bugs, *best.doubts) if each.name in ("raises", "not_called")]
    name, details = ("not_called", errors[0]) if errors else ("unknown_kind", {})
    doubt = Finding(name, details=details, wording=best.wording)
    asked = "kind=" + " or ".join(f'"{kind}"' for kind in kinds)
    return replace(best, kind="", bugs=(), doubts=(doubt,), notes=(), examined=(), skipped=(), question=asked)
