"""Scaled dot-product attention: what each mistake computes, alone and together with others."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_clinic import cases
from attention_clinic.arguments import ROLES, Subject
from attention_clinic.cases import Case, Named, by_name, choices, examine, fits, same, samples
from attention_clinic.diagnosis import FINDINGS, Finding
from attention_clinic.kinds import examination
from attention_clinic.kinds.examination import CAUSAL, WRONG_PATTERNS, Examination, Form, Pattern, band, forms
from attention_clinic.kinds.modules import COUNTS, HEAD_DIMS, WIDTHS, declared
from attention_clinic.trial import CallFailed, Trial
from polyhead.functional import scaled_dot_product_attention

Inputs = tuple[Tensor, Tensor, Tensor]  # queries, keys and values
OTHERS = ROLES["attention"].keys() - {"query", "key", "value", "mask"}  # only their names can tell

# The stages of the computation: what is right comes first, under no name.
INPUTS: dict[str, Callable[[Tensor, Tensor, Tensor], Inputs]] = {
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


def scale_of(name: str, head_dim: int, embed_dim: int) -> float:
    """What the dot products are multiplied with: also with the root of the model's size."""
    return SCALES.get(name, SCALES[""])(embed_dim if name == "model_root" else head_dim)


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


def hidings(mask: Tensor | None, pattern: Tensor | None = None) -> list[tuple[str, str]]:
    """The stage of hiding: what may be wrong with a mask, or with a pattern if it is all that hides."""
    if mask is None and pattern is None:
        return by_name("")
    return by_name(*(name for name in HIDING if mask is not None or name not in _OTHER_PATTERNS))


def weigh(
    scores: Tensor, mask: Tensor | None, hiding: str = "", weighing: str = "", pattern: Tensor | None = None
) -> Tensor:
    """Weights of scores with these mistakes; without any they are right (NaN in a row that sees nothing).

    A pattern takes the place of a mask that is not there; else it hides, too, and rightly.
    """
    if mask is None:
        mask, pattern = pattern, None
    scores = scores if pattern is None else scores.masked_fill(~pattern, -torch.inf)
    if mask is None:
        return WEIGHING[weighing](scores)
    result = WEIGHING[weighing](HIDING[hiding](scores, mask))
    return result * mask if hiding == "mask_after" else result


def mistakes(inputs: Inputs, mask: Tensor | None, pattern: Tensor | None, most: int) -> Named:
    """What attention gives with up to `most` mistakes at once, the fewest first; a pattern hides, too."""
    query, key, value = inputs
    acting = pattern if mask is None else mask
    stages = INPUTS.items(), SCALES.items(), hidings(mask, pattern), by_name(*WEIGHING)
    for names, (order, scale, hiding, weighing) in choices(*stages, most=most):
        if "no_softmax" in names and hiding in ("mask_after", "mask_zero"):
            continue
        if "queries_keys_swapped" in names and query.shape != key.shape:
            continue
        q, k, v = order(query, key, value)
        scores = q @ k.mT * scale(query.shape[-1])
        v = v / query.shape[-1] ** 0.5 if "scaled_after" in names else v
        if weighing == "no_softmax" and not hiding and acting is not None:
            yield names, (scores * acting) @ v  # a hidden score as a weight of 0
        yield names, weigh(scores, mask, hiding, weighing, pattern) @ v


def visible(lead: tuple[int], queries: int, keys: int) -> Tensor:
    """A mask (batch, queries, keys), in which every query sees something, and none sees all."""
    batch = torch.arange(*lead)[:, None, None]
    numbers = (torch.arange(keys) + 2 * torch.arange(queries)[:, None] + batch) % keys
    return (numbers != 0) & (numbers != 3)


def with_blind_rows(output: Tensor, mask: Tensor, value: Tensor) -> Iterator[Tensor]:
    """The output if queries that see nothing get zeros, NaN, or the average value."""
    blind = ~mask.any(-1, keepdim=True)
    for row in (torch.tensor(0.0), torch.tensor(torch.nan), value.mean(dim=-2, keepdim=True)):
        yield torch.where(blind, row, output)


Patterns = Sequence[Pattern | None]  # None: every token sees every other
NamedPatterns = dict[str, Pattern | None]
Sizes = tuple[int, ...]
Given = tuple[dict[str, Any], Tensor | None]  # the arguments, and the mask that acts


