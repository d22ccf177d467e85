"""One decoder under examination: how it is called, and the evidence for a finding."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.adapter import DecoderAdapter
from attention_clinic.diagnosis import Finding
from attention_clinic.laws import LAWS, Deviation, gap, other, sample, undropped
from attention_clinic.trial import Stopped, Trial

_SMALL = ((1, 2), (1, 3), (1, 4), (1, 6), (2, 4))  # (batch, length) of what is shown, the first that shows it
SHOWN = 5  # logits


class Exam:
    """One decoder; `named` are the bugs found so far, `batch` is the number of sequences for laws."""

    def __init__(self, trial: Trial, decoder: Any) -> None:
        """Call the decoder once, for the size of the vocabulary."""
        self.trial, self.named, self.batch = trial, set[str](), 3
        self.plain: dict[object, Tensor] = {}
        self.decoder = DecoderAdapter(decoder, trial.call)
        self.vocab_size = self.decoder(torch.zeros(1, 1, dtype=torch.long)).shape[-1]

    def broken(self, law: str, batch: int = 3, length: int = 11) -> Deviation | None:
        """How far a law is broken; None if it holds or does not apply."""
        return LAWS[law](self.decoder, batch, length, self.vocab_size) or None

    def shown(self, name: str, law: str) -> Finding:
        """The finding, with the smallest input that shows it."""
        for batch, length in () if self.trial.late else _SMALL:
            with contextlib.suppress(Stopped, RuntimeError, TypeError, ValueError, IndexError):
                if found := self.broken(law, batch, length):
                    return finding_of(name, law, found)
        return finding_of(name, law, self.broken(law) or Deviation(1.0))

    def ids(self, length: int, batch: int = 1) -> Tensor:
        """Token ids, always the same."""
        return sample(self.decoder, batch, length, self.vocab_size)

    def logits(self, ids: Tensor, cached: int = 0, **options: Any) -> Tensor:
        """The logits of the tokens after the first `cached`, which come from a cache."""
        if not cached:
            return self.decoder(ids, **options)
        cache = self.decoder.new_cache()
        self.decoder(ids[:, :cached], cache=cache)
        return self.decoder(ids[:, cached:], cache=cache)

    def moves(self, start: int, stop: int | None, length: int = 11, **options: Any) -> list[bool]:
        """Whether each output changes with the tokens from `start` to `stop`."""
        ids, key = self.ids(length), (length, *options.items())
        if key not in self.plain:
            self.plain[key] = self.logits(ids, **options)[0]
        changed = self.logits(other(ids, start, stop), **options)[0]
        return [bool(gap(*pair)) for pair in zip(self.plain[key], changed, strict=True)]

    def learning(self) -> DecoderAdapter | None:
        """A copy in training, without dropout."""
        if not isinstance(self.decoder.decoder, nn.Module):
            return None
        try:
            return DecoderAdapter(undropped(self.decoder.decoder).train(), self.trial.call)
        except (TypeError, RuntimeError, copy.Error):
            return None


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
        expected, actual = (each.flatten(0, -2)[distance.argmax(), :SHOWN] for each in (expected, actual))
    return Finding(name, given, expected, actual, details)
