"""What the examinations of an attention function and of a module share: calls with masks, and the batch.

How masks are handed over, and which tokens see which without one, are conventions, not to be blamed.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attention_clinic.arguments import Subject, signature
from attention_clinic.cases import Case, fits, same
from attention_clinic.diagnosis import Finding
from attention_clinic.trial import CallFailed, Meant
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
KEYS: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda mask, heads: mask[:, 0],
    lambda mask, heads: mask[:, :1],
    lambda mask, heads: mask[:, None, :1],
)
FIRST = _ROWS[2]


def is_triangle(buffer: Tensor) -> bool:
    """Whether a square table has something above its diagonal or below it, and not on both sides."""
    if buffer.ndim < 2 or buffer.shape[-1] != buffer.shape[-2]:
        return False
    table = buffer.reshape(-1, *buffer.shape[-2:])[0]
    return bool(table.triu(1).any()) != bool(table.tril(-1).any())


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
        return self.role != "mask" or self.shape in KEYS

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

    def of_keys(self, mask: Tensor) -> Tensor:
        """What is handed over for a mask (batch, keys)."""
        handed: Tensor = self.given(mask[:, None], 1)[self.role]
        return handed


MASK_ROLES = ("mask", "valid_lens", "key_padding_mask")


def forms(role: str, meant: Meant) -> Iterator[Form]:
    """The ways to hand over a mask in a role; one as integers comes behind the same as truth values."""
    meanings = {"mask": (*MEANINGS,), "valid_lens": ("keeps",)}.get(role, ("hides", "keeps"))
    meanings = (meant.mask,) if meant.mask and role != "valid_lens" else meanings
    for meaning, shape in itertools.product(meanings, (*_ROWS, *KEYS) if role == "mask" else KEYS[:1]):
        yield Form(role, meaning, shape)
        if role == "mask" and meaning != "additive":
            yield Form(role, meaning, shape, as_integers=True)


Pattern = Callable[[int, int], Tensor]  # of so many queries and keys
ALL = 1000  # more tokens than any input has


def band(before: int, after: int) -> Pattern:
    """Each token sees from so many before it to so many after it; queries are the last tokens of the keys."""
    return lambda queries, keys: upper_left(queries, keys, keys - queries + after).triu(
        keys - queries - before
    )


def upper_left(queries: int, keys: int, after: int = 0) -> Tensor:
    """Query i sees the keys up to i, counted from the first, as in PyTorch, and so many more."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(after)


CAUSAL = band(ALL, 0)
# Which tokens see which without a mask that are never right.
WRONG_PATTERNS: dict[str, Pattern] = {
    "causal_strict": band(ALL, -1),
    "sees_ahead": band(ALL, 1),
    "causal_inverted": band(-1, ALL),
    "causal_upper": band(0, ALL),
}


def masks_are_off(function: Any) -> bool:
    """Whether a switch of it, such as `mask_flag=False`, says that masks do not act.

    Example:
        >>> masks_are_off(lambda query, key, value, mask=None, use_mask=False: None)
        True
    """
    switches = {each.name: each.default for each in signature(function) or []}
    switches |= vars(function) if isinstance(function, nn.Module) else {}
    return any(switches.get(name) is False for name in ("mask_flag", "use_mask", "with_mask", "masked"))


AnyCase = TypeVar("AnyCase", bound=Case)


class Examination:
    """A candidate under examination.

    Attributes:
        output: What the candidate gives for inputs, or why it gives nothing.
        layout: How it has its tokens, see its `case`.
        forms: In which form it takes its mask, by the role of the argument, as far as that is found out.
        num_heads: How many heads a mask for each head is for.
        causal: Whether it is meant to be causal by itself.
    """

    def __init__(self, subject: Subject, meant: Meant, num_heads: int) -> None:
        """Take the candidate, and what its owner says about it."""
        self.subject, self.meant, self.num_heads = subject, meant, num_heads
        self.trial, self.layout, self.forms = subject.trial, "batch", dict[str, Form]()
        self.output, self.required = subject.answer, subject.required
        roles = [role for role in MASK_ROLES if role in subject.accepts]
        self.mask_roles = [] if masks_are_off(subject.function) else roles
        self.trial.skipped += ["mask"] if roles and not self.mask_roles else []
        self.needs_mask = not self.required.isdisjoint(self.mask_roles)
        own = subject.function  # without a mask, it may be called causal, or hold a triangle
        is_triangular = isinstance(own, nn.Module) and any(map(is_triangle, own.buffers()))
        is_named = is_triangular or "causal" in getattr(own, "__name__", type(own).__name__).lower()
        self.causal = meant.causal or (meant.causal is None and "mask" not in subject.accepts and is_named)

    @property
    def form(self) -> Form | None:
        """The form of the first mask that it takes."""
        return next(iter(self.forms.values()), None)

    # ---- calls

    def masked(self, mask: Tensor, form: Form) -> tuple[dict[str, Any], Tensor]:
        """The argument for a mask (batch, queries, keys), and the mask that acts; no token hides itself."""
        queries, keys = mask.shape[1:]
        acting = form.effective(mask | torch.eye(queries, dtype=torch.bool) if queries == keys else mask)
        return form.given(acting, self.num_heads), acting

    def answers(self, role: str, build: Callable[..., AnyCase]) -> Iterator[tuple[Any, AnyCase, Tensor]]:
        """Cases with a mask in each form that runs, or with none, and their results if the shape is right.

        A mask of integers is tried where truth values stop the candidate.
        """
        known, runs = self.forms.get(role), False
        for form in [known] if known or not role else forms(role, self.meant):
            if form and form.as_integers and runs:
                continue
            case = build(form)
            result = self.output(case.inputs)
            runs = not isinstance(result, CallFailed)
            if fits(result, case):
                yield form, case, result

    # ---- findings

    def remarks_on_mask(self, form: Form | None) -> Iterator[Finding]:
        """What a mask means, where that is another convention than the course's."""
        if form and form.role == "mask" and form.meaning != "keeps" and not self.meant.mask:
            yield Finding(f"mask_{form.meaning}")

    def mixed(self, case: Case) -> Finding | None:
        """Whether a sequence gives something else alone than in its batch."""
        batch, together = len(case.inputs["query"]), self.output(case.inputs)
        for i in range(batch if self.layout != "single" else 0):
            own = {
                role: x[i : i + 1] if isinstance(x, Tensor) and len(x) == batch else x
                for role, x in case.inputs.items()
            }
            alone = self.output(own)
            if isinstance(together, CallFailed) or isinstance(alone, CallFailed):
                return None
            if not same(together[i : i + 1], alone):
                return Finding("batch_mixed", {**case.inputs}, alone, together[i : i + 1])
        return None
