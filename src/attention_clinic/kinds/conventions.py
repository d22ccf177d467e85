"""How masks are handed over, and which tokens see which without one: conventions, not to be blamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
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
# Of a mask (batch, queries, keys): one for all heads or for each; (queries, keys); repeated for heads.
_ROWS: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda mask, heads: mask,
    lambda mask, heads: mask[:, None],
    lambda mask, heads: mask[0],
    lambda mask, heads: mask.repeat_interleave(heads, dim=0),
)
# Of one that is the same for all queries: (batch, keys), with one for queries, and one for heads.
_KEYS: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda mask, heads: mask[:, 0],
    lambda mask, heads: mask[:, :1],
    lambda mask, heads: mask[:, None, :1],
)
_FIRST = _ROWS[2]


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
        return not self.by_keys and self.shape is not _FIRST

    def effective(self, mask: Tensor) -> Tensor:
        """The mask that acts, (batch, queries, keys), when this one is to be handed over."""
        batch, queries, keys = mask.shape
        if self.by_keys:
            lens = torch.arange(batch) % max(keys - 1, 1) + 1
            return padding_mask(lens, keys).expand(batch, queries, keys)
        return mask[:1].expand_as(mask) if self.shape is _FIRST else mask

    def given(self, mask: Tensor, heads: int) -> dict[str, Any]:
        """The argument."""
        if self.role == "valid_lens":
            return {"valid_lens": mask[:, 0].sum(dim=-1)}
        handed = MEANINGS[self.meaning](self.shape(mask, heads)).contiguous()
        return {self.role: handed.long() if self.as_integers else handed}


def forms(accepts: Set[str], meant: Meant) -> Iterator[list[Form]]:
    """The ways to hand over a mask: lists of which the first that runs is the one to look at."""
    meanings = [meant.mask] if meant.mask else [*MEANINGS]
    if "mask" in accepts:
        for meaning in meanings:
            for shape in (*_ROWS, *_KEYS):
                integers = [] if meaning == "additive" else [Form("mask", meaning, shape, True)]
                yield [Form("mask", meaning, shape), *integers]
    if "valid_lens" in accepts:
        yield [Form("valid_lens", "keeps", _KEYS[0])]
    if "key_padding_mask" in accepts:
        for meaning in [meant.mask] if meant.mask else ("hides", "keeps"):
            yield [Form("key_padding_mask", meaning, _KEYS[0])]


Pattern = Callable[[int], Tensor]


def _ones(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


# Which tokens see which without a mask: both are right, unless the owner says which.
PATTERNS: dict[str, Pattern | None] = {"open": None, "causal": lambda length: _ones(length).tril()}
# These never are.
WRONG_PATTERNS: dict[str, Pattern] = {
    "causal_strict": lambda length: _ones(length).tril(-1),
    "sees_ahead": lambda length: _ones(length).tril(1),
    "causal_inverted": lambda length: _ones(length).triu(1),
    "causal_upper": lambda length: _ones(length).triu(),
}