def case_of(inputs: Mapping[str, Any], mask: Tensor | None, right: Patterns, wrong: NamedPatterns) -> Case:
    """Attention to these inputs with this mask, for which any of some patterns is right, others are wrong."""
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    queries, keys = query.shape[-2], key.shape[-2]
    acting = torch.ones(queries, keys, dtype=torch.bool) if mask is None else mask

    def seen(pattern: Pattern | None) -> Tensor | None:
        return pattern(queries, keys) if pattern is not None and queries <= keys else None

    def both(pattern: Pattern | None) -> Tensor:
        hidden = seen(pattern)
        return acting if hidden is None else acting & hidden

    def attention(pattern: Pattern | None) -> Tensor:
        return scaled_dot_product_attention(query, key, value, both(pattern))[0]

    def known_outputs() -> Named:
        for pattern in right:
            yield (), attention(pattern)
        for name, pattern in wrong.items():
            for output in with_blind_rows(attention(pattern), both(pattern), value):
                yield (name,), output
        for most, pattern in itertools.product((1, 3), right):
            yield from mistakes((query, key, value), mask, seen(pattern), most)

    return Case(inputs, attention(right[0]), known_outputs)


def case(batch: int, queries: int, keys: int, head_dim: int, value_dim: int, masked: bool = False) -> Case:
    """Attention of these sizes."""
    query, key, value = samples((batch, queries, head_dim), (batch, keys, head_dim), (batch, keys, value_dim))
    inputs = {"query": query, "key": key, "value": value}
    mask = visible((batch,), queries, keys) if masked else None
    return case_of(inputs | ({} if mask is None else {"mask": mask}), mask, [None], {})


def blind_case() -> Case:
    """A mask with which one query may attend to nothing: it gets zeros.

    Beside another mistake it may have any weights: its own, none, NaN, equal ones.
    """
    inputs = case(2, 3, 5, 7, 11, masked=True).inputs
    query, key, value, mask = inputs.values()
    mask[0, 1] = False
    expected, _ = scaled_dot_product_attention(query, key, value, mask)

    def known_outputs() -> Named:
        for names, output in mistakes((query, key, value), mask, None, most=2):
            yield names, output
            for blinded in with_blind_rows(output, mask, key if "values_are_keys" in names else value):
                yield names, blinded
        _, with_nan, uniform = with_blind_rows(expected, mask, value)
        yield from [(("mask_nan",), with_nan), (("mask_uniform",), uniform)]

    return Case(inputs, expected, known_outputs)


# (batch, queries, keys, head_dim, value_dim) of a case: of large ones, and of small ones for evidence.
SIZES = ((2, 3, 5, 7, 11), (2, 5, 5, 7, 11), (2, 5, 5, 7, 7), (2, 3, 5, 7, 7))
SMALL = ((1, 1, 2, 4, 1), (1, 2, 2, 4, 1), (1, 2, 2, 4, 4), (1, 2, 3, 4, 2), (2, 2, 3, 4, 2))
# From (batch, heads, num_tokens, size), other places for heads: after the tokens, or side by side.
PLACES: dict[str, Callable[[Tensor], Tensor]] = {
    "tokens": lambda x: x.transpose(1, 2), "joined": lambda x: x.transpose(1, 2).flatten(2),
}  # fmt: skip
WINDOW = 3
# Findings after which nothing more can be told.
UNCLEAR = {"not_deterministic", "batch_mixed", "all_nan", *FINDINGS["misfit"]}


