"""Scaled dot-product attention: what each mistake computes, alone and together with others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from attention_clinic.arguments import Subject, roles
from attention_clinic.cases import Case, Named, Names, answer, choices, examine, same, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.trial import CallFailed, Trial, first_output
from polyhead.functional import scaled_dot_product_attention

ROLES = roles(
    query="queries q qs xq q_in",
    key="keys k ks xk k_in",
    value="values v vs xv v_in",
    mask="masks attn_mask attention_mask m allowed visible may_attend keep",
)

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


def weigh(scores: Tensor, mask: Tensor | None, hiding: str = "", weighing: str = "") -> Tensor:
    """Weights of scores with these mistakes; without any they are right (NaN in a row that sees nothing)."""
    if mask is None:
        return WEIGHING[weighing](scores)
    result = WEIGHING[weighing](HIDING[hiding](scores, mask))
    return result * mask if hiding == "mask_after" else result


def hidings(mask: Tensor | None) -> Sequence[tuple[str, str]]:
    """The stage of hiding; without a mask there is no mistake in it."""
    return [("", "")] if mask is None else [(name, name) for name in HIDING]


def mistakes(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, most: int = 3) -> Named:
    """What attention gives with up to `most` mistakes at once, the fewest first."""
    for names, (order, scale, hiding, weighing) in choices(
        INPUTS.items(), SCALES.items(), hidings(mask), ((name, name) for name in WEIGHING), most=most
    ):
        if "no_softmax" in names and hiding in ("mask_after", "mask_zero"):
            continue
        if "queries_keys_swapped" in names and query.shape != key.shape:
            continue
        q, k, v = order(query, key, value)
        scores = q @ k.mT * scale(query.shape[-1])
        if weighing == "no_softmax" and not hiding and mask is not None:
            yield names, (scores * mask) @ v  # a hidden score as a weight of 0
        else:
            yield names, weigh(scores, mask, hiding, weighing) @ v


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


# (batch, queries, keys, head_dim, value_dim) of `case`: of large ones, and of small ones for evidence.
SIZES = ((2, 3, 5, 7, 11), (2, 5, 5, 7, 11), (2, 5, 5, 7, 7))
SMALL = ((1, 1, 2, 4, 1), (1, 2, 2, 4, 1), (1, 2, 2, 4, 4), (1, 2, 3, 4, 2), (2, 2, 3, 4, 2))


def diagnose_attention(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(query, key, value[, mask])`."""
    subject = Subject(trial, ROLES)
    masked = "mask" in subject.accepts
    build = _built(subject, masked)
    cases = [build(*sizes) for sizes in SIZES]
    found = [*examine(subject, cases, [build(*sizes, digits=1) for sizes in SMALL])]
    if any(finding.name == "differs" for finding in found) and (mixed := _mixed(subject, cases[0])):
        found = [mixed]
    yield from found
    names = tuple(finding.name for finding in found)
    unclear = {"not_deterministic", "raises", "no_tensor", "dtype", "shape", "differs", "batch_mixed"}
    if masked and not {*names} & {*unclear, *HIDING}:
        yield from _unmasked(subject, build, names)
        yield from _blind(subject, build, names)
        yield from _leaking(subject, build)


def _unmasked(subject: Subject, build: Callable[..., Case], names: Names) -> Iterator[Finding]:
    """Whether the mask can be left out, where the signature says so."""
    if "mask" in subject.optional:
        plain = partial(build, masked=False)
        for found in examine(subject, [plain(*SIZES[0])], [plain(*sizes, digits=1) for sizes in SMALL]):
            if found.name not in names:
                yield found


def _blind(subject: Subject, build: Callable[..., Case], names: Names) -> Iterator[Finding]:
    """What a query gets that may attend to nothing, and whether gradients are numbers then."""
    for sizes in ((1, 2, 3, 4, 2), SIZES[-1]):
        case = build(*sizes, digits=1)
        inputs = {**case.inputs, "mask": case.inputs["mask"].clone()}
        inputs["mask"][..., 0, :] = False
        result = answer(subject, Case(inputs, case.expected))
        if isinstance(result, CallFailed) or result.shape != case.expected.shape:
            continue
        row = result[..., :1, :]
        right = torch.cat((torch.zeros_like(row), result[..., 1:, :]), dim=-2)
        if bool(row.isnan().all()):
            yield Finding("mask_nan", inputs, right, result)
        elif same(row, inputs["value"].mean(dim=-2, keepdim=True)):
            yield Finding("mask_uniform", inputs, right, result)
        elif not names and not same(row, torch.zeros_like(row)):
            gap = f"{row.abs().max().item():.2g}"
            yield Finding("differs", inputs, right, result, {"difference": gap})
        elif (gradient := _gradient(subject, inputs)) is not None and bool(gradient.isnan().any()):
            yield Finding("mask_nan_gradient", inputs, torch.zeros_like(gradient), gradient)
        return


def _gradient(subject: Subject, inputs: dict[str, Tensor]) -> Tensor | None:
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


def _leaking(subject: Subject, build: Callable[..., Case]) -> Iterator[Finding]:
    """Whether NaN in a value that no query sees reaches the output."""
    case = build(1, 2, 3, 4, 2, digits=1)
    seen = torch.tensor([True, True, False])
    inputs = {**case.inputs, "mask": seen.expand_as(case.inputs["mask"]).clone()}
    clean = answer(subject, Case(inputs, case.expected))
    inputs["value"] = inputs["value"].masked_fill(~seen[:, None], torch.nan)
    leaked = answer(subject, Case(inputs, case.expected))
    if isinstance(clean, CallFailed) or isinstance(leaked, CallFailed):
        return
    if bool(leaked.isnan().any()) and not bool(clean.isnan().any()):
        yield Finding("nan_leak", inputs, clean, leaked)


def _built(subject: Subject, masked: bool) -> Callable[..., Case]:
    """How this candidate wants its inputs: with a batch, with heads as well, or without both."""
    layouts: list[Callable[..., Case]] = [
        partial(case, masked=masked), partial(case, masked=masked, heads=3), partial(_single, masked=masked),
    ]  # fmt: skip
    for build in layouts:
        if not isinstance(answer(subject, build(2, 5, 5, 7, 7)), CallFailed):
            return build
    return layouts[0]


def _single(_: int, *sizes: int, masked: bool, digits: int | None = None) -> Case:
    queries, keys, head_dim, value_dim = sizes
    return case(0, queries, keys, head_dim, value_dim, masked=masked, digits=digits)


def _mixed(subject: Subject, whole: Case) -> Finding | None:
    """Whether a sequence gives something else alone than in its batch."""
    together = answer(subject, whole)
    for i in range(len(whole.expected)):
        own = {name: value[i : i + 1] for name, value in whole.inputs.items()}
        alone = answer(subject, Case(own, whole.expected[i : i + 1]))
        if isinstance(together, CallFailed) or isinstance(alone, CallFailed):
            return None
        if not same(together[i : i + 1], alone):
            return Finding("batch_mixed", dict(whole.inputs), alone, together[i : i + 1])
    return None
