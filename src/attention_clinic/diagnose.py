"""`diagnose`: which kind of code a candidate is, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from torch import nn

from attention_clinic.arguments import DECODER, Binding, Roles, plain, signature
from attention_clinic.diagnosis import Diagnosis, Finding
from attention_clinic.kinds import (
    attention,
    decoder,
    masks,
    matrices,
    multi_head,
    norms,
    positions,
    splitting,
)
from attention_clinic.trial import SECONDS, Stopped, Trial
from attention_clinic.wording import ENGLISH, Wording


class Kind(NamedTuple):
    """A kind of code: the arguments by which it is recognized, and the function that examines it."""

    roles: Roles
    examine: Callable[[Trial], Iterator[Finding]]
    optional: Set[str] = frozenset({"mask", "valid_lens"})

    @property
    def required(self) -> Set[str]:
        """The roles without which code is of another kind."""
        return self.roles.keys() - self.optional


KINDS: dict[str, Kind] = {
    "attention": Kind(attention.ROLES, attention.diagnose_attention),
    "multi_head": Kind(matrices.LISTED, multi_head.diagnose_multi_head),
    **{name: Kind(masks.forms(name)[0], partial(masks.diagnose_mask, kind=name)) for name in masks.KINDS},
    "transpose_qkv": Kind(splitting.SPLIT, splitting.diagnose_split),
    "transpose_output": Kind(splitting.SPLIT, splitting.diagnose_join),
    "repeat_kv": Kind(splitting.REPEAT, splitting.diagnose_repeat),
    "rotary": Kind(positions.ROTARY, positions.diagnose_rotary),
    "sinusoidal": Kind(positions.SINUSOIDAL, positions.diagnose_sinusoidal),
    "alibi": Kind(positions.ALIBI, positions.diagnose_alibi),
    "rms_norm": Kind(norms.RMS, norms.diagnose_rms_norm),
    "softmax": Kind(norms.SOFTMAX, norms.diagnose_softmax),
    "decoder": Kind(DECODER, decoder.diagnose_decoder, DECODER.keys() - {"token_ids"}),
}

# PyTorch's own functions and modules do these, too; by the kinds in which they count as notes.
NOTES: dict[str, tuple[str, ...]] = {
    "nan_leak": (), "weights_after_dropout": (), "mask_nan": ("multi_head",),
}  # fmt: skip
# Of the kinds that a candidate may be, it is the one whose findings explain most. A named mistake (1)
# explains the numbers; other numbers of the right shape (2) still fit the kind; another shape or type (3)
# does not; and an error (4) is what code of another kind gives. Above 2 no kind is taken for granted.
_UNEXPLAINED = {"differs": 2, "shape": 3, "dtype": 3, "no_mask": 3, "no_tensor": 3, "raises": 4}


def diagnose(
    candidate: Any, kind: str | None = None, seconds: float = SECONDS, wording: Wording = ENGLISH
) -> Diagnosis:
    """Diagnose a piece of attention code by its behaviour alone.

    Args:
        candidate: a function, a module, or a class that makes one. Its arguments may have any order and the
            usual names; without such names they are taken in the order of polyhead's.
        kind: what it is meant to be, one of `KINDS`, or "mask" for any of the masks. By default the kind
            follows from the signature, or else it is the kind that explains the results best.
        seconds: the time limit of one call.
        wording: the words in which the diagnosis prints.

    Returns:
        The findings. The diagnosis is true if there are none.

    Raises:
        ValueError: `kind` is unknown, or it is not given and the signature fits several kinds.

    Example:
        >>> diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value).names
        ('unscaled',)
    """
    kinds = [kind] if kind in KINDS else _shortlist(candidate, kind)
    diagnoses = []
    for each in kinds:
        diagnoses.append(_diagnosis(candidate, each, seconds, wording))
        if diagnoses[-1].healthy or "never_ends" in diagnoses[-1].names:
            return diagnoses[-1]
    best = min(diagnoses, key=_unexplained)
    if kind is None and len(kinds) > 1 and _unexplained(best) > _UNEXPLAINED["differs"]:
        raise ValueError(f"kind must be given: the candidate may be one of {', '.join(kinds)}")
    return best


def _diagnosis(candidate: Any, kind: str, seconds: float, wording: Wording) -> Diagnosis:
    trial = Trial(candidate, seconds)
    found: list[Finding] = []
    try:
        for finding in KINDS[kind].examine(trial):
            found.append(finding)
    except Stopped as stop:
        found.append(stop.finding)
    found = [replace(each, wording=wording) for each in (*found, *trial.conduct.values())]
    notes = tuple(each for each in found if each.name in NOTES and kind in (NOTES[each.name] or KINDS))
    return Diagnosis(kind, tuple(each for each in found if each not in notes), notes, wording)


def _unexplained(diagnosis: Diagnosis) -> int:
    return max((_UNEXPLAINED.get(bug.name, 1) for bug in diagnosis.bugs), default=0)


def _shortlist(candidate: Any, kind: str | None) -> list[str]:
    """The kinds that a candidate may be, by its arguments' names, or by how many they are."""
    if kind not in (None, "mask"):
        raise ValueError(f"kind must be one of {', '.join(KINDS)} or mask, got {kind!r}")
    wanted = [*masks.KINDS] if kind == "mask" else [*KINDS]
    if kind is None and (module := _of_modules(candidate)):
        return [module]
    parameters = [each for each in signature(candidate) or [] if each.kind is not each.VAR_POSITIONAL]
    named = [name for name in wanted if _matches(candidate, KINDS[name])]
    needed = sum(each.default is each.empty for each in parameters)
    unnamed = [name for name in wanted if name != "decoder"]  # its argument has a name, or it is a module
    found = named or [name for name in unnamed if len(KINDS[name].required) == needed] or unnamed
    if kind is None and not parameters:
        raise ValueError(
            f"kind must be given, one of {', '.join(KINDS)}: the candidate's signature is unknown"
        )
    return found


def _of_modules(candidate: Any) -> str | None:
    if isinstance(candidate, type) and issubclass(candidate, nn.Module):
        return "multi_head"
    if not isinstance(candidate, nn.Module):
        return None
    if any(isinstance(part, nn.Embedding) for part in candidate.modules()):
        return "decoder"
    return "multi_head" if any(True for _ in candidate.parameters()) else "attention"


def _matches(candidate: Any, kind: Kind) -> bool:
    """Whether each required parameter has a name of one of the roles, and each required role a parameter."""
    parameters = signature(candidate) or []
    names = {plain(each.name) for each in parameters if each.default is each.empty}
    known = frozenset().union(*kind.roles.values())
    return bool(names) and names <= known and kind.required <= Binding(candidate, kind.roles).accepts
