"""The exercises of the bug clinic: a reader's probe on decoders with planted bugs, and patients."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from attention_clinic.laws import LAWS
from attention_clinic.planted import BUGS, matrix_row, planted_decoder, right_twin
from attention_clinic.small import SmallDecoder
from attention_clinic.trial import SECONDS, TimeIsUp, call_with_timeout
from polyhead_course.exercises.checks.verdict import code_line, scalar
from polyhead_course.exercises.patients import bug_of
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
}  # fmt: skip
_RIGHT: dict[str, Callable[[], SmallDecoder]] = {
    "window": lambda: planted_decoder("none"),
    "learned": lambda: right_twin("positions_ignore_padding"),
    "sinks": lambda: right_twin("sinks_missing"),
    "softcap": lambda: right_twin("softcap_missing"),
    "float32": lambda: planted_decoder("none").float(),
}


@dataclass(frozen=True)
class Outcome:
    """What a probe says of each decoder: True where it calls one ill; of the right ones perhaps by chance."""

    ill: dict[str, bool]
    right: dict[str, bool]
    by_chance: bool = False

    @property
    def is_perfect(self) -> bool:
        """Whether every bug is caught, and every right decoder spared."""
        return all(self.ill.values()) and not any(self.right.values())

    def __str__(self) -> str:
        """How many bugs are caught, which ones, how many right decoders are spared, and what to do next."""
        missed = [bug for bug, caught in self.ill.items() if not caught]
        accused = [name for name, called_ill in self.right.items() if called_ill]
        caught, spared = len(self.ill) - len(missed), len(self.right) - len(accused)
        return "\n".join([
            text("probe.caught", number=caught, total=len(self.ill)),
            *(f"  {'✗' if bug in missed else '✓'} {text(f'bug.{bug}')}" for bug in self.ill),
            text("probe.spared", number=spared, total=len(self.right)),
            self._advice(missed, accused),
        ])  # fmt: skip

    def _advice(self, missed: list[str], accused: list[str]) -> str:
        if len(accused) == len(self.right):
            return text("probe.chance" if self.by_chance else "probe.always")
        if accused:
            return text("probe.exact" if accused == ["float32"] else "probe.accuses")
        if len(missed) == len(self.ill):
            return text("probe.never")
        if not missed:
            return text("probe.perfect")
        return text("probe.missed", bug=text(f"bug.{missed[0]}"), hint=text(f"probe.hint.{missed[0]}"))


class NoAnswer(Exception):
    """A probe returns no truth value; the message is for the reader."""


def probe(candidate: Callable[[SmallDecoder], object], family: str) -> None:
    """Print which bugs of a family `candidate(decoder)` finds, which is True where a decoder is ill.

    It gets decoders in evaluation, called as `planted_decoder()`: some with one planted bug each, and right
    ones, with sinks, with a softcap, with learned positions, in float32. The family is "causality", "padding"
    or "cache".
    """
    try:
        found = outcome(candidate, family)
        print(f"{found}{code_line('probe') if found.is_perfect else ''}")
    except NoAnswer as error:
        print(error)


def outcome(candidate: Callable[[SmallDecoder], object], family: str) -> Outcome:
    """What a probe says of the decoders of a family.

    Raises:
        NoAnswer: the probe returns no truth value.
        ValueError: there is no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    ill = {bug: _answer(candidate, planted_decoder(bug)) for bug in FAMILIES[family]}
    right = {name: _answer(candidate, make()) for name, make in _RIGHT.items()}
    if not all(right.values()):
        return Outcome(ill, right)
    decoder = planted_decoder("none")
    decoder.dropout = 0.0  # a probe that calls this one well has measured its own training mode's dropout
    try:
        return Outcome(ill, right, by_chance=not _answer(candidate, decoder))
    except NoAnswer:
        return Outcome(ill, right)


def _answer(candidate: Callable[[SmallDecoder], object], decoder: SmallDecoder) -> bool:
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            answer = scalar(call_with_timeout(SECONDS, lambda: candidate(decoder)))
    except TimeIsUp:
        raise NoAnswer(text("check.never_ends", seconds=SECONDS)) from None
    except Exception as error:
        raise NoAnswer(text("check.raises", error=f"{type(error).__name__}: {error}")) from error
    if not isinstance(answer, bool):
        raise NoAnswer(text("check.no_bool", kind=type(answer).__name__))
    return answer


def patient(number: int, name: str) -> None:
    """Print whether `name`, one of `planted.BUGS` or "none", is what the patient of this number has.

    If not, a law that tells the two apart is named.
    """
    sought = bug_of(number)
    if name not in ("none", *BUGS):
        raise ValueError(f"name must be 'none' or one of {', '.join(BUGS)}, got {name!r}")
    bug = text(f"bug.{name}")
    if name == sought:
        print(text("patient.right", bug=bug) + code_line("patient"))
        return
    would, does = matrix_row(name), matrix_row(sought)
    for law in LAWS:
        if bool(would[law]) != bool(does[law]):
            kind = "patient.would_break" if would[law] else "patient.would_hold"
            print(text(kind, bug=bug, law=law))
            return
    print(text("patient.no_law", bug=bug, name=name))