def diagnose_attention(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(query, key, value[, mask])`."""
    return _Function(trial).findings()


class _Function(Examination):
    """A function under examination, called with a batch, with heads before or after tokens, or neither.

    What keeps a number of heads may also split tokens into them and join them again.
    """

    def __init__(self, trial: Trial) -> None:
        subject = Subject(trial, ROLES["attention"], named=OTHERS)
        heads, width = (declared(trial.candidate, *names) for names in (COUNTS, WIDTHS))
        super().__init__(subject, trial.meant, num_heads=heads or 3)
        self.head_dim = declared(trial.candidate, *HEAD_DIMS) or (width or 0) // (heads or 1)
        self.layouts = [*(["joined"] if heads else []), "batch", "heads", "tokens", "single"]
        trial.kind_is_guessed |= bool(heads)  # sizes that do not fit are no mistake of the candidate
        subject.shape_of = lambda inputs: (*inputs["query"].shape[:-1], inputs["value"].shape[-1])
        self.sizes: list[Sizes] = [*SIZES]
        either: Patterns = [None] if self.meant.causal is False else [None, CAUSAL]
        self.right = [CAUSAL] if self.causal else either
        # PyTorch's own function aligns the triangle so: a note, since with as many queries it is the same.
        self.wrong: NamedPatterns = {**WRONG_PATTERNS, "cache_upper_left": examination.upper_left}
        self.wrong |= {"causal_open": None} if self.causal else {}

    def case(self, sizes: Sizes, form: Form | None = None, digits: int | None = None) -> Case:
        """Inputs of these sizes as the function wants them, what is right for them, and what is wrong."""
        return self._case_of(*self._inputs(sizes, form, digits), self.right, self.wrong)

    def _inputs(self, sizes: Sizes, form: Form | None = None, digits: int | None = None) -> Given:
        batch, queries, keys, head_dim, value_dim = sizes
        with_heads = self.layout in ("heads", *PLACES)
        if self.head_dim:
            value_dim = self.head_dim if value_dim == head_dim else value_dim
            head_dim = self.head_dim
        lead = (batch, self.num_heads) if with_heads else () if self.layout == "single" else (batch,)
        shapes = (*lead, queries, head_dim), (*lead, keys, head_dim), (*lead, keys, value_dim)
        query, key, value = samples(*shapes, digits=digits)
        inputs: dict[str, Any] = {"query": query, "key": key, "value": value}
        inputs |= {role: n for role, n in (("d_k", head_dim), ("window", keys)) if role in self.required}
        mask = None
        if form is not None:
            given, mask = self.masked(visible((batch,), queries, keys), form)
            mask = mask[:, None] if with_heads else mask[0] if self.layout == "single" else mask
            inputs |= given
        return inputs, mask

    def _case_of(self, *given: Any) -> Case:
        """See `case_of`; in this layout."""
        case = case_of(*given)
        if (place := PLACES.get(self.layout)) is None:
            return case
        turned = {role: place(case.inputs[role]) for role in ("query", "key", "value")}
        seen = case.seen_as({**case.inputs, **turned}, place)
        viewed = ("view_back",), case.expected.reshape(seen.expected.shape)
        return replace(seen, mistakes=lambda: itertools.chain([viewed], seen.mistakes()))

    def findings(self) -> Iterator[Finding]:
        """Yield the known mistakes, with and without masks, then what a mask may do besides."""
        self._choose()
        for role in self.mask_roles:
            self._choose_form(role)
            self.trial.skipped += [] if role in self.forms else ["mask"]
        every: list[Form | None] = [*self.forms.values()]
        every += [] if every and self.needs_mask else [None]
        found: dict[str, Finding] = {}
        for form in every:
            small = [self.case(sizes, form, 1) for sizes in SMALL]
            for finding in examine(self.subject, [self.case(sizes, form) for sizes in self.sizes], small):
                found.setdefault(finding.name, finding)
            unclear = form is every[0] and not UNCLEAR.isdisjoint(found)
            if unclear:
                break
        if "differs" in found and (mixed := self.mixed(self.case(self.sizes[0], self.form))):
            found = {mixed.name: mixed}
        yield from found.values()
        if unclear:
            return
        self.trial.examined += ["numbers", *(["mask"] if self.forms else [])]
        yield from (finding for finding in self._options() if finding.name not in found)
        if self.form and HIDING.keys().isdisjoint(found):
            yield from self._blind(self.form, has_mistakes=bool(found))
            yield from self._leaking(self.form)
        yield from self.remarks_on_mask(self.forms.get("mask"))
        if self._square and not self.causal and not self.needs_mask:
            case = self._case_of(*self._inputs(self._square), [CAUSAL], {})
            if same(self.output(case.inputs), case.expected):
                yield Finding("causal_inside")  # a token sees no later ones though nobody says so

    # ---- how it is called

    def _choose(self) -> None:
        """Find the layout and the sizes that run."""
        masks = itertools.chain.from_iterable(forms(role, self.meant) for role in self.mask_roles)
        tries: list[Form | None] = [*masks] if self.needs_mask else [None]
        running = dict[str, list[Sizes]]()
        mistakes = dict[str, int]()
        for layout in self.layouts:
            self.layout = layout
            if self.layout == "single" and running:
                break  # a function of one sequence alone
            fitting = [each for each in self.sizes if any(fits(*self._tried(each, form)) for form in tries)]
            if fitting:
                running[self.layout] = [*fitting[:3]]
                mistakes[self.layout] = min(cases.distance(*self._tried(fitting[0], form)) for form in tries)
        # What runs in several layouts is meant for the one in which it is right, or has the fewest mistakes.
        self.layout = min(running, key=mistakes.__getitem__, default="batch")
        self.sizes = running.get(self.layout, self.sizes)

    def _tried(self, sizes: Sizes, form: Form | None) -> tuple[Any, Case]:
        case = self.case(sizes, form)
        return self.output(case.inputs), case

    def _choose_form(self, role: str) -> None:
        """Find the form of the mask with which the function is right, or has the fewest mistakes.

        Where it takes a mask for each sequence, it must be right with that, not with one for all alone.
        """
        fewest, takes_each = cases.UNKNOWN + 1, False
        for form, case, result in self.answers(role, partial(self.case, self.sizes[0])):
            if takes_each and not form.is_each:
                continue
            takes_each |= form.is_each
            far = cases.distance(result, case) if result.isfinite().all() else cases.UNKNOWN
            if far < fewest:
                fewest, self.forms[role] = far, form
            if far == 0:
                return

    # ---- what else it may do

    @property
    def token_axis(self) -> int:
        """The axis of inputs and outputs that counts tokens."""
        return -3 if self.layout == "tokens" else -2

    @property
    def _square(self) -> Sizes | None:
        """Sizes that run with as many keys as queries."""
        return next((sizes for sizes in self.sizes if sizes[1] == sizes[2]), None)

    def _options(self) -> Iterator[Finding]:
        """Whether `is_causal` and `window` do what they say."""
        both_ways = [band(reach, reach) for reach in (WINDOW, WINDOW - 1, WINDOW // 2)]
        windows = [band(WINDOW - 1, 0), *([] if self.causal else both_ways)]
        no_windows: NamedPatterns = {
            "window_ignored": CAUSAL if self.causal else None,
            "window_one_more": band(WINDOW, 0),
            "window_one_less": band(1, 0),
        }
        options: dict[str, tuple[Any, Patterns, NamedPatterns]] = {
            "is_causal": (True, [CAUSAL], WRONG_PATTERNS | {"causal_open": None}),
            "window": (WINDOW, windows, no_windows),
        }
        for role, (value, right, wrong) in options.items():
            if self._square and role in self.subject.accepts:
                inputs, _ = self._inputs(self._square)
                yield from examine(self.subject, [self._case_of({**inputs, role: value}, None, right, wrong)])

    def _blind(self, form: Form, has_mistakes: bool) -> Iterator[Finding]:
        """What a query gets that may attend to nothing, and whether gradients are numbers then."""
        for sizes in ((1, 2, 3, 4, 2), (1, 2, 2, 4, 4), (1, 5, 5, 7, 7)):
            case, mask = self.case(sizes, form, 1), visible((1,), *sizes[1:3])
            mask[:, slice(None) if form.by_keys else 0] = False
            inputs = {**case.inputs, **form.given(mask, self.num_heads)}
            result = self.output(inputs)
            if isinstance(result, CallFailed) or not fits(result, case):
                continue
            row, right = result.narrow(self.token_axis, 0, 1), result.clone()
            right.narrow(self.token_axis, 0, 1).zero_()
            self.trial.examined.append("blind")
            if bool(row.isnan().all()):
                yield Finding("mask_nan", inputs, right, result)
            elif same(row, inputs["value"].mean(dim=self.token_axis, keepdim=True)):
                yield Finding("mask_uniform", inputs, right, result)
            elif not has_mistakes and form.meaning != "additive" and bool(row.any()):
                plain = self.case(sizes, None, 1).expected.narrow(self.token_axis, 0, 1)
                name = "mask_finite" if torch.allclose(row, plain, atol=0.05) else "differs"
                yield Finding(name, inputs, right, result, {"difference": f"{row.abs().max().item():.2g}"})
            elif (gradient := self._gradient(inputs)) is not None and bool(gradient.isnan().any()):
                yield Finding("mask_nan_gradient", inputs, torch.zeros_like(gradient), gradient)
            return

    def _leaking(self, form: Form) -> Iterator[Finding]:
        """Whether NaN in a value that no query sees reaches the output."""
        for sizes in () if form.by_keys else ((1, 2, 3, 4, 2), (1, 3, 3, 4, 4)):
            seen = torch.tensor([True, True, False])
            mask = form.given(seen.expand(1, *sizes[1:3]), self.num_heads)
            inputs = {**self.case(sizes, form, 1).inputs, **mask}
            clean = self.output(inputs)
            hidden = ~seen[:, None, None] if self.layout == "tokens" else ~seen[:, None]
            inputs["value"] = inputs["value"].masked_fill(hidden, torch.nan)
            leaked = self.output(inputs)
            if isinstance(clean, CallFailed) or isinstance(leaked, CallFailed):
                continue
            if bool(leaked.isnan().any()) and not bool(clean.isnan().any()):
                yield Finding("nan_leak", inputs, clean, leaked)
            return

    def _gradient(self, inputs: Mapping[str, Any]) -> Tensor | None:
        """The gradient of the queries, if the candidate has one."""
        query = inputs["query"].clone().requires_grad_()
        output = self.output({**inputs, "query": query})
        if not isinstance(output, CallFailed) and output.requires_grad:
            with contextlib.suppress(CallFailed):
                self.trial.call(output.sum().backward)
        return query.grad
