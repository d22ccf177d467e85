"""The exercises of the bug clinic: a reader's probe on decoders with planted bugs, and patients."""

from collections.abc import Callable

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


class NoAnswer(Exception):
    """A probe returns no truth value; the message is for the reader."""


def probe(candidate: Callable[[SmallDecoder], object], family: str) -> None:
    """Print which bugs of a family `candidate(decoder)` finds, which is True where a decoder is ill.

    It gets decoders in evaluation, called as `planted_decoder()`: some with one planted bug each, and right
    ones, with sinks, with a softcap, with learned positions, in float32. The family is "causality", "padding"
    or "cache".

    Raises:
        ValueError: there is no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    bugs = FAMILIES[family]
    try:
        missed = [bug for bug in bugs if not _answer(candidate, planted_decoder(bug))]
        accused = [name for name, make in _RIGHT.items() if _answer(candidate, make())]
    except NoAnswer as error:
        print(error)
        return
    print(text("probe.caught", number=len(bugs) - len(missed), total=len(bugs)))
    for bug in bugs:
        print(f"  {'✗' if bug in missed else '✓'} {text(f'bug.{bug}')}")
    print(text("probe.spared", number=len(_RIGHT) - len(accused), total=len(_RIGHT)))
    if len(accused) == len(_RIGHT):
        print(text("probe.chance" if _is_by_chance(candidate) else "probe.always"))
    elif accused:
        print(text("probe.exact" if accused == ["float32"] else "probe.accuses"))
    elif len(missed) == len(bugs):
        print(text("probe.never"))
    elif missed:
        print(text("probe.missed", bug=text(f"bug.{missed[0]}"), hint=text(f"probe.hint.{missed[0]}")))
    else:
        print(text("probe.perfect") + code_line("probe"))


def _is_by_chance(candidate: Callable[[SmallDecoder], object]) -> bool:
    """Whether a probe calls a right decoder well without dropout: it then measured dropout alone."""
    decoder = planted_decoder("none")
    decoder.dropout = 0.0
    try:
        return not _answer(candidate, decoder)
    except NoAnswer:
        return False


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
