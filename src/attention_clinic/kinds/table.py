"""The kinds of code that the clinic knows, and how badly each explains what is found.

To add a kind, write its roles in roles.toml and a function that makes its cases in a module of this package,
and name both in `KINDS`; each new name of a mistake needs a sentence in sentences.toml, and in the languages
of the course (its clinic.yml), and a row in findings.toml if it is a doubt or a note. Where cases are not
enough, the module has a function that yields findings.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_clinic.arguments import ROLES, MaskSubject, Roles, Subject
from attention_clinic.cases import Case, Names, examine, has_right_shape
from attention_clinic.diagnosis import FINDINGS, Diagnosis, Finding
from attention_clinic.kinds import attention, decoder, functions, layers, masks, multi_head, norms, positions
from attention_clinic.trial import Trial


class Kind(NamedTuple):
    """A kind of code: the arguments by which it is recognized, and the function that examines it.

    Attributes:
        roles: What its arguments are for, in the usual order, each with the names that a parameter may have
            for it: the role "query" has the names query, queries, q and others.
        examine: Yields what it finds wrong with the candidate of a trial.
        optional: The roles that code of this kind may lack.
        also: Other roles by which it is recognized, all of them required: other forms of the same code.

    Example:
        >>> sorted(KINDS["attention"].required), "q" in KINDS["attention"].roles["query"]
        (['key', 'query', 'value'], True)
    """

    roles: Roles
    examine: Callable[[Trial], Iterator[Finding]]
    optional: Set[str] = frozenset({"mask", "valid_lens"})
    also: tuple[Roles, ...] = ()

    @property
    def required(self) -> Set[str]:
        """The roles without which code cannot be of this kind, in the usual order."""
        return {role: names for role, names in self.roles.items() if role not in self.optional}.keys()


Rows = Sequence[tuple[Any, ...]]
RolesAndBuilders = tuple[Roles, Sequence[Callable[..., Case]]]


def _by_cases(*forms: RolesAndBuilders, sizes: Rows, evidence: Rows, **options: int) -> Kind:
    """A kind that is examined by nothing but cases: inputs with the right output and those of known mistakes.

    Args:
        forms: roles, and functions that build a case, one for each shape that the right output may have.
            Used is the first builder whose output has the shape of the candidate's, else the very first.
            With other roles than the first, what True means in a mask is a convention: a note, not a bug.
        sizes: a builder's arguments for each case, large enough to tell one mistake from another.
        evidence: those for each small case that a finding may show to people, the smallest first.
        options: more arguments for the small cases: `digits=1` rounds random tensors.
    """
    (first_roles, (first_build, *_)), *others = forms
    subject_class = MaskSubject if first_build(*sizes[0]).expected.dtype == torch.bool else Subject
    every = [(roles, build) for roles, builders in forms for build in builders]

    def examine_candidate(trial: Trial) -> Iterator[Finding]:
        subject, roles, build = subject_class(trial, first_roles), first_roles, first_build
        for other_roles, other_build in every if len(every) > 1 else []:
            other = subject_class(trial, other_roles)
            if has_right_shape(other, other_build(*sizes[0])):
                subject, roles, build = other, other_roles, other_build
                break
        nobody_said = trial.meant.mask in (None, "additive")
        # A mask that is named after the padding may mark the padding.
        marks_padding = re.search("pad(ding)?_?mask", getattr(trial.candidate, "__name__", "").lower())
        is_free = nobody_said and (roles is not first_roles or bool(marks_padding))

        def case_of(*row: Any, **options: int) -> Case:
            case = build(*row, **options)
            if trial.meant.mask == "hides":
                return case.seen_as(case.inputs, lambda x: ~x if x.dtype == torch.bool else x)
            # A strict triangle that hides is likelier than an upper one that keeps, and is the same.
            return replace(case, mistakes=lambda: sorted(case.mistakes(), key=_unlikely)) if is_free else case

        small = [case_of(*row, **options) for row in evidence]
        for finding in examine(subject, [case_of(*row) for row in sizes], small):
            # What True means in a mask of token ids is a convention; numbers to add are one in any mask.
            free = is_free or (nobody_said and finding.name == "causal_additive")
            note = _CONVENTIONS.get(finding.name) if free else None
            yield Finding(note) if note else finding

    return Kind(first_roles, examine_candidate, also=tuple(roles for roles, _ in others))


_CONVENTIONS = {
    "mask_inverted": "mask_hides", "padding_inverted": "mask_hides", "causal_additive": "mask_additive",
}  # fmt: skip


def _unlikely(mistake: tuple[Names, Tensor]) -> tuple[int, bool]:
    """Fewer mistakes beside conventions come first, then strict triangles, which hide or keep."""
    return len({*mistake[0]} - _CONVENTIONS.keys()), "causal_upper" in mistake[0]


_SPLIT_SIZES: dict[str, Any] = {
    "sizes": [(2, 5, 3, 7)], "evidence": [(1, 2, 2, 1), (1, 2, 2, 2), (2, 1, 2, 1), (2, 2, 2, 2)],
    "digits": 1,
}  # fmt: skip
# "alibi", for example, has one form: the roles "alibi", and the builder `positions.alibi`, whose argument is
# the number of heads. Slopes of 12 and of 8 heads tell mistakes apart; those of 2, 3 or 6 heads are shown.
KINDS: dict[str, Kind] = {
    "attention": Kind(ROLES["attention"], attention.diagnose_attention, attention.OTHERS | {"mask"}),
    "multi_head": Kind(ROLES["multi_head"], multi_head.diagnose_multi_head),
    "causal_mask": _by_cases((ROLES["causal_mask"], [masks.causal]),
                             (ROLES["token_ids"], masks.CAUSAL_OF_IDS),
                             sizes=[(5,), (4,), (3,), (1,)], evidence=[(2,), (3,)]),
    "cached_mask": _by_cases((ROLES["cached_mask"], [masks.cached]),
                             sizes=[(5, 3), (5, 1), (0, 4)], evidence=[(1, 2), (2, 2), (2, 3)]),
    "window_mask": _by_cases((ROLES["window_mask"], [masks.window]),
                             sizes=[(9, 4), (11, 3)], evidence=[(2, 1), (3, 2), (5, 3)]),
    "padding_mask": _by_cases((ROLES["padding_mask"], masks.PADDING_FORMS),
                              (masks.OF_LENGTHS, masks.PADDING_OF_LENGTHS),
                              (masks.OF_IDS_AND_PADDING, masks.PADDING_OF_IDS_AND_ID),
                              (ROLES["token_ids"], masks.PADDING_OF_IDS),
                              sizes=[((4, 1, 5), 7)], evidence=[((1,), 3), ((2,), 4), ((1, 2), 2)]),
    "document_mask": _by_cases((ROLES["document_mask"], masks.DOCUMENT_FORMS),
                               sizes=[((0, 0, 0, 1, 1, 2, 2),)], evidence=[((0, 0, 1),), ((0, 0, 1, 1),)]),
    "transpose_qkv": _by_cases((ROLES["transpose_qkv"], [functions.split]), **_SPLIT_SIZES),
    "transpose_output": _by_cases((ROLES["transpose_qkv"], [functions.join]), **_SPLIT_SIZES),
    "repeat_kv": _by_cases((ROLES["repeat_kv"], [functions.repeat_in_any_layout]), digits=1,
                           sizes=[(2, 3, 5, 7, 2)],
                           evidence=[(1, 2, 1, 1, 2), (1, 2, 2, 1, 2), (1, 2, 2, 2, 2)]),
    "rotary": Kind(ROLES["rotary"], positions.diagnose_rotary, also=positions.ROTARY_FORMS),
    "sinusoidal": Kind(ROLES["sinusoidal"], positions.diagnose_sinusoidal, also=(ROLES["token_ids"],)),
    "alibi": _by_cases((ROLES["alibi"], [positions.alibi]), sizes=[(12,), (8,)], evidence=[(2,), (3,), (6,)]),
    "rms_norm": Kind(ROLES["rms_norm"], partial(norms.diagnose_norm, kind="rms_norm")),
    "layer_norm": Kind(norms.LAYER, partial(norms.diagnose_norm, kind="layer_norm"), frozenset({"eps"})),
    "latent_attention": _by_cases((ROLES["latent_attention"], [functions.latent]), sizes=[(2, 3, 5, 7, 4, 6)],
                                  evidence=[(1, 1, 2, 2, 1, 1), (1, 2, 2, 3, 2, 1)], digits=1),
    "softmax": Kind(ROLES["softmax"], functions.diagnose_softmax),
    "decoder": Kind(ROLES["decoder"], decoder.diagnose_decoder, ROLES["decoder"].keys() - {"token_ids"}),
    "layer": Kind(ROLES["layer"], layers.diagnose_layer, ROLES["layer"].keys() - {"x"}),
    "encoder": Kind(ROLES["decoder"], decoder.diagnose_encoder, ROLES["decoder"].keys() - {"token_ids"}),
}  # fmt: skip


def counts_as(finding: str, kind: str) -> str:
    """Whether a finding, by its name, is one of the "bugs", "doubts" or "notes" of code of this kind.

    Example:
        >>> counts_as("mask_nan", "decoder"), counts_as("mask_nan", "attention")
        ('bugs', 'notes')
    """
    if not {"any", kind}.isdisjoint(FINDINGS["note"].get(finding, "").split()):
        return "notes"
    return "doubts" if finding in FINDINGS["doubt"] else "bugs"


# How badly a kind explains a candidate, by what is found: the kind with the least fits it best.
RIGHT, KNOWN_MISTAKES, OTHER_NUMBERS, OTHER_SHAPE, NO_RESULT = range(5)
_MISFITS = {"numbers": OTHER_NUMBERS, "shape": OTHER_SHAPE, "no result": NO_RESULT}


def misfit(diagnosis: Diagnosis) -> int:
    """How badly a candidate is explained as code of this kind: from `RIGHT`, 0, to `NO_RESULT`, 4."""
    found = (FINDINGS["misfit"].get(each.name, "") for each in (*diagnosis.bugs, *diagnosis.doubts))
    return max((_MISFITS.get(told, KNOWN_MISTAKES) for told in found), default=RIGHT)
