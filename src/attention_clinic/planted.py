"""Small decoders with one bug planted in each, and which law or comparison sees which of them."""

import functools
import re
from collections.abc import Collection
from typing import Any

import torch

from attention_clinic.laws import LAWS, Deviation, parity
from attention_clinic.small import VOCAB_SIZE, SmallDecoder
from attention_clinic.small_bugs import Planted

CLASSES: dict[str, type[SmallDecoder]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", each.__name__).lower(): each for each in Planted.__subclasses__()
}
BUGS: tuple[str, ...] = tuple(CLASSES)
PROBES: tuple[str, ...] = (*LAWS, "parity")


def planted_decoder(bug: str = "none") -> SmallDecoder:
    """A small decoder in evaluation, with one of `BUGS`, or "none"; all of them have the same weights.

    Example:
        >>> from attention_clinic import diagnose
        >>> diagnose(planted_decoder("kv_tiled")).names
        ('kv_tiled',)
    """
    kind = class_of(bug)
    return build(kind, **kind.options)


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


def build(kind: type[SmallDecoder], **options: Any) -> SmallDecoder:
    """Build a decoder with weights that are always the same, each parameter's by its name."""
    with torch.random.fork_rng(devices=[]):  # PyTorch draws weights of its own, from the reader's numbers
        decoder = kind(**options)
    for name, parameter in decoder.named_parameters():
        generator = torch.Generator().manual_seed(sum(name.encode()))
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        if name.endswith("norm.weight"):
            parameter.data = 1 + 0.1 * parameter.data
        elif parameter.ndim == 2:
            parameter.data *= parameter.shape[-1] ** -0.5
    return decoder.requires_grad_(False).eval()
