"""How masks are handed over, and which tokens see which without one: conventions, not to be blamed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_clinic.trial import Meant
from polyhead.masks import padding_mask

MEANINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "keeps": lambda mask: mask,
    "hides": lambda mask: ~mask,
    "additive": lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf),
}
# Of a mask (batch, queries, keys): one for all heads; (queries, keys); repeated for heads, or for each.
_ROWS: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda mask, heads: mask,
    lambda mask, heads: mask[:, None],
    lambda mask, heads: mask[0],
    lambda mask, heads: mask.repeat_interleave(heads, dim=0),
    lambda mask, heads: mask[:, None].expand(-1, heads, -1, -1),
)
# Of one that is the same for all queries: (batch, keys), with one for queries, and one for heads.
_KEYS: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda mask, heads: mask[:, 0],
    lambda mask, heads: mask[:, :1],
    lambda mask, heads: mask[:, None, :1],
)
FIRST = _ROWS[2]


@dataclass(frozen=True)
class Form:
    """A way to hand over a mask: as an argument of some shape, with a meaning, as truth values or integers.

    Example:
        >>> hidden = torch.tensor([[[True, False]]])
        >>> Form("mask", "hides", lambda mask, heads: mask[0]).given(hidden, 3)
        {'mask': tensor([[False,  True]])}
    """

    role: str
    meaning: str
    shape: Callable[[Tensor, int], Tensor]
    as_integers: bool = False

    @property
    def by_keys(self) -> bool:
        """Whether it can only say which keys are padding."""
        return self.role != "mask" or self.shape in _KEYS

    @property
    def is_each(self) -> bool:
        """Whether each sequence has a mask of its own, a row for each query."""
        return not self.by_keys and self.shape is not FIRST

    def effective(self, mask: Tensor) -> Tensor:
        """The mask that acts, (batch, queries, keys), when this one is to be handed over."""
        batch, queries, keys = mask.shape
        if self.by_keys:
            lens = torch.arange(batch) % max(keys - 1, 1) + 1
            return padding_mask(lens, keys).expand(batch, queries, keys)
        return mask[:1].expand_as(mask) if self.shape is FIRST else mask

    def given(self, mask: Tensor, heads: int) -> dict[str, Any]:
        """The argument."""
        if self.role == "valid_lens":
            return {"valid_lens": mask[:, 0].sum(dim=-1)}
        handed = MEANINGS[self.meaning](self.shape(mask, heads)).contiguous()
        return {self.role: handed.long() if self.as_integers else handed}


MASK_ROLES = ("mask", "valid_lens", "key_padding_mask")


def forms(role: str, meant: Meant) -> Iterator[list[Form]]:
    """The ways to hand over a mask in a role: lists of which the first that runs is the one to look at."""
    if role == "valid_lens":
        yield [Form(role, "keeps", _KEYS[0])]
        return
    meanings = (*MEANINGS,) if role == "mask" else ("hides", "keeps")
    shapes = (*_ROWS, *_KEYS) if role == "mask" else _KEYS[:1]
    for meaning, shape in itertools.product([meant.mask] if meant.mask else meanings, shapes):
        integers = [True] if role == "mask" and meaning != "additive" else []
        yield [Form(role, meaning, shape, as_integers) for as_integers in (False, *integers)]


Pattern = Callable[[int, int], Tensor]  # of so many queries and keys
ALL = 1000  # more tokens than any input has


def band(before: int, after: int) -> Pattern:
    """Each token sees from so many before it to so many after it; queries are the last tokens of the keys."""

    def pattern(queries: int, keys: int) -> Tensor:
        earlier = keys - queries
        return torch.ones(queries, keys, dtype=torch.bool).tril(earlier + after).triu(earlier - before)

    return pattern


def upper_left(queries: int, keys: int) -> Tensor:
    """Query i sees the keys up to i, counted from the first, as in PyTorch."""
    return torch.ones(queries, keys, dtype=torch.bool).tril()


CAUSAL = band(ALL, 0)
# Which tokens see which without a mask that are never right.
WRONG_PATTERNS: dict[str, Pattern] = {
    "causal_strict": band(ALL, -1),
    "sees_ahead": band(ALL, 1),
    "causal_inverted": band(-1, ALL),
    "causal_upper": band(0, ALL),
}
