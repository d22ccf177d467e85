"""Decoders and encoders, token ids to logits: which laws they break, and which bug breaks them so."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_clinic import laws
from attention_clinic.adapter import DecoderAdapter, NoLogits, awakened, is_meant_causal
from attention_clinic.arguments import WithoutDropout
from attention_clinic.diagnosis import FINDINGS, Finding
from attention_clinic.laws import Deviation, gap, last, moved, other_tokens, padded, sample
from attention_clinic.planted import parity_names
from attention_clinic.trial import CallFailed, Trial
from polyhead.modes import evaluation_mode

_SMALL = ((1, 2), (1, 3), (1, 4), (1, 6), (2, 4))  # (batch, length) of what is shown, the first that shows it
SHOWN = 5  # logits


class Exam:
    """One decoder; `named` are the bugs found so far, `batch` is the number of sequences for laws."""

    def __init__(self, trial: Trial, decoder: Any) -> None:
        """Take the trial of a candidate, and the decoder: it, what it makes, or a copy."""
        self.trial, self.named, self.batch = trial, set[str](), 3
        self.decoder = DecoderAdapter(decoder, trial.call)

    def broken(self, law: str, batch: int = 3, length: int = 11) -> Deviation | None:
        """How far a law is broken; None if it holds or does not apply."""
        found = laws.ALL[law](self.decoder, batch, length)
        (self.trial.skipped if found is None else self.trial.examined).append(FINDINGS["law"].get(law, law))
        return found or None

    def shown(self, name: str, law: str) -> Finding:
        """The finding, with the smallest input that shows it."""
        for batch, length in () if self.trial.late else _SMALL:
            with contextlib.suppress(CallFailed, RuntimeError, TypeError, ValueError, IndexError):
                if found := self.broken(law, batch, length):
                    return finding_of(name, law, found)
        return finding_of(name, law, self.broken(law) or Deviation(1.0))

    def ids(self, length: int, batch: int = 1) -> Tensor:
        """Token ids, always the same."""
        return sample(self.decoder, batch, length)

    def logits(self, ids: Tensor, cached: int = 0, **options: Any) -> Tensor:
        """The logits of the tokens after the first `cached`, which come from a cache."""
        if not cached:
            return self.decoder(ids, **options)
        cache = self.decoder.new_cache()
        self.decoder(ids[:, :cached], cache=cache)
        return self.decoder(ids[:, cached:], cache=cache)

    def moves(self, start: int, stop: int | None, length: int = 11, **options: Any) -> list[bool]:
        """Whether each output changes with the tokens from `start` to `stop`."""
        ids = self.ids(length)
        plain, other = (self.logits(each, **options)[0] for each in (ids, other_tokens(ids, start, stop)))
        return moved(plain, other)

    def leaks(self, in_training: bool = False) -> bool | None:
        """Whether outputs change with later tokens, without dropout; None if no copy can be in training."""
        decoder = laws.in_training(self.decoder) if in_training else self.decoder
        with WithoutDropout():
            return None if decoder is None else bool(laws.causality.function(decoder, self.ids(11)))


def finding_of(name: str, law: str, found: Deviation) -> Finding:
    """A finding with the last call and the first logits of the token where they differ most."""
    details = {"law": law, "difference": f"{float(found):.2g}"}
    calls = found.calls or ({},)
    given = {"law": law, **{name: value for name, value in calls[-1].items() if name != "cache"}}
    if law in ("causality", "past"):
        given |= {"token_ids": calls[0].get("token_ids"), "other_token_ids": calls[-1].get("token_ids")}
    expected, actual = found.expected, found.actual
    if expected is not None and actual is not None:
        distance = torch.nan_to_num(expected - actual, nan=torch.inf).abs().flatten(0, -2).amax(dim=-1)
        expected, actual = (x.flatten(0, -2)[distance.argmax(), :SHOWN] for x in (expected, actual))
    return Finding(name, given, expected, actual, details)


_FUTURE = {"causal_open", "causal_train_only", "sees_ahead", "causal_inverted"}
# Of laws, what explains that they are broken, where it has been found before.
_KNOWN = {"past": {"causal_inverted"}, "reach": _FUTURE, "train": {"causal_train_only"}, "windows": _FUTURE}


def diagnose_decoder(trial: Trial) -> Iterator[Finding]:
    """The bug behind each law that is broken; the law itself, where that is not known."""
    yield from diagnose_encoder(trial) if trial.meant.causal is False else _examine(trial, _REASONS)


def diagnose_encoder(trial: Trial) -> Iterator[Finding]:
    """The same for a model in which every token may see all."""
    yield from _examine(trial, _OF_ENCODERS)
    if trial.meant.causal is None and is_meant_causal(trial.candidate) is None:
        trial.question = "causal=True"
        yield Finding("causal_unknown")


def sees_both_ways(model: Any, causal: bool | None) -> bool:
    """Whether a model is an encoder: each token depends on all, and nobody means it to be causal."""
    if causal is not None:
        return not causal
    if is_meant_causal(model):
        return False
    exam = Exam(Trial(model), awakened(model))
    with evaluation_mode(exam.decoder.module), torch.no_grad(), contextlib.suppress(CallFailed):
        return exam.moves(-1, None)[0] and exam.moves(0, 1)[-1]
    return False


Reasons = dict[str, Callable[[Exam], list[str]]]


def _examine(trial: Trial, reasons: Reasons) -> Iterator[Finding]:
    decoder = trial.candidate
    if inspect.isclass(decoder):
        decoder, trial.made = trial.call(decoder), "candidate()"
    awake = awakened(decoder)
    if awake is not decoder:
        trial.made = f"awakened({trial.made})"
    exam = Exam(trial, awake)
    with evaluation_mode(exam.decoder.module), torch.no_grad(), contextlib.ExitStack() as stack:
        if limit := _only_short(exam):
            yield limit
            return
        if exam.broken("twice"):
            with WithoutDropout():
                name = "not_deterministic" if exam.broken("twice") else "dropout_in_eval"
            yield exam.shown(name, "twice")
            if name == "not_deterministic":
                return
            stack.enter_context(WithoutDropout())
        yield from _lawful(exam, reasons)


def _only_short(exam: Exam) -> Finding | None:
    """A doubt if it runs on fewer tokens than the laws have, as with a short table of positions."""
    try:
        exam.decoder(exam.ids(11))
    except CallFailed as stop:
        if stop.finding.name == "raises" and not isinstance(stop, NoLogits):
            with contextlib.suppress(CallFailed):
                exam.decoder(exam.ids(4))
                return replace(stop.finding, name="not_called")
    return None


def _lawful(exam: Exam, reasons: Reasons) -> Iterator[Finding]:
    """Test every law but `twice`; with one sequence where those of a batch depend on one another."""
    exam.batch = 1 if exam.broken("batch") else 3
    ids = exam.ids(4)
    if (logits := exam.decoder(ids)).isnan().any():
        yield Finding("mask_nan", {"token_ids": ids}, None, logits[0, :, :SHOWN])
        return
    if exam.decoder.takes("mask") and exam.decoder.mask_form.meaning == "hides":
        yield Finding("mask_inverted" if exam.trial.meant.mask == "keeps" else "mask_hides")
    for law, reason in reasons.items():
        try:
            is_news = exam.named.isdisjoint(_KNOWN.get(law, ()))
            if exam.broken(law, 3 if law == "batch" else exam.batch) and is_news:
                yield from _new(exam, law, reason(exam))
        except CallFailed as stop:
            if isinstance(stop, NoLogits) or stop.finding.name == "never_ends":
                raise
            yield from _new(exam, law, [stop.finding])
    if reasons is _OF_ENCODERS:
        return
    if not exam.named & {"causal_inverted", "raises"} and not exam.moves(-1, None, length=2)[-1]:
        yield from _new(exam, "past", ["causal_strict"])
    for name, deviation in parity_names(exam.decoder, exam.named, exam.ids(11, 3)):
        yield finding_of(name, "parity", deviation)


def _new(exam: Exam, law: str, found: Sequence[str | Finding]) -> Iterator[Finding]:
    """What has not been named yet."""
    for bug in found:
        name = bug if isinstance(bug, str) else bug.name
        if name not in exam.named:
            exam.named.add(name)
            yield exam.shown(bug, law) if isinstance(bug, str) else bug


def _causality(exam: Exam) -> list[str]:
    if exam.leaks(in_training=True) is False:
        return ["causal_train_only"]
    try:
        ids = exam.ids(32, exam.batch)
        plain = exam.decoder(ids)
    except CallFailed:  # a table of positions that ends before
        ids = exam.ids(11, exam.batch)
        plain = exam.decoder(ids)
    half = ids.shape[1] // 2
    spans = ((0, half), (half + 1, None))
    past, future = ((exam.decoder(other_tokens(ids, *span)) - plain)[:, half].norm() for span in spans)
    if past < future / 5:  # not 0, for the reason that `_left_pad` gives
        return ["causal_inverted"]
    return ["sees_ahead"] if not exam.moves(-1, None, ids.shape[1])[0] else ["causal_open"]


def _left_pad(exam: Exam) -> list[str]:
    ids = exam.ids(6)
    longer, mask = torch.cat((ids[:, :2], ids), dim=1), torch.arange(8)[None] >= 2

    def padded_logits(ids: Tensor) -> Tensor:
        return exam.decoder(ids, mask=mask)[:, 2:]

    output, found = padded_logits(longer), list[str]()
    if not gap(exam.decoder(ids), output):
        return [] if exam.batch == 1 else ["differs"]
    if exam.decoder.names.get("positions") == "position_ids":  # Hugging Face's leave them to the caller
        places = (mask.long().cumsum(dim=-1) - 1).clamp(min=0)
        if not padded(exam.decoder, longer, mask, positions=places):
            return ["positions_by_caller"]
    if output.isnan().any():
        return ["mask_nan"]
    if exam.named & {"causal_inverted"}:  # a row that sees nothing may have become an average of all
        return []
    if gap(output, padded_logits(other_tokens(longer, 0, 2))):
        hears = gap(output[:, -1], padded_logits(other_tokens(longer, 2, -1))[:, -1])
        blind = exam.moves(2, None, 8, mask=mask)[1] or not exam.moves(0, 1, 8, mask=mask)[1]
        if hears and blind and not exam.named & _FUTURE:
            return ["padding_hides_queries"]
        found.append("padding_ignored" if hears else "mask_inverted")
    with_mask, without = (exam.moves(-1, None, 8, **options)[2:] for options in ({"mask": mask}, {}))
    if sum(with_mask) > sum(without):
        found.append("padding_replaces_causal")
    if found:
        return found
    if gap(exam.decoder(ids[:, :1]), exam.decoder(longer[:, 1:3], mask=mask[:, 1:3])[:, 1:]):
        return ["positions_ignore_padding"]
    if exam.decoder.takes("positions"):
        return [] if exam.broken("shift", 1) else ["differs"]
    # A token alone is the same wherever it is: positions act within attention, and yet not by distance.
    return ["differs"] if exam.named & _FUTURE else ["rotary_queries_only"]


def _cached(exam: Exam) -> list[str]:
    """Name the bug by which cached and which new tokens the new ones depend on."""
    seen = exam.named & _FUTURE
    cached, length = 6, 11

    def first_new_moves(start: int, stop: int | None, length: int = length) -> bool:
        return exam.moves(start, stop, length, cached=cached)[0]

    for size in [cached + 1] if exam.decoder.last_alone else [cached + 1, length]:
        if "causal_inverted" in seen or first_new_moves(cached - 1, cached, size):
            continue
        if first_new_moves(0, 1, size):
            return ["cache_upper_left"]
        if size == cached + 1:
            return ["cache_hidden"]
    if seen:
        return []
    if not exam.decoder.last_alone:
        with_last = exam.moves(length - 1, None, length, cached=cached)
        if with_last[0]:
            return ["cache_open"]
        if with_last[-2]:
            return ["cache_ahead"]
        tokens = ((place, place + 1) for place in range(cached))
        if any(first_new_moves(*token, cached + 1) and not first_new_moves(*token) for token in tokens):
            return ["cache_trimmed"]
    pair = exam.ids(2)
    if not gap(exam.logits(pair)[:, 1:], exam.logits(pair, cached=1)):
        return ["cache_trimmed"]  # right as long as there is little to keep
    return ["cache_positions" if _counts_anew(exam) else "differs"]


def _counts_anew(exam: Exam) -> bool:
    """Whether new tokens begin at position 0 again, so that the right positions repair it."""
    ids = exam.ids(6)
    if exam.decoder.takes("positions"):
        cache, positions = exam.decoder.new_cache(), torch.arange(6)[None]
        exam.decoder(ids[:, :2], cache=cache, positions=positions[:, :2])
        mended = exam.decoder(ids[:, 2:], cache=cache, positions=positions[:, 2:])
        return not gap(exam.decoder(ids)[:, 2:], mended)
    # Equal tokens give the same at position 0, and everywhere if positions act within attention.
    token, cache = ids[:, :1], exam.decoder.new_cache()
    steps = [exam.decoder(token, cache=cache) for _ in range(3)]
    return not gap(exam.decoder(token).expand(1, 3, -1), torch.cat(steps, dim=1))


def _shift(exam: Exam) -> list[str]:
    ids = exam.ids(6)
    here = torch.arange(6)[None]
    near = gap(exam.decoder(ids, positions=here), exam.decoder(ids, positions=here + 3), least=1e-3)
    return ["rotary_queries_only" if near else "positions_low_precision"]


def _docs(exam: Exam) -> list[str]:
    documents = (torch.arange(11) >= 5).long()[None]
    if any(exam.moves(0, 5, documents=documents)[5:]):
        return ["documents_leak"]
    return [] if exam.named & _FUTURE else ["differs"]


def _reach(exam: Exam) -> list[str]:
    decoder: Any = exam.decoder.decoder
    num_layers, window = decoder.num_layers, decoder.window
    ids = exam.ids(num_layers * (window + 1) + 1)
    reached = last(moved(*(exam.logits(each)[0] for each in (ids, other_tokens(ids, 0, 1)))))
    names = {window: "window_one_more", window - 2: "window_one_less"}
    return [names.get(reached / num_layers, "differs")]


def _right_pad(exam: Exam) -> list[str]:
    ids = exam.ids(8)
    mask = torch.arange(8)[None] < 6
    output, other = (exam.decoder(each, mask=mask)[:, :6] for each in (ids, other_tokens(ids, 6)))
    if output.isnan().any():
        return ["mask_nan"]
    if not gap(output, other):
        return ["differs"]
    if not gap(output[:, 0], exam.decoder(other_tokens(ids, 1, 6), mask=mask)[:, 0]):
        return ["mask_inverted"]
    acts = gap(exam.decoder(ids)[:, 6:], exam.decoder(ids, mask=mask)[:, 6:])
    return ["padding_hides_queries" if acts else "padding_ignored"]


def _windows(exam: Exam) -> list[str]:
    layers = laws.windows_of_layers(exam.decoder) or []
    gaps = {actual - declared for actual, declared in layers if actual is not None and declared is not None}
    if len(gaps) == 1 and all((actual is None) == (declared is None) for actual, declared in layers):
        return [{1: "window_one_more", -1: "window_one_less"}.get(gaps.pop(), "differs")]
    return ["window_wrong_layers" if any(actual for actual, _ in layers) else "window_ignored"]


_REASONS: Reasons = {
    "causality": _causality,
    "past": lambda _: ["differs"],
    "left_pad": _left_pad,
    "step": _cached,
    "chunk": _cached,
    "shift": _shift,
    "look": lambda _: ["weights_change_output"],
    "docs": _docs,
    "reach": _reach,
    "batch": lambda _: ["batch_mixed"],
    "train": lambda e: ["causal_eval_only" if e.leaks(in_training=True) and not e.leaks() else "differs"],
    "windows": _windows,
}
_OF_ENCODERS: Reasons = {
    "hears": lambda _: ["differs"],
    "right_pad": _right_pad,
    "look": _REASONS["look"],
    "batch": _REASONS["batch"],
    "train": lambda _: ["differs"],
}
