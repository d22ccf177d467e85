"""Parity: what a decoder of the book's own parts would give if every part were as the book has it."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic import small_bugs
from attention_clinic.adapter import DecoderAdapter
from attention_clinic.laws import Deviation, gap
from attention_clinic.planted import CLASSES
from attention_clinic.small import SmallDecoder
from polyhead.masks import causal_mask
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.transformer import DecoderOnly

# Bugs that no law sees.
_SILENT = (
    "causal_strict", "rotary_layout", "kv_tiled", "unscaled", "model_root", "softcap_missing",
    "sinks_missing", "query_bias_missing",
)  # fmt: skip


def parity_names(decoder: DecoderAdapter, named: set[str], ids: Tensor) -> Iterator[tuple[str, Deviation]]:
    """The bugs that only other logits with the same weights betray; "differs" if they have no name."""
    twin = right_form(decoder.decoder)
    if twin is None:
        return
    decoder.calls.clear()
    actual = decoder(ids)
    right = _logits(twin, ids)
    if right is None:
        return
    found = gap(right, actual)
    found.calls = tuple(decoder.calls)
    if not found:
        return
    forms = _planted(twin, named) if isinstance(twin, SmallDecoder) else _changed(twin, named)
    names = next((names for names, form in forms if _agrees(form, ids, actual)), None)
    for name in ("differs",) if names is None and not named else names or ():
        yield name, found


def right_form(decoder: object) -> nn.Module | None:
    """A copy in which each part has the class that polyhead or PyTorch gave it, before it was changed."""
    if _original(type(decoder)) not in (DecoderOnly, SmallDecoder):
        return None
    try:
        twin: nn.Module = copy.deepcopy(decoder)  # type: ignore[assignment]
        for part in twin.modules():
            part.__class__ = _original(type(part))
            part.__dict__.pop("forward", None)
    except (TypeError, RuntimeError, copy.Error):
        return None
    return twin


def _original(kind: type) -> type:
    ours = [
        each
        for each in kind.__mro__
        if each.__module__.split(".")[0] in ("polyhead", "attention_clinic", "torch")
        and each.__module__ != small_bugs.__name__
    ]
    return ours[0] if ours else kind


def _logits(decoder: nn.Module, ids: Tensor) -> Tensor | None:
    try:
        with torch.no_grad():
            return decoder(ids)
    except Exception:  # parts that were changed need not have what the original ones have
        return None


def _agrees(form: nn.Module, ids: Tensor, actual: Tensor) -> bool:
    logits = _logits(form, ids)
    return logits is not None and not gap(logits, actual)


Forms = Iterator[tuple[tuple[str, ...], nn.Module]]


def _planted(twin: nn.Module, named: set[str]) -> Forms:
    """The twin with bugs that are planted together with those that are named already."""
    before = tuple(CLASSES[name] for name in CLASSES if name in named)
    for names in (each for size in range(3) for each in itertools.combinations(_SILENT, size)):
        classes = (*(CLASSES[name] for name in names), *before)
        twin.__class__ = type("Ill", classes, {}) if classes else SmallDecoder
        yield names, twin


def _changed(twin: nn.Module, named: set[str]) -> Forms:
    """The twin, and copies with a mistake in the book's attention."""
    yield (), twin
    for name in (each for each in _CHANGES if each not in named):
        changed = copy.deepcopy(twin)
        for part in changed.modules():
            if isinstance(part, MultiHeadAttention):
                _CHANGES[name](part)
        yield (name,), changed


class _Strict(MultiHeadAttention):
    """No token sees itself."""

    def forward(self, query: Tensor, *args: Any, **options: Any) -> Any:
        strict = causal_mask(query.shape[1]).tril(-1)
        mask = options.get("mask")
        options["mask"] = strict if mask is None else mask & strict
        return super().forward(query, *args, **options)


def _strict(attention: MultiHeadAttention) -> None:
    attention.__class__ = _Strict


def _scaled(factor: Callable[[MultiHeadAttention], float]) -> Callable[[MultiHeadAttention], None]:
    """Scores times a factor: as many times larger queries."""

    def change(attention: MultiHeadAttention) -> None:
        queries = attention.num_heads * attention.head_dim
        for parameter in attention.input_projection.parameters():
            parameter.data[:queries] *= factor(attention)

    return change


_CHANGES: dict[str, Callable[[MultiHeadAttention], None]] = {
    "causal_strict": _strict,
    "unscaled": _scaled(lambda a: math.sqrt(a.head_dim)),
    "no_root": _scaled(lambda a: 1 / math.sqrt(a.head_dim)),
    "scale_multiplied": _scaled(lambda a: float(a.head_dim)),
    "model_root": _scaled(lambda a: math.sqrt(a.head_dim / a.embed_dim)),
}
