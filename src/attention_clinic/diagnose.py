"""Find out what kind of code a candidate is, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

from attention_clinic.adapter import MODEL
from attention_clinic.arguments import Binding, Roles, Subject, plain, signature
from attention_clinic.cases import Case, answer, examine
from attention_clinic.diagnosis import ENGLISH, FORMS, Diagnosis, Finding, Wording
from attention_clinic.kinds import (
    attention,
    decoder,
    functions,
    heads,
    layers,
    masks,
    multi_head,
    norms,
    positions,
)
from attention_clinic.kinds.modules import build_module
from attention_clinic.trial import SECONDS, CallFailed, Meant, Trial

Builder = Callable[..., Case]
Rows = list[tuple[Any, ...]]


class Kind(NamedTuple):
    """A kind of code: the arguments by which it is recognized, and the function that examines it.

    Attributes:
        roles: What its arguments are for, in the usual order, each with the names that a parameter may have
            for it: the role "query" has the names query, queries, q and others.
        examine: Yields what it finds wrong with the candidate of a trial.
        optional: The roles that code of this kind may lack.
        also: Other roles by which it is recognized, all of them required.

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
        """The roles without which code cannot be of this kind."""
        return self.roles.keys() - self.optional


def _by_cases(
    roles: Roles, *builders: Builder, fields: str, sizes: Rows, evidence: Rows, **evidence_options: int
) -> Kind:
    """A kind that is examined by nothing but cases: inputs with the right output and those of known mistakes.

    Args:
        roles: see `Kind`.
        builders: make a case, one for each shape that the right output may have; the builder for the shape
            of the candidate's output is chosen, else the first.
        fields: the names of the builders' arguments that `sizes` and `evidence` give, row by row.
        sizes: a row for each case, large enough to tell one mistake from another.
        evidence: a row for each small case that a finding may show to people, the smallest first.
        evidence_options: more arguments for the small cases: `digits=1` rounds random tensors.
    """

    def arguments(rows: Rows) -> list[dict[str, Any]]:
        return [dict(zip(fields.split(), row, strict=True)) for row in rows]

    def examine_candidate(trial: Trial) -> Iterator[Finding]:
        subject, build, cases = Subject(trial, roles), builders[0], arguments(sizes)
        if len(builders) > 1:
            build = next((builder for builder in builders if _has_shape(subject, builder(**cases[0]))), build)
        small_cases = [build(**case, **evidence_options) for case in arguments(evidence)]
        yield from examine(subject, [build(**case) for case in cases], small_cases)

    return Kind(roles, examine_candidate)


def _has_shape(subject: Subject, case: Case) -> bool:
    result = answer(subject, case)
    return not isinstance(result, CallFailed) and result.shape == case.expected.shape


