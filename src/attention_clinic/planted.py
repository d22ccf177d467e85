"""Small decoders with one bug planted in each, and which law or comparison sees which of them."""

import contextlib
import copy
import functools
import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.adapter import DecoderAdapter
from attention_clinic.diagnosis import FINDINGS
from attention_clinic.kinds.attention import scale_of
from attention_clinic.laws import LAWS, Deviation, gap, parity
from attention_clinic.seeded import copied
from attention_clinic.small import VOCAB_SIZE, SmallDecoder
from attention_clinic.small_bugs import Planted
from polyhead.masks import causal_mask
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.transformer import DecoderOnly

CLASSES: dict[str, type[SmallDecoder]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", each.__name__).lower(): each for each in Planted.__subclasses__()
}
BUGS: tuple[str, ...] = tuple(CLASSES)
# What can be measured on a decoder: the laws, and how far it is from its right twin.
PROBES: tuple[str, ...] = (*LAWS, "parity")


def planted_decoder(bug: str = "none") -> SmallDecoder:
    """A small decoder in evaluation, with one of `BUGS`, or "none"; all of them have the same weights.

    Example:
        >>> from attention_clinic import diagnose
        >>> diagnose(planted_decoder("kv_tiled")).names
        ('kv_tiled',)
    """
    cls = class_of(bug)
    return build(cls, **cls.options)


def right_twin(bug: str) -> SmallDecoder:
    """The decoder that `planted_decoder(bug)` should be: the same options and weights, without the bug.

    Example:
        >>> right_twin("sinks_missing").layers[0].sinks.shape
        torch.Size([6])
    """
    return build(SmallDecoder, **class_of(bug).options)


def matrix() -> dict[str, dict[str, Deviation | None]]:
    """What each of `PROBES` measures on each decoder, the right one first: bug → probe → deviation.

    0.0: the bug is not seen; None: the law does not apply to this decoder.

    Example:
        >>> [probe for probe, found in matrix()["cache_open"].items() if found]
        ['chunk']
    """
    return {bug: dict(matrix_row(bug)) for bug in ("none", *BUGS)}


@functools.cache
def matrix_row(bug: str) -> dict[str, Deviation | None]:
    """The deviation that each of `PROBES` finds in one decoder; see `matrix`."""
    decoder = planted_decoder(bug)
    found = {name: law(decoder, vocab_size=VOCAB_SIZE) for name, law in LAWS.items()}
    return {**found, "parity": parity(decoder, right_twin(bug))}


def class_of(bug: str, known: Collection[str] = BUGS) -> type[SmallDecoder]:
    """The decoder with one of the known bugs, or "none"."""
    if bug not in ("none", *known):
        raise ValueError(f"bug must be 'none' or one of {', '.join(known)}, got {bug!r}")
    return CLASSES.get(bug, SmallDecoder)


def build(cls: type[SmallDecoder], **options: Any) -> SmallDecoder:
    """Build a decoder with weights that are always the same, each parameter's by its name."""
    with torch.random.fork_rng(devices=[]):  # PyTorch draws weights of its own, from the reader's numbers
        decoder = cls(**options)
    for name, parameter in decoder.named_parameters():
        generator = torch.Generator().manual_seed(sum(name.encode()))
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        if name.endswith("norm.weight"):
            parameter.data = 1 + 0.1 * parameter.data
        elif parameter.ndim == 2:
            parameter.data *= parameter.shape[-1] ** -0.5
    return decoder.requires_grad_(False).eval()


# ---- parity: what a decoder of the book's own parts would give if every part were as the book has it


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
    twins = _planted(twin, named) if isinstance(twin, SmallDecoder) else _changed(twin, named)
    names = next((names for names, other in twins if _gap(other, ids, actual) == 0.0), None)
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


def _original(cls: type) -> type:
    packages = ("polyhead", "attention_clinic", "torch")
    ours = (each for each in cls.__mro__ if each.__module__.split(".")[0] in packages)
    return next((each for each in ours if each.__module__ != Planted.__module__), cls)


def _gap(twin: nn.Module, ids: Tensor, actual: Tensor) -> Deviation | None:
    """How far a twin is from the logits; None if it does not run, since it lacks what a changed part had."""
    with torch.no_grad(), contextlib.suppress(Exception):
        return gap(twin(ids), actual)
    return None


Twins = Iterator[tuple[tuple[str, ...], nn.Module]]


def _planted(twin: nn.Module, named: set[str]) -> Twins:
    """The twin with bugs that are planted together with those that are named already."""
    before = tuple(CLASSES[name] for name in CLASSES if name in named)
    silent = FINDINGS["names"]["silent"]
    for names in (each for size in range(3) for each in itertools.combinations(silent, size)):
        classes = (*(CLASSES[name] for name in names), *before)
        twin.__class__ = type("Ill", classes, {}) if classes else SmallDecoder
        yield names, twin


_OF_QUERIES = ("causal_strict", "unscaled", "no_root", "scale_multiplied", "model_root")


def _changed(twin: nn.Module, named: set[str]) -> Twins:
    """The twin, and copies with a mistake in the book's attention."""
    yield (), twin
    for name in (each for each in _OF_QUERIES if each not in named):
        changed = copy.deepcopy(twin)
        for part in (each for each in changed.modules() if isinstance(each, MultiHeadAttention)):
            right, wrong = (scale_of(each, part.head_dim, part.embed_dim) for each in ("", name))
            for parameter in part.input_projection.parameters():
                parameter.data[: part.num_heads * part.head_dim] *= wrong / right
            if name == "causal_strict":
                part.register_forward_pre_hook(_strict, with_kwargs=True)
        yield (name,), changed


def _strict(_: nn.Module, args: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Hide each token from itself."""
    strict = causal_mask(args[0].shape[1]).tril(-1)
    mask = options.get("mask")
    return args, {**options, "mask": strict if mask is None else mask & strict}
