"""Parity: what a decoder of the book's own parts would give if every part were as the book has it."""

import contextlib
import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic import small_bugs
from attention_clinic.adapter import DecoderAdapter
from attention_clinic.diagnosis import FINDINGS
from attention_clinic.laws import Deviation, gap
from attention_clinic.planted import CLASSES
from attention_clinic.seeded import copied
from attention_clinic.small import SmallDecoder
from polyhead.masks import causal_mask
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.transformer import DecoderOnly


def parity_names(decoder: DecoderAdapter, named: set[str], ids: Tensor) -> Iterator[tuple[str, Deviation]]:
    """The bugs that only other logits with the same weights betray; "differs" if they have no name."""
    twin = right_form(decoder.decoder)
    if twin is None:
        return
    decoder.calls.clear()
    actual = decoder(ids)
    found = _gap(twin, ids, actual)
    if not found:
        return
    found.calls = tuple(decoder.calls)
    forms = _planted(twin, named) if isinstance(twin, SmallDecoder) else _changed(twin, named)
    names = next((names for names, form in forms if _gap(form, ids, actual) == 0.0), None)
    for name in ("differs",) if names is None and not named else names or ():
        yield name, found


def right_form(own: Any) -> nn.Module | None:
    """A copy in which each part has the class that polyhead or PyTorch gave it, before it was changed."""
    if _original(type(own)) not in (DecoderOnly, SmallDecoder, MultiHeadAttention):
        return None
    twin = copied(own)
    for part in [] if twin is None else twin.modules():
        part.__class__ = _original(type(part))
        part.__dict__.pop("forward", None)
    return twin


def _original(kind: type) -> type:
    packages = ("polyhead", "attention_clinic", "torch")
    ours = (each for each in kind.__mro__ if each.__module__.split(".")[0] in packages)
    return next((each for each in ours if each.__module__ != small_bugs.__name__), kind)


def _gap(form: nn.Module, ids: Tensor, actual: Tensor) -> Deviation | None:
    """How far a form is from the logits; None if it does not run, since it lacks what a changed part had."""
    with torch.no_grad(), contextlib.suppress(Exception):
        return gap(form(ids), actual)
    return None


Forms = Iterator[tuple[tuple[str, ...], nn.Module]]


def _planted(twin: nn.Module, named: set[str]) -> Forms:
    """The twin with bugs that are planted together with those that are named already."""
    before = tuple(CLASSES[name] for name in CLASSES if name in named)
    for names in (each for size in range(3) for each in itertools.combinations(FINDINGS["silent"], size)):
        classes = (*(CLASSES[name] for name in names), *before)
        twin.__class__ = type("Ill", classes, {}) if classes else SmallDecoder
        yield names, twin


def _changed(twin: nn.Module, named: set[str]) -> Forms:
    """The twin, and copies with a mistake in the book's attention."""
    yield (), twin
    for name in (each for each in _FACTORS if each not in named):
        changed = copy.deepcopy(twin)
        for part in (each for each in changed.modules() if isinstance(each, MultiHeadAttention)):
            for parameter in part.input_projection.parameters():
                parameter.data[: part.num_heads * part.head_dim] *= _FACTORS[name](part)
            if name == "causal_strict":
                part.register_forward_pre_hook(_strict, with_kwargs=True)
        yield (name,), changed


def _strict(_: nn.Module, args: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Hide each token from itself."""
    strict = causal_mask(args[0].shape[1]).tril(-1)
    mask = options.get("mask")
    return args, {**options, "mask": strict if mask is None else mask & strict}


# What multiplies queries, and so scores.
_FACTORS: dict[str, Callable[[MultiHeadAttention], float]] = {
    "causal_strict": lambda _: 1.0,
    "unscaled": lambda a: a.head_dim**0.5,
    "no_root": lambda a: a.head_dim**-0.5,
    "scale_multiplied": lambda a: float(a.head_dim),
    "model_root": lambda a: (a.head_dim / a.embed_dim) ** 0.5,
}
