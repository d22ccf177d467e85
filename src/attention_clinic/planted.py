"""Small decoders with one bug planted in each, and which law or comparison sees which of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_clinic.laws import LAWS, Deviation, parity
from attention_clinic.small import DROPOUT, VOCAB_SIZE, MaskInputs, SmallDecoder, SmallLayer
from polyhead.positions import RotaryPositions

Right = SmallDecoder


def _upper_left(it: SmallDecoder, inputs: MaskInputs) -> Tensor:
    rows, columns = torch.arange(inputs.num_new)[:, None], torch.arange(inputs.num_cached + inputs.num_new)
    return it.rule(rows, columns) if inputs.num_cached else Right.visible(it, inputs)


def _open(it: SmallDecoder, inputs: MaskInputs) -> Tensor:
    rows = torch.arange(inputs.num_new)[:, None] + inputs.num_cached
    columns = torch.arange(inputs.num_cached + inputs.num_new)
    return columns > rows - it.window if inputs.num_cached else Right.visible(it, inputs)


def _trimmed(it: SmallDecoder, inputs: MaskInputs) -> Tensor:
    length = inputs.num_cached + inputs.num_new
    recent = torch.arange(length) >= length - it.window
    return Right.visible(it, inputs) & (recent | (inputs.num_cached == 0))


def _padding_alone(it: SmallDecoder, inputs: MaskInputs) -> Tensor:
    causal = Right.visible(it, inputs)
    return causal if inputs.tokens is None else inputs.tokens.expand_as(causal)


def _mixed(it: SmallDecoder, scores: Tensor, visible: Tensor, sinks: Tensor | None) -> Tensor:
    mixed = visible.transpose(0, -3) if len(visible) == it.num_heads else visible
    return Right.weights(it, scores, mixed, sinks)


def _neighbours(it: SmallDecoder, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    rotary = RotaryPositions(it.head_dim, it.rotary.base, "neighbours")
    return rotary(query, positions), rotary(key, positions)


def _unbiased(it: SmallDecoder, layer: SmallLayer, x: Tensor) -> list[Tensor]:
    query, key, value = Right.heads(it, layer, x)
    return [query - torch.unflatten(layer.query.bias, -1, (-1, 1, it.head_dim)), key, value]


# Bugs, each with a public relative: a method of the decoder, and what it does instead.
_INSTEAD: dict[str, tuple[str, Callable[..., Any]]] = {
    # The mask is the wrong way round: each token sees the future alone.
    "causal_inverted": ("rule", lambda it, rows, columns: columns > rows),
    # The triangle is shifted by one.
    "sees_ahead": ("rule", lambda it, rows, columns: (columns <= rows + 1) & (columns > rows - it.window)),
    # No token sees itself.
    "causal_strict": ("rule", lambda it, rows, columns: (columns < rows) & (columns > rows - it.window)),
    # The window's first key is counted inclusively.
    "window_one_more": ("rule", lambda it, rows, columns: (columns <= rows) & (columns >= rows - it.window)),
    # The mask is made in training alone.
    "causal_train_only": ("rule", lambda it, *where: Right.rule(it, *where) | (not it.training)),
    # The mask is made in evaluation alone.
    "causal_eval_only": ("rule", lambda it, *where: Right.rule(it, *where) | it.training),
    # The mask of new tokens is aligned at the upper left, as if there were none before them.
    "cache_upper_left": ("visible", _upper_left),
    # With a cache no future is hidden: right for one new token.
    "cache_open": ("visible", _open),
    # The cache is cut to the window before the new tokens use it.
    "cache_trimmed": ("visible", _trimmed),
    # New tokens are counted from 0.
    "cache_positions": ("locate", lambda it, ids, mask, cache, docs: Right.locate(it, ids, mask, None, docs)),
    # Positions are columns, wherever the text begins.
    "positions_ignore_padding": ("locate", lambda it, ids, mask, *rest: Right.locate(it, ids, None, *rest)),
    # The padding's mask is never passed on.
    "padding_ignored": ("visible", lambda it, inputs: Right.visible(it, inputs._replace(tokens=None))),
    # Where there is a mask of padding, it is the only one.
    "padding_replaces_causal": ("visible", _padding_alone),
    # A row without a visible key goes into a plain softmax.
    "mask_nan": ("weights", lambda it, x, seen, sinks: x.masked_fill(~seen, -torch.inf).softmax(dim=-1)),
    # The code path that returns the weights has no mask.
    "weights_change_output": ("visible", lambda it, inputs: Right.visible(it, inputs) | inputs.need_weights),
    # Positions begin anew with each document, but nothing keeps documents apart.
    "documents_leak": ("visible", lambda it, inputs: Right.visible(it, inputs._replace(documents=None))),
    # A mask of (batch, length, num_keys) lands on the heads where both are as many.
    "batch_mixed": ("weights", _mixed),
    # Dropout is applied without regard to the mode.
    "dropout_in_eval": ("drop", lambda it, weights: F.dropout(weights, DROPOUT)),
    # Keys are not turned.
    "rotary_queries_only": ("rotate", lambda it, query, key, where: (it.rotary(query, where), key)),
    # Positions pass through bfloat16, which has no 257.
    "positions_low_precision": ("rotate", lambda it, q, k, at: Right.rotate(it, q, k, at.bfloat16().long())),
    # Neighbours are paired where the weights were made for halves.
    "rotary_layout": ("rotate", _neighbours),
    # All key heads are repeated one after another, not each on its own.
    "kv_tiled": ("shared", lambda it, x: x.repeat(1, it.num_heads // it.num_kv_heads, 1, 1)),
    # No root.
    "unscaled": ("scores", lambda it, query, key: it.cap(query @ key.mT)),
    # The root of the model's size instead of the head's.
    "model_root": ("scores", lambda it, query, key: it.cap(query @ key.mT / it.embed_dim**0.5)),
    # The cap goes to a function that does not know the argument.
    "softcap_missing": ("cap", lambda it, scores: scores),
    # The sinks go to a function that does not know the argument.
    "sinks_missing": ("weights", lambda it, scores, seen, sinks: Right.weights(it, scores, seen, None)),
    # The bias is left behind when the weights are loaded.
    "query_bias_missing": ("heads", _unbiased),
}  # fmt: skip
# What the right form of a decoder must have, too, for the bug to matter.
_OPTIONS: dict[str, dict[str, Any]] = {
    "positions_ignore_padding": {"learned": True}, "softcap_missing": {"softcap": 1.0},
    "sinks_missing": {"sinks": True},
}  # fmt: skip
CLASSES: dict[str, type[SmallDecoder]] = {
    name: type(name, (SmallDecoder,), {method: instead, "options": _OPTIONS.get(name, {})})
    for name, (method, instead) in _INSTEAD.items()
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
