"""Multi-head attention from its four projections, with any of the mistakes that people make in it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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


Inputs = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Recipe:
    """A way to compute multi-head attention; the defaults are right, every other value is a mistake.

    Attributes:
        split: Tokens into heads.
        join: Heads into tokens.
        divisor: What scores are divided by, of (head_dim, embed_dim).
        projections: Which projection queries, keys and values go through.
        repeat: Heads of keys or values, once for each head of queries in a group.
        hiding: How the mask is applied, a key of `HIDING` or "mask_tiled".
        weighing: How scores become weights, a key of `WEIGHING`.
        projects_output: Whether there is an output projection.
        batch_second: Whether tokens are (num_tokens, batch, embed_dim).
    """

    split: Split = _split
    join: Callable[[Tensor], Tensor] = _join
    divisor: Callable[[int, int], float] = lambda head_dim, embed_dim: math.sqrt(head_dim)
    projections: tuple[int, int, int] = (0, 1, 2)
    repeat: Callable[[Tensor, int], Tensor] = lambda x, groups: x.repeat_interleave(groups, dim=1)
    hiding: str = ""
    weighing: str = ""
    projects_output: bool = True
    batch_second: bool = False

    def output(self, reading: Reading, inputs: Inputs, mask: Tensor | None) -> Tensor | None:
        """What the recipe gives with these projections; None if the sizes do not allow its mistake."""
        try:
            return self._output(reading, inputs, mask)
        except RuntimeError:
            return None

    def _output(self, reading: Reading, inputs: Inputs, mask: Tensor | None) -> Tensor:
        tokens = [x.transpose(0, 1) if self.batch_second else x for x in inputs]
        counts = (reading.num_heads, *[reading.num_kv_heads] * 2)
        query, key, value = (
            self.split(reading.project(number, x), count)
            for number, x, count in zip(self.projections, tokens, counts, strict=True)
        )
        key, value = (self.repeat(x, reading.num_heads // reading.num_kv_heads) for x in (key, value))
        scores = query @ key.mT / self.divisor(reading.head_dim, reading.embed_dim)
        output = self.join(_weights(scores, mask, self.hiding, self.weighing) @ value)
        output = reading.project(3, output) if self.projects_output else output
        return output.transpose(0, 1) if self.batch_second else output


Mistake = tuple[str, dict[str, Any]]  # its name, and the fields of the recipe that it changes
# Into heads and back at once, since what a mistake is on the way in decides what the way back can be.
_SPLITS: list[Mistake] = [
    ("view", {"split": _viewed}),
    ("view", {"split": _viewed, "join": _flat}),
    ("view_back", {"join": _flat}),
    ("entries_before_heads", {"split": _woven}),
    ("entries_before_heads", {"split": _woven, "join": lambda x: x.permute(0, 2, 3, 1).flatten(2)}),
    ("across_heads", {"split": _across, "join": lambda x: x.flatten(2)}),
    ("one_head", {"split": lambda x, heads: x[:, None], "join": lambda x: x[:, 0]}),
    ("concat_axis", {"join": lambda x: torch.cat(x.unbind(1), dim=0).reshape(len(x), x.shape[2], -1)}),
    ("concat_axis", {"join": lambda x: x.permute(0, 2, 3, 1).flatten(2)}),
]
_DIVISORS: list[Mistake] = [
    ("unscaled", {"divisor": lambda head_dim, embed_dim: 1.0}),
    ("model_root", {"divisor": lambda head_dim, embed_dim: math.sqrt(embed_dim)}),
    ("no_root", {"divisor": lambda head_dim, embed_dim: head_dim}),
    ("scale_multiplied", {"divisor": lambda head_dim, embed_dim: 1 / math.sqrt(head_dim)}),
]
_SHARED: list[Mistake] = [
    ("shared_projection", {"projections": each}) for each in ((0, 0, 2), (0, 1, 1), (1, 1, 2), (0, 1, 0))
]
_GROUPS: list[Mistake] = [("kv_tiled", {"repeat": lambda x, groups: x.repeat(1, groups, 1, 1)})]
_HIDING: list[Mistake] = [(name, {"hiding": name}) for name in (*HIDING, "mask_tiled") if name]
_WEIGHING: list[Mistake] = [(name, {"weighing": name}) for name in WEIGHING if name]
_LAST: list[Mistake] = [("no_output_projection", {"projects_output": False})]
_ORDERS: list[Mistake] = [("batch_first", {"batch_second": True})]


def outputs(
    reading: Reading, inputs: Inputs, mask: Tensor | None, most: int = 2
) -> Iterator[tuple[Names, Tensor]]:
    """What multi-head attention gives with up to `most` mistakes; without any first, under no name."""
    groups = _GROUPS if reading.num_heads != reading.num_kv_heads else []
    hiding = [] if mask is None else _HIDING
    stages = (_SPLITS, _DIVISORS, _SHARED, groups, hiding, _WEIGHING, _LAST, _ORDERS)
    for count in range(most + 1):
        for chosen in itertools.combinations(stages, count):
            for mistakes in itertools.product(*chosen):
                names = tuple(name for name, _ in mistakes)
                if "one_head" in names:  # of which head_dim and embed_dim are the same
                    names = tuple(name for name in names if name != "model_root")
                recipe = Recipe(**{field: value for _, change in mistakes for field, value in change.items()})
                output = recipe.output(reading, inputs, mask)
                if output is not None:
                    yield names, output


def causal_outputs(reading: Reading, inputs: Inputs, mask: Tensor | None) -> Iterator[tuple[Names, Tensor]]:
    """Right, too: a module that is always causal."""
    if inputs[0].shape[1] == inputs[1].shape[1]:
        causal = torch.ones(inputs[0].shape[1], inputs[1].shape[1], dtype=torch.bool).tril()[None]
        causal = causal if mask is None else mask & causal
        if bool(causal.any(-1).all()):
            yield from outputs(reading, inputs, causal, most=0)


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