_SPLIT_SIZES: dict[str, Any] = {
    "fields": "batch num_tokens num_heads head_dim", "sizes": [(2, 5, 3, 7)],
    "evidence": [(1, 2, 2, 1), (1, 2, 2, 2), (2, 1, 2, 1), (2, 2, 2, 2)], "digits": 1,
}  # fmt: skip
# To add a kind, write its roles, and a function that makes its cases, in a module of `kinds/`, and name both
# here; each new name of a mistake needs a sentence in sentences.toml. Where cases are not enough, the module
# has a function that yields the findings.
KINDS: dict[str, Kind] = {
    "attention": Kind(attention.ROLES, attention.diagnose_attention, attention.OTHERS | {"mask"}),
    "multi_head": Kind(heads.LISTED, multi_head.diagnose_multi_head),
    "causal_mask": _by_cases(masks.CAUSAL, masks.causal, fields="num_tokens",
                             sizes=[(5,)], evidence=[(2,), (3,)]),
    "cached_mask": _by_cases(masks.CACHED, masks.cached, fields="num_cached num_new",
                             sizes=[(5, 3), (5, 1), (0, 4)], evidence=[(1, 2), (2, 2), (2, 3)]),
    "window_mask": _by_cases(masks.WINDOW, masks.window, fields="length window",
                             sizes=[(9, 4), (11, 3)], evidence=[(2, 1), (3, 2), (5, 3)]),
    "padding_mask": _by_cases(masks.PADDING, *masks.PADDING_FORMS, fields="lengths length",
                              sizes=[((4, 1, 5), 7)], evidence=[((1,), 3), ((2,), 4)]),
    "document_mask": _by_cases(masks.DOCUMENTS, *masks.DOCUMENT_FORMS, fields="document_ids",
                               sizes=[((0, 0, 0, 1, 1, 2, 2),)], evidence=[((0, 0, 1),), ((0, 0, 1, 1),)]),
    "transpose_qkv": _by_cases(functions.SPLIT, functions.split, **_SPLIT_SIZES),
    "transpose_output": _by_cases(functions.SPLIT, functions.join, **_SPLIT_SIZES),
    "repeat_kv": _by_cases(functions.REPEAT, functions.repeat,
                           fields="batch num_kv_heads num_tokens head_dim groups", sizes=[(2, 3, 5, 7, 2)],
                           evidence=[(1, 2, 1, 1, 2), (1, 2, 2, 1, 2), (1, 2, 2, 2, 2)], digits=1),
    "rotary": Kind(positions.ROTARY, positions.diagnose_rotary, also=positions.ROTARY_FORMS),
    "sinusoidal": Kind(positions.SINUSOIDAL, positions.diagnose_sinusoidal),
    "alibi": _by_cases(positions.ALIBI, positions.alibi, fields="num_heads",
                       sizes=[(12,), (8,)], evidence=[(2,), (3,), (6,)]),
    "rms_norm": Kind(norms.RMS, partial(norms.diagnose_norm, kind="rms_norm")),
    "layer_norm": Kind(norms.LAYER, partial(norms.diagnose_norm, kind="layer_norm"), frozenset({"eps"})),
    "latent_attention": _by_cases(functions.LATENT, functions.latent,
                                  fields="batch heads tokens nope rope value", sizes=[(2, 3, 5, 7, 4, 6)],
                                  evidence=[(1, 1, 2, 2, 1, 1), (1, 2, 2, 3, 2, 1)], digits=1),
    "softmax": Kind(functions.SOFTMAX, functions.diagnose_softmax),
    "decoder": Kind(MODEL, decoder.diagnose_decoder, optional=MODEL.keys() - {"token_ids"}),
    "layer": Kind(layers.ROLES, layers.diagnose_layer, frozenset({"memory", "mask"})),
    "encoder": Kind(MODEL, decoder.diagnose_encoder, optional=MODEL.keys() - {"token_ids"}),
}  # fmt: skip

# Findings that are no bugs. Notes: weaknesses that PyTorch's own functions share, and conventions.
NOTES: Set[str] = {
    "nan_leak", "weights_after_dropout", "mask_uniform", "mask_nan_gradient", "prints", "mask_hides",
    "mask_additive", "causal_inside", "residual_inside", "sequence_first", "positions_by_caller",
    "layer_unbiased", "waves_halves", "waves_to_the_end",
}  # fmt: skip
# In these kinds alone a finding of this name is a note.
NOTES_OF: dict[str, Set[str]] = {
    "mask_nan": KINDS.keys() - {"decoder"}, "rotary_layout": {"rotary"}, "rotary_sign": {"rotary"},
    "mutates": {"softmax"}, "rms_eps_outside": {"layer_norm"},
}  # fmt: skip
# What leaves the question open whether the candidate is right.
DOUBTS: Set[str] = {"not_compared", "not_called", "causal_unknown", "rms_eps_outside"}
# If a candidate may be of several kinds, choose the one with the lowest rank: 0 no bug; 1 a known bug;
# 2 right shape, wrong numbers; 3 wrong shape or dtype; 4 an error. If the best is above 2, ask for `kind`.
_RANKS = {
    "differs": 2, "shape": 3, "dtype": 3, "no_mask": 3, "no_tensor": 3, "raises": 4, "not_compared": 2,
    "not_called": 4,
}  # fmt: skip


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

    What the owner does not say is found out where it can be, and told in the notes.

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
        ValueError: `kind`, `mask` or `rope` is unknown; or `kind` is not given, and the signature has no
            arguments, cannot be read, or fits several kinds of which none explains the results.

    Example:
        >>> diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value).names
        ('unscaled',)
    """
    made = ""
    if kind is None and isinstance(candidate, type) and issubclass(candidate, nn.Module):
        candidate, made = _built(candidate, seconds, causal)
    kinds = [kind] if kind in KINDS else _possible_kinds(candidate, kind, causal)
    diagnoses = []
    meant = Meant(causal, mask, rope, residual)
    for name in kinds:
        trial = Trial(candidate, seconds, meant=meant)
        trial.made = made or trial.made
        diagnoses.append(_examine(trial, name, ignore, wording))
        if diagnoses[-1].healthy or "never_ends" in diagnoses[-1].names:
            return diagnoses[-1]
    best = min(diagnoses, key=_rank)
    if kind is None and len(kinds) > 1 and _rank(best) > _RANKS["differs"]:
        raise ValueError(f"kind must be given: the candidate may be one of {', '.join(kinds)}")
    return best


def assert_healthy(candidate: Any, kind: str | None = None, **options: Any) -> Diagnosis:
    """Diagnose a candidate, and raise an error that prints the diagnosis unless it is healthy.

    Args:
        candidate: see `diagnose`, and so for the others.
        kind: what it is meant to be.
        **options: `causal=True` and others.

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


