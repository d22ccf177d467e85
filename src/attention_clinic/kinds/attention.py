"""Scaled dot-product attention: what each mistake computes, alone and together with others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.arguments import Subject, roles
from attention_clinic.cases import Case, Named, answer, choices, examine, same, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.conventions import PATTERNS, WRONG_PATTERNS, Form, Pattern, forms
from attention_clinic.trial import CallFailed, Trial, first_output
from polyhead.functional import scaled_dot_product_attention
from polyhead.modes import evaluation_mode

ROLES = roles(
    query="queries q qs xq q_in",
    key="keys k ks xk k_in",
    value="values v vs xv v_in",
    mask="masks attn_mask attention_mask m allowed visible may_attend keep attn_bias src_mask",
    valid_lens="valid_len lengths lens",
    key_padding_mask="padding_mask",
    is_causal="causal",
    window="window_size w sliding_window",
    d_k="dk head_dim d_head d dim",
    dropout="dropout_p p",
)
OTHERS = ROLES.keys() - {"query", "key", "value", "mask"}  # only their names can tell

# The stages of the computation: what is right comes first, under no name.
INPUTS: dict[str, Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]] = {
    "": lambda query, key, value: (query, key, value),
    "queries_keys_swapped": lambda query, key, value: (key, query, value),
    "values_are_keys": lambda query, key, value: (query, key, key),
}
SCALES: dict[str, Callable[[int], float]] = {
    "": lambda size: size**-0.5,
    "unscaled": lambda size: 1.0,
    "no_root": lambda size: 1 / size,
    "scale_multiplied": lambda size: size**0.5,
    "scaled_after": lambda size: 1.0,
}
HIDING: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "": lambda scores, mask: scores.masked_fill(~mask, -torch.inf),
    "mask_ignored": lambda scores, mask: scores,
    "mask_inverted": lambda scores, mask: scores.masked_fill(mask, -torch.inf),
    "mask_after": lambda scores, mask: scores,
    "mask_added": lambda scores, mask: scores + mask,
    "mask_zero": lambda scores, mask: scores.masked_fill(~mask, 0.0),
}
WEIGHING: dict[str, Callable[[Tensor], Tensor]] = {
    "": lambda scores: scores.softmax(-1),
    "wrong_axis": lambda scores: scores.softmax(-2),
    "no_softmax": lambda scores: scores,
    "softmax_twice": lambda scores: scores.softmax(-1).softmax(-1),
}


_OTHER_PATTERNS = ("mask_ignored", "mask_inverted")  # of causality alone these are other patterns


def weigh(scores: Tensor, mask: Tensor | None, hiding: str = "", weighing: str = "") -> Tensor:
    """Weights of scores with these mistakes; without any they are right (NaN in a row that sees nothing)."""
    if mask is None:
        return WEIGHING[weighing](scores)
    result = WEIGHING[weighing](HIDING[hiding](scores, mask))
    return result * mask if hiding == "mask_after" else result


def hidings(mask: Tensor | None) -> Sequence[tuple[str, str]]:
    """The stage of hiding; without a mask there is no mistake in it."""
    return [("", "")] if mask is None else [(name, name) for name in HIDING]


def mistakes(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, most: int = 3,
    pattern: Tensor | None = None,
) -> Named:  # fmt: skip
    """What attention gives with up to `most` mistakes at once, the fewest first; a pattern hides, too."""
    acting, hidden = (pattern, None) if mask is None else (mask, pattern)
    ways = [each for each in hidings(acting) if mask is not None or each[0] not in _OTHER_PATTERNS]
    for names, (order, scale, hiding, weighing) in choices(
        INPUTS.items(), SCALES.items(), ways, ((name, name) for name in WEIGHING), most=most
    ):
        if "no_softmax" in names and hiding in ("mask_after", "mask_zero"):
            continue
        if "queries_keys_swapped" in names and query.shape != key.shape:
            continue
        q, k, v = order(query, key, value)
        scores = q @ k.mT * scale(query.shape[-1])
        v = v / query.shape[-1] ** 0.5 if "scaled_after" in names else v
        if hidden is not None:
            scores = scores.masked_fill(~hidden, -torch.inf)
        if weighing == "no_softmax" and not hiding and acting is not None:
            yield names, (scores * acting) @ v  # a hidden score as a weight of 0
        yield names, weigh(scores, acting, hiding, weighing) @ v


def case(
    batch: int, queries: int, keys: int, head_dim: int, value_dim: int, masked: bool = False,
    heads: int | None = None, digits: int | None = None,
) -> Case:  # fmt: skip
    """Attention of these sizes; with heads, (batch, heads, num_tokens, head_dim)."""
    lead: tuple[int, ...] = (batch,) if heads is None else (batch, heads)
    lead = lead if batch else ()
    shapes = (*lead, queries, head_dim), (*lead, keys, head_dim), (*lead, keys, value_dim)
    query, key, value = samples(*shapes, digits=digits)
    mask = visible(lead, queries, keys) if masked else None
    inputs = {"query": query, "key": key, "value": value} | ({} if mask is None else {"mask": mask})
    expected, _ = scaled_dot_product_attention(query, key, value, mask)
    return Case(inputs, expected, partial(mistakes, query, key, value, mask))


def blind_case() -> Case:
    """A mask with which one query may attend to nothing: it gets zeros.

    Beside another mistake it may have any weights: its own, none, NaN, equal ones.
    """
    plain = case(2, 3, 5, 7, 11, masked=True)
    query, key, value, mask = (plain.inputs[name] for name in ("query", "key", "value", "mask"))
    mask = mask.clone()
    mask[0, 1] = False
    blind = ~mask.any(-1, keepdim=True)

    def weighed() -> Named:
        for names, output in mistakes(query, key, value, mask, most=2):
            yield names, output
            mixed = key if "values_are_keys" in names else value
            for row in (torch.tensor(0.0), torch.tensor(torch.nan), mixed.mean(dim=-2, keepdim=True)):
                yield names, torch.where(blind, row, output)
        yield ("mask_nan",), torch.where(blind, torch.nan, expected)
        yield ("mask_uniform",), torch.where(blind, value.mean(dim=-2, keepdim=True), expected)

    expected, _ = scaled_dot_product_attention(query, key, value, mask)
    inputs = {"query": query, "key": key, "value": value, "mask": mask}
    return Case(inputs, expected, weighed)


def visible(lead: tuple[int, ...], queries: int, keys: int) -> Tensor:
    """A mask in which every query sees something, and none sees all."""
    hidden = (0, 3) if keys > 3 else (0,)
    numbers = torch.arange(keys) + 2 * torch.arange(queries)[:, None]
    batch = torch.arange(lead[0]).reshape(-1, *[1] * (len(lead) + 1)) if lead else torch.tensor(0)
    places = (numbers + batch) % keys
    return torch.stack([places != key for key in hidden]).all(dim=0).expand(*lead, queries, keys).clone()


# (batch, queries, keys, head_dim, value_dim) of a case: of large ones, and of small ones for evidence.
SIZES = ((2, 3, 5, 7, 11), (2, 5, 5, 7, 11), (2, 5, 5, 7, 7), (2, 3, 5, 7, 7))
SMALL = ((1, 1, 2, 4, 1), (1, 2, 2, 4, 1), (1, 2, 2, 4, 4), (1, 2, 3, 4, 2), (2, 2, 3, 4, 2))
WINDOW = 3
# Findings after which nothing more can be told.
UNCLEAR = {"not_deterministic", "raises", "no_tensor", "dtype", "shape", "differs", "batch_mixed", "all_nan"}


def diagnose_attention(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(query, key, value[, mask])`."""
    candidate = trial.candidate
    with evaluation_mode(candidate) if isinstance(candidate, nn.Module) else contextlib.nullcontext():
        yield from _Clinic(trial).findings()


