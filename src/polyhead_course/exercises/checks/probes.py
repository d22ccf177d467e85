"""The exercises of the bug clinic: a reader's probe on decoders with planted bugs, and opaque patients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from attention_clinic.laws import LAWS
from attention_clinic.planted import BUGS, matrix_row, planted, right_twin
from attention_clinic.small import SmallDecoder
from attention_clinic.trial import SECONDS, TimeIsUp, call_with_timeout
from polyhead_course.exercises.patients import answer
from polyhead_course.words.language import text

FAMILIES: dict[str, tuple[str, ...]] = {
    "causality": (
        "causal_inverted", "sees_ahead", "causal_train_only", "causal_eval_only", "padding_replaces_causal",
        "weights_change_output",
    ),
    "padding": (
        "padding_ignored", "positions_ignore_padding", "padding_replaces_causal", "mask_nan", "batch_mixed",
    ),
    "cache": ("cache_upper_left", "cache_positions", "cache_open", "cache_trimmed"),
    "positions": ("rotary_queries_only", "positions_low_precision"),
}  # fmt: skip
_RIGHT: dict[str, Callable[[], SmallDecoder]] = {
    "window": lambda: planted("none"),
    "learned": lambda: right_twin("positions_ignore_padding"),
    "sinks": lambda: right_twin("sinks_missing"),
    "softcap": lambda: right_twin("softcap_missing"),
    "float32": lambda: planted("none").float(),
}


def probe(candidate: Callable[[SmallDecoder], object], family: str) -> None:
    """Print which bugs of a family `candidate(decoder)` finds, which is True where a decoder is ill.

    It gets decoders in evaluation, called as `planted("none")`: some with one planted bug each, and right
    ones, with sinks, with a softcap, with learned positions (but for "positions"), in float32. The family is
    "causality", "padding", "cache" or "positions".
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    bugs = FAMILIES[family]
    right = {name: make for name, make in _RIGHT.items() if (family, name) != ("positions", "learned")}
    ill: dict[str, Callable[[], SmallDecoder]] = {bug: partial(planted, bug) for bug in bugs}
    answers: dict[str, bool] = {}
    for name, make in (ill | right).items():
        said = _said(candidate, make())
        if not isinstance(said, bool):
            print(_refusal(said))
            return
        answers[name] = said
    print(text("probe.caught", number=sum(answers[bug] for bug in bugs), total=len(bugs)))
    for bug in bugs:
        print(f"  {'✓' if answers[bug] else '✗'} {text(f'bug.{bug}')}")
    accused = [name for name in right if answers[name]]
    print(text("probe.spared", number=len(right) - len(accused), total=len(right)))
    if len(accused) == len(right):
        calm = planted("none")
        calm.dropout = 0.0
        print(text("probe.chance" if _said(candidate, calm) is False else "probe.always"))
    elif not any(answers.values()):
        print(text("probe.never"))
    elif accused:
        print(text("probe.exact" if accused == ["float32"] else "probe.accuses"))
    elif missed := [bug for bug in bugs if not answers[bug]]:
        hint = text(f"probe.hint.{missed[0]}")
        print(text("probe.missed", bug=text(f"bug.{missed[0]}"), hint=hint))
    else:
        print(text("probe.perfect"))


def _said(candidate: Callable[[SmallDecoder], object], decoder: SmallDecoder) -> object:
    """The answer, or what came instead of one."""
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            said = call_with_timeout(SECONDS, lambda: candidate(decoder))
    except (TimeIsUp, Exception) as error:
        return error
    if isinstance(said, np.generic) or (isinstance(said, Tensor) and said.numel() == 1):
        return said.item()
    return said


def _refusal(said: object) -> str:
    if isinstance(said, TimeIsUp):
        return text("check.never_ends", seconds=SECONDS)
    if isinstance(said, Exception):
        return text("check.raises", error=f"{type(said).__name__}: {said}")
    return text("check.no_bool", kind=type(said).__name__)


def patient(number: int, name: str) -> None:
    """Print whether `name`, one of `planted.BUGS` or "none", is what the patient of this number has.

    If not, a law that tells the two apart is named.
    """
    sought = answer(number)
    if name not in ("none", *BUGS):
        raise ValueError(f"name must be 'none' or one of {', '.join(BUGS)}, got {name!r}")
    bug = text(f"bug.{name}")
    if name == sought:
        print(text("patient.right", bug=bug))
        return
    would, does = matrix_row(name), matrix_row(sought)
    for law in LAWS:
        if bool(would[law]) != bool(does[law]):
            kind = "patient.would_break" if would[law] else "patient.would_hold"
            print(text(kind, bug=bug, law=law))
            return
    print(text("patient.no_law", bug=bug, name=name))
