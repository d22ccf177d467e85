"""What the examinations of an attention function and of a module share: calls with masks, and the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard, TypeVar

import torch
from torch import Tensor, nn

from attention_clinic.adapter import is_triangle
from attention_clinic.arguments import Subject
from attention_clinic.cases import Case, answer, same
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.conventions import MASK_ROLES, Form, forms
from attention_clinic.trial import CallFailed, Meant

AnyCase = TypeVar("AnyCase", bound=Case)


def fits(result: Tensor | CallFailed, case: Case) -> TypeGuard[Tensor]:
    """Whether a result has the shape that it should have."""
    return not isinstance(result, CallFailed) and result.shape == case.expected.shape


class Examination:
    """A candidate under examination.

    Attributes:
        layout: How it has its tokens, see its `case`.
        forms: In which form it takes its mask, by the role of the argument, as far as that is found out.
        num_heads: How many heads a mask for each head is for.
        causal: Whether it is meant to be causal by itself.
    """

    def __init__(self, subject: Subject, meant: Meant, num_heads: int) -> None:
        """Take the candidate, and what its owner says about it."""
        self.subject, self.meant, self.num_heads = subject, meant, num_heads
        self.trial, self.layout, self.forms = subject.trial, "batch", dict[str, Form]()
        self.required = subject.required
        self.mask_roles = [role for role in MASK_ROLES if role in subject.accepts]
        self.needs_mask = not self.required.isdisjoint(self.mask_roles)
        self.causal = meant.causal or (meant.causal is None and self._intends_causality())

    def _intends_causality(self) -> bool:
        """Whether a candidate that takes no mask is called causal, or holds a triangle."""
        function = self.subject.function
        is_triangular = isinstance(function, nn.Module) and any(map(is_triangle, function.buffers()))
        name = getattr(function, "__name__", type(function).__name__)
        return "mask" not in self.subject.accepts and ("causal" in name.lower() or is_triangular)

    @property
    def form(self) -> Form | None:
        """The form of the first mask that it takes."""
        return next(iter(self.forms.values()), None)

    # ---- calls

    def output(self, inputs: Mapping[str, Any]) -> Tensor | CallFailed:
        """What the candidate gives, or why it gives nothing."""
        return answer(self.subject, Case(inputs, torch.empty(0)))

    def masked(self, mask: Tensor, form: Form) -> tuple[dict[str, Any], Tensor]:
        """The argument for a mask (batch, queries, keys), and the mask that acts; no token hides itself."""
        queries, keys = mask.shape[1:]
        acting = form.effective(mask | torch.eye(queries, dtype=torch.bool) if queries == keys else mask)
        return form.given(acting, self.num_heads), acting

    def answers(self, role: str, build: Callable[[Form], AnyCase]) -> Iterator[tuple[Form, AnyCase, Tensor]]:
        """Cases with a mask in each form that runs, and what the candidate gives of the right shape."""
        for ways in [[self.forms[role]]] if role in self.forms else forms(role, self.meant):
            for form in ways:
                case = build(form)
                result = self.output(case.inputs)
                if isinstance(result, CallFailed):
                    continue
                if fits(result, case):
                    yield form, case, result
                break

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