def _examine(trial: Trial, kind: str, ignore: Collection[str], wording: Wording) -> Diagnosis:
    found: list[Finding] = []
    try:
        for finding in KINDS[kind].examine(trial):
            found.append(finding)
    except CallFailed as stop:
        found.append(stop.finding)
    notes = {*NOTES, *(name for name, kinds in NOTES_OF.items() if kind in kinds)}
    sorted_out: dict[str, list[Finding]] = {"bugs": [], "doubts": [], "notes": []}
    for finding in (*found, *trial.conduct.values()):
        place = "notes" if finding.name in notes else "doubts" if finding.name in DOUBTS else "bugs"
        if finding.name not in ignore:
            call = trial.recorded.get(finding.actual) if isinstance(finding.actual, Tensor) else None
            details = {"form": FORMS.get(kind)} if finding.name in ("differs", "not_compared") else {}
            finding = replace(finding, details={**finding.details, **details}, wording=wording)
            sorted_out[place].append(replace(finding, made=trial.made, call=call))
    return Diagnosis(
        kind, wording=wording, **{place: tuple(each) for place, each in sorted_out.items()},
        examined=(*dict.fromkeys(trial.examined),),
        skipped=(*(each for each in dict.fromkeys(trial.skipped) if each not in trial.examined),),
        tried=(*dict.fromkeys(trial.tried),), question=trial.question, candidate=trial.candidate,
        options=trial.meant.said() | ({"ignore": (*ignore,)} if ignore else {}),
    )  # fmt: skip


def _rank(diagnosis: Diagnosis) -> int:
    return max((_RANKS.get(each.name, 1) for each in (*diagnosis.bugs, *diagnosis.doubts)), default=0)


def _possible_kinds(candidate: Any, kind: str | None, causal: bool | None) -> list[str]:
    """Return the kinds that a candidate may be.

    They are those whose names its arguments have; else those with as many required ones; else every kind but
    models.
    """
    if kind not in (None, "mask"):
        raise ValueError(f"kind must be one of {', '.join(KINDS)} or mask, got {kind!r}")
    if kind is None and (module := _kinds_of_module(candidate, causal)):
        return module
    parameters = [p for p in signature(candidate) or [] if p.kind is not p.VAR_POSITIONAL]
    if kind is None and not parameters:
        kinds = ", ".join(KINDS)
        raise ValueError(f"kind must be given, one of {kinds}: the candidate's signature is unknown")
    names = [name for name in KINDS if kind is None or name.endswith("_mask")]
    names = [name for name in names if name not in ("encoder", "layer")]  # which are modules
    by_name = [name for name in names if _matches(candidate, KINDS[name])]
    by_position = [name for name in names if name != "decoder"]  # its argument has a name
    num_required = sum(p.default is p.empty for p in parameters)
    by_number = [name for name in by_position if len(KINDS[name].required) == num_required]
    return by_name or by_number or by_position


def _built(candidate: type[nn.Module], seconds: float, causal: bool | None) -> tuple[Any, str]:
    """A module of a class that is no attention, and the call that made it; else the class itself."""
    trial = Trial(candidate, seconds)
    try:
        module = build_module(trial)
    except CallFailed:
        return candidate, ""
    other = module is not None and _kinds_of_module(module, causal) not in (["multi_head"], ["attention"])
    return (module, trial.made) if other else (candidate, "")


def _kinds_of_module(candidate: Any, causal: bool | None) -> list[str] | None:
    if isinstance(candidate, type) and issubclass(candidate, nn.Module):
        return ["multi_head"]
    if not isinstance(candidate, nn.Module):
        return None
    if kinds := positions.kinds_of_module(candidate) or norms.kinds_of_norm(candidate):
        return kinds
    if any(isinstance(part, nn.Embedding) for part in candidate.modules()):
        return ["encoder" if decoder.sees_both_ways(candidate, causal) else "decoder"]
    if layers.is_layer(candidate):
        return ["layer"]
    return ["multi_head" if any(True for _ in candidate.parameters()) else "attention"]


def _matches(candidate: Any, kind: Kind) -> bool:
    """Whether each required parameter has a name of one of the roles, and each required role a parameter."""
    parameters = signature(candidate) or []
    names = {plain(p.name) for p in parameters if p.default is p.empty}
    return bool(names) and any(
        names <= frozenset().union(*roles.values()) and required <= Binding(candidate, roles).accepts
        for roles, required in ((kind.roles, kind.required), *((each, each.keys()) for each in kind.also))
    )
