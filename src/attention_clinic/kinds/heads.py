"""Multi-head attention from its four projections, with any of the mistakes that people make in it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from attention_clinic.cases import Names
from attention_clinic.kinds.attention import HIDING, WEIGHING
from attention_clinic.kinds.projections import Reading

Split = Callable[
    [Tensor, int], Tensor
]  # (batch, num_tokens, width), heads -> (batch, heads, num_tokens, size)


def _split(x: Tensor, heads: int) -> Tensor:
    return torch.unflatten(x, -1, (heads, -1)).transpose(1, 2)


def _viewed(x: Tensor, heads: int) -> Tensor:
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def _woven(x: Tensor, heads: int) -> Tensor:
    return torch.unflatten(x, -1, (-1, heads)).permute(0, 3, 1, 2)


def _join(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def _flat(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


def _across(x: Tensor, heads: int) -> Tensor:
    return torch.unflatten(x, -1, (heads, -1))


# Into heads and back: both at once, since what a mistake is on the way in decides what the way back can be.
WAYS: list[tuple[str, Split, Callable[[Tensor], Tensor]]] = [
    ("", _split, _join),
    ("view", _viewed, _join),
    ("view", _viewed, _flat),
    ("view_back", _split, _flat),
    ("entries_before_heads", _woven, _join),
    ("entries_before_heads", _woven, lambda x: x.permute(0, 2, 3, 1).flatten(2)),
    ("across_heads", _across, lambda x: x.flatten(2)),
    ("one_head", lambda x, heads: x[:, None], lambda x: x[:, 0]),
    ("concat_axis", _split, lambda x: torch.cat(x.unbind(1), dim=0).reshape(len(x), x.shape[2], -1)),
    ("concat_axis", _split, lambda x: x.permute(0, 2, 3, 1).flatten(2)),
]
ROOTS: list[tuple[str, Callable[[int, int], float]]] = [
    ("", lambda head_dim, embed_dim: math.sqrt(head_dim)),
    ("unscaled", lambda head_dim, embed_dim: 1.0),
    ("model_root", lambda head_dim, embed_dim: math.sqrt(embed_dim)),
    ("no_root", lambda head_dim, embed_dim: head_dim),
    ("scale_multiplied", lambda head_dim, embed_dim: 1 / math.sqrt(head_dim)),
]
SHARED: list[tuple[str, tuple[int, int, int]]] = [
    ("", (0, 1, 2)), *(("shared_projection", each) for each in ((0, 0, 2), (0, 1, 1), (1, 1, 2), (0, 1, 0))),
]  # fmt: skip
GROUPS: list[tuple[str, Callable[[Tensor, int], Tensor]]] = [
    ("", lambda x, groups: x.repeat_interleave(groups, dim=1)),
    ("kv_tiled", lambda x, groups: x.repeat(1, groups, 1, 1)),
]
LAST = [("", True), ("no_output_projection", False)]
ORDERS = [("", False), ("batch_first", True)]
Inputs = tuple[Tensor, Tensor, Tensor]


def outputs(
    reading: Reading, inputs: Inputs, mask: Tensor | None, most: int = 2
) -> Iterator[tuple[Names, Tensor]]:
    """What multi-head attention gives with up to `most` mistakes; without any first, under no name."""
    hidings = [*HIDING, "mask_tiled"] if mask is not None else [""]
    grouped = reading.num_heads != reading.num_kv_heads
    stages = (WAYS, ROOTS, SHARED, GROUPS if grouped else GROUPS[:1], hidings, WEIGHING, LAST, ORDERS)
    firsts: list[Any] = [next(iter(stage)) for stage in stages]
    wrong = [[*stage][1:] for stage in stages]
    for count in range(most + 1):
        for places in itertools.combinations(range(len(stages)), count):
            for made in itertools.product(*(wrong[place] for place in places)):
                chosen = [*firsts]
                for place, each in zip(places, made, strict=True):
                    chosen[place] = each
                names = tuple(each if isinstance(each, str) else each[0] for each in made)
                if "one_head" in names:  # of which head_dim and embed_dim are the same
                    names = tuple(name for name in names if name != "model_root")
                output = _output(reading, inputs, mask, chosen)
                if output is not None:
                    yield names, output


def causal_outputs(reading: Reading, inputs: Inputs, mask: Tensor | None) -> Iterator[tuple[Names, Tensor]]:
    """Right, too: a module that is always causal."""
    if inputs[0].shape[1] == inputs[1].shape[1]:
        causal = torch.ones(inputs[0].shape[1], inputs[1].shape[1], dtype=torch.bool).tril()[None]
        causal = causal if mask is None else mask & causal
        if bool(causal.any(-1).all()):
            yield from outputs(reading, inputs, causal, most=0)


def _output(reading: Reading, inputs: Inputs, mask: Tensor | None, chosen: list[Any]) -> Tensor | None:
    try:
        return _computed(reading, inputs, mask, *chosen)
    except RuntimeError:  # sizes with which this mistake cannot be made
        return None


def _computed(
    reading: Reading,
    inputs: Inputs,
    mask: Tensor | None,
    way: tuple[str, Split, Callable[[Tensor], Tensor]],
    root: tuple[str, Callable[[int, int], float]],
    shared: tuple[str, tuple[int, int, int]],
    groups: tuple[str, Callable[[Tensor, int], Tensor]],
    hiding: str,
    weighing: str,
    last: tuple[str, bool],
    order: tuple[str, bool],
) -> Tensor:
    if order[1]:
        inputs = tuple(x.transpose(0, 1) for x in inputs)  # type: ignore[assignment]
    _, split, join = way
    counts = (reading.num_heads, *[reading.num_kv_heads] * 2)
    q, k, v = (
        split(reading.project(number, x), count)
        for number, x, count in zip(shared[1], inputs, counts, strict=True)
    )
    k, v = (groups[1](x, reading.num_heads // reading.num_kv_heads) for x in (k, v))
    scores = q @ k.mT / root[1](reading.head_dim, reading.embed_dim)
    mixed = _weights(scores, mask, hiding, weighing) @ v
    output = reading.project(3, join(mixed)) if last[1] else join(mixed)
    return output.transpose(0, 1) if order[1] else output


def _weights(scores: Tensor, mask: Tensor | None, hiding: str, weighing: str) -> Tensor:
    if mask is None:
        return WEIGHING[weighing](scores)
    if hiding == "mask_tiled":
        folded = mask.expand(len(scores), *scores.shape[-2:]).repeat(scores.shape[1], 1, 1)
        mask, hiding = torch.unflatten(folded, 0, (len(scores), -1)), ""
    else:
        mask = mask[:, None] if mask.ndim == 3 else mask
    weights = WEIGHING[weighing](HIDING[hiding](scores, mask))
    return weights * mask if hiding == "mask_after" else weights