Rights = tuple[Pattern | None, ...]
Wrongs = Mapping[str, Pattern | None]
CAUSAL = PATTERNS["causal"]


def _band(before: int, after: int) -> Pattern:
    return lambda length: torch.ones(length, length, dtype=torch.bool).tril(after).triu(-before)


class _Clinic:
    """A function under examination: the layout of its inputs, sizes that run, and the form of its mask."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.meant = trial, trial.meant
        self.subject = Subject(trial, ROLES, named=OTHERS)
        self.subject.shape_of = lambda inputs: (*inputs["query"].shape[:-1], inputs["value"].shape[-1])
        self.layout, self.sizes, self.forms = "batch", [*SIZES], dict[str, Form]()
        name = getattr(trial.candidate, "__name__", type(trial.candidate).__name__)
        asked = self.meant.causal
        self.causal = asked or (asked is None and "causal" in name and "mask" not in self.subject.accepts)
        self.rights: Rights = (CAUSAL,) if self.causal else (None,) if asked is False else (None, CAUSAL)
        self.wrongs: Wrongs = WRONG_PATTERNS | ({"causal_open": None} if self.causal else {})

    # ---- cases

    def case(
        self, sizes: tuple[int, ...], form: Form | None = None, digits: int | None = None,
        rights: Rights | None = None, wrongs: Wrongs | None = None, **options: Any,
    ) -> Case:  # fmt: skip
        """Inputs of these sizes as the function wants them, what is right for them, and what is wrong."""
        batch, queries, keys, head_dim, value_dim = sizes
        lead = {"batch": (batch,), "heads": (batch, 3), "single": ()}[self.layout]
        shapes = (*lead, queries, head_dim), (*lead, keys, head_dim), (*lead, keys, value_dim)
        query, key, value = samples(*shapes, digits=digits)
        inputs: dict[str, Any] = {"query": query, "key": key, "value": value} | options
        mask = None
        if form is not None:
            given, mask = self.masked(visible((batch,), queries, keys), form)
            inputs |= given
        inputs |= {"d_k": head_dim} if "d_k" in self.subject.accepts - self.subject.optional else {}
        inputs |= (
            {"window": keys} if "window" in self.subject.accepts - self.subject.optional - {*options} else {}
        )

        def seen(pattern: Pattern | None) -> Tensor | None:
            return pattern(queries) if pattern is not None and queries == keys else None

        def right(pattern: Pattern | None) -> Tensor:
            acting = [each for each in (mask, seen(pattern)) if each is not None]
            both = acting[0] if len(acting) == 1 else acting[0] & acting[1] if acting else None
            return scaled_dot_product_attention(query, key, value, both)[0]

        def wrong() -> Named:
            for pattern in known:
                yield (), right(pattern)
            for name, pattern in others.items() if queries == keys else ():
                blind = ~pattern(queries).any(-1, keepdim=True) if pattern else torch.tensor(False)
                for row in (torch.tensor(0.0), torch.tensor(torch.nan), value.mean(dim=-2, keepdim=True)):
                    yield (name,), torch.where(blind, row, right(pattern))
            for most in (1, 3):
                for pattern in known:
                    yield from mistakes(query, key, value, mask, most, seen(pattern))

        known = self.rights if rights is None else rights
        others = self.wrongs if wrongs is None else wrongs
        return Case(inputs, right(known[0]), wrong)

    def masked(self, mask: Tensor, form: Form) -> tuple[dict[str, Any], Tensor]:
        """The argument for a mask (batch, queries, keys), and the mask that acts on scores of this layout."""
        if mask.shape[1] == mask.shape[2]:
            mask = mask | torch.eye(mask.shape[1], dtype=torch.bool)
        acting = form.effective(mask)
        return form.given(acting, 3), {"heads": acting[:, None], "single": acting[0]}.get(self.layout, acting)

    def findings(self) -> Iterator[Finding]:
        """Yield the known mistakes, with and without masks, then what a mask may do besides."""
        roles = [role for role in ("mask", "valid_lens", "key_padding_mask") if role in self.subject.accepts]
        ways = [(role, form) for role in roles for form in self._forms(role)]
        self._choose([form for _, form in ways] if {*roles} - self.subject.optional else [None])
        found: list[Finding] = []
        unclear = False
        for role in roles:
            self._choose_form(role)
            self.trial.skipped += [] if role in self.forms else ["mask"]
        needed = bool(self.forms and {*roles} - self.subject.optional)
        every: list[Form | None] = [*self.forms.values(), *(() if needed else (None,))]
        for form in every:
            new = [*self._examined(form)]
            names = {finding.name for finding in found}
            found += [finding for finding in new if finding.name not in names]
            unclear |= bool({finding.name for finding in new} & UNCLEAR) and form is every[0]
            if unclear:
                break
        if any(finding.name == "differs" for finding in found) and (mixed := self._mixed()):
            found = [mixed]
        yield from found
        names = {finding.name for finding in found}
        if not unclear:
            self.trial.examined += ["numbers", *(["mask"] if self.forms else [])]
            yield from (finding for finding in self._options() if finding.name not in names)
            if self.forms and not names & {*HIDING}:
                first = next(iter(self.forms.values()))
                yield from self._blind(first, names)
                yield from self._leaking(first)
            yield from self._remarks()

    def _examined(self, form: Form | None) -> Iterator[Finding]:
        small = (self.case(sizes, form, 1) for sizes in SMALL)
        return examine(self.subject, [self.case(sizes, form) for sizes in self.sizes], [*small])

    # ---- how it is called

    def _forms(self, role: str) -> Iterator[Form]:
        return (form for ways in forms({role}, self.meant) for form in ways)

    def _fits(self, case: Case) -> bool:
        result = answer(self.subject, case)
        return not isinstance(result, CallFailed) and result.shape == case.expected.shape

    def _choose(self, ways: list[Form | None]) -> None:
        """Find the layout and the sizes that run: with a batch, with heads as well, or without both."""
        for self.layout in ("batch", "heads", "single"):
            running = [sizes for sizes in SIZES if any(self._fits(self.case(sizes, form)) for form in ways)]
            if running:
                self.sizes = running[:3]
                return
        self.layout = "batch"

    def _choose_form(self, role: str) -> None:
        """Find the form of the mask with which the function is right, or has the fewest mistakes.

        Where it takes a mask for each sequence, it must be right with that, not with one for all alone.
        """
        fewest, takes_each = 99, False
        for ways in forms({role}, self.meant):
            for form in ways:
                case = self.case(self.sizes[0], form)
                result = answer(self.subject, case)
                if isinstance(result, CallFailed):
                    continue
                if result.shape == case.expected.shape and (form.is_each or not takes_each):
                    takes_each |= form.is_each
                    names = case.names(result) if result.isfinite().all() else None
                    count = 9 if names is None else len(names)
                    if count < fewest:
                        fewest, self.forms[role] = count, form
                break
            if not fewest:
                return

    # ---- what else it may do

    def _remarks(self) -> Iterator[Finding]:
        """What is a matter of convention."""
        meaning = self.forms["mask"].meaning if "mask" in self.forms else "keeps"
        if meaning != "keeps" and self.meant.mask is None:
            yield Finding(f"mask_{meaning}")
        if "additive" in meaning:
            return
        square = next((sizes for sizes in self.sizes if sizes[1] == sizes[2]), None)
        if square and not self.causal and not {*self.forms} - self.subject.optional:
            case = self.case(square, rights=(CAUSAL,))
            result = answer(self.subject, case)
            if same(result, case.expected):
                yield Finding("causal_inside")

    def _options(self) -> Iterator[Finding]:
        """Whether `is_causal` and `window` do what they say."""
        square = next((sizes for sizes in self.sizes if sizes[1] == sizes[2]), None)
        both_ways = (_band(WINDOW, WINDOW), _band(WINDOW - 1, WINDOW - 1), _band(WINDOW // 2, WINDOW // 2))
        wide = {"window_ignored": CAUSAL, "window_one_more": _band(WINDOW, 0), "window_one_less": _band(1, 0)}
        options: dict[str, tuple[Any, Rights, Wrongs]] = {
            "is_causal": (True, (CAUSAL,), WRONG_PATTERNS | {"causal_open": None}),
            "window": (WINDOW, (_band(WINDOW - 1, 0), *(() if self.causal else both_ways)), wide),
        }
        for name, (value, rights, wrongs) in options.items():
            if square and name in self.subject.accepts:
                wrongs = wrongs if self.causal or name != "window" else {**wrongs, "window_ignored": None}
                case = self.case(square, None, None, rights, wrongs, **{name: value})
                yield from examine(self.subject, [case])

    def _blind(self, form: Form, names: Set[str]) -> Iterator[Finding]:
        """What a query gets that may attend to nothing, and whether gradients are numbers then."""
        for sizes in ((1, 2, 3, 4, 2), (1, 2, 2, 4, 4), (1, 5, 5, 7, 7)):
            case = self.case(sizes, form, 1)
            mask = visible((1,), *sizes[1:3])
            mask[:, 0] = False
            if form.by_keys:
                mask[:] = False
            result = answer(self.subject, Case({**case.inputs, **form.given(mask, 3)}, case.expected))
            if isinstance(result, CallFailed) or result.shape != case.expected.shape:
                continue
            inputs = {**case.inputs, **form.given(mask, 3)}
            row = result[..., :1, :]
            right = torch.cat((torch.zeros_like(row), result[..., 1:, :]), dim=-2)
            self.trial.examined.append("blind")
            if bool(row.isnan().all()):
                yield Finding("mask_nan", inputs, right, result)
            elif same(row, inputs["value"].mean(dim=-2, keepdim=True)):
                yield Finding("mask_uniform", inputs, right, result)
            elif not names and form.meaning != "additive" and not same(row, torch.zeros_like(row)):
                gap = f"{row.abs().max().item():.2g}"
                plain = self.case(sizes, None, 1).expected[..., :1, :]
                name = "mask_finite" if torch.allclose(row, plain, atol=0.05) else "differs"
                yield Finding(name, inputs, right, result, {"difference": gap})
            elif (gradient := _gradient(self.subject, inputs)) is not None and bool(gradient.isnan().any()):
                yield Finding("mask_nan_gradient", inputs, torch.zeros_like(gradient), gradient)
            return

    def _leaking(self, form: Form) -> Iterator[Finding]:
        """Whether NaN in a value that no query sees reaches the output."""
        if form.by_keys:
            return
        for sizes in ((1, 2, 3, 4, 2), (1, 3, 3, 4, 4)):
            case = self.case(sizes, form, 1)
            seen = torch.tensor([True, True, False])
            inputs = {**case.inputs, **form.given(seen.expand(1, *sizes[1:3]), 3)}
            clean = answer(self.subject, Case(inputs, case.expected))
            inputs["value"] = inputs["value"].masked_fill(~seen[:, None], torch.nan)
            leaked = answer(self.subject, Case(inputs, case.expected))
            if isinstance(clean, CallFailed) or isinstance(leaked, CallFailed):
                continue
            if bool(leaked.isnan().any()) and not bool(clean.isnan().any()):
                yield Finding("nan_leak", inputs, clean, leaked)
            return

    def _mixed(self) -> Finding | None:
        """Whether a sequence gives something else alone than in its batch."""
        whole = self.case(self.sizes[0], next(iter(self.forms.values()), None))
        together = answer(self.subject, whole)
        for i in range(len(whole.expected) if self.layout != "single" else 0):
            own = {
                name: x[i : i + 1] if isinstance(x, Tensor) and len(x) == len(whole.expected) else x
                for name, x in whole.inputs.items()
            }
            alone = answer(self.subject, Case(own, whole.expected[i : i + 1]))
            if isinstance(together, CallFailed) or isinstance(alone, CallFailed):
                return None
            if not same(together[i : i + 1], alone):
                return Finding("batch_mixed", dict(whole.inputs), alone, together[i : i + 1])
        return None


def _gradient(subject: Subject, inputs: dict[str, Any]) -> Tensor | None:
    """The gradient of the queries, if the candidate has one."""
    query = inputs["query"].clone().requires_grad_()

    def backward(**given: Tensor) -> Tensor | None:
        output = first_output(subject.call(**given))
        if not output.requires_grad:
            return None
        output.sum().backward()
        return query.grad

    try:
        gradient: Tensor | None = subject.trial.call(backward, **(inputs | {"query": query}))
    except CallFailed:
        return None
    return gradient
