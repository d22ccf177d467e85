"""Multi-head attention from its projections, with the mistakes that people make; as functions of matrices."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_clinic.arguments import ROLES, Subject, signature
from attention_clinic.cases import Case, Named, Names, by_name, choices, examine, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.attention import WEIGHING, Inputs, hidings, scale_of, weigh
from attention_clinic.kinds.examination import Pattern
from attention_clinic.kinds.modules import Reading, of_matrices
from attention_clinic.trial import CallFailed, Trial

# (batch, num_tokens, width), heads -> (batch, heads, num_tokens, size), and back; what is right has no name.
Split = Callable[[Tensor, int], Tensor]
SPLITS: dict[str, Split] = {
    "": lambda x, heads: torch.unflatten(x, -1, (heads, -1)).transpose(1, 2),
    "view": lambda x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1),
    "entries_before_heads": lambda x, heads: torch.unflatten(x, -1, (-1, heads)).permute(0, 3, 1, 2),
}
Join = Callable[[Tensor], Tensor]
JOINS: dict[str, Join] = {
    "": lambda x: x.transpose(1, 2).flatten(2),
    "view_back": lambda x: x.reshape(x.shape[0], x.shape[2], -1),
    "entries_before_heads": lambda x: x.permute(0, 2, 3, 1).flatten(2),
}


Turn = Callable[[Tensor], Tensor]


def unchanged(x: Tensor) -> Tensor:
    """The same."""
    return x


def unbiased(queries: int, keys: int) -> Tensor:
    """Nothing is added to scores."""
    return torch.zeros(())


Turns = tuple[Turn, Turn, Callable[[int, int], Tensor]]  # of queries, of keys, and what is added to scores
STILL: Turns = (unchanged, unchanged, unbiased)


@dataclass(frozen=True, eq=False)
class Frame:
    """What stands around the attention of a module, and may: norms, a residual, rotary positions, causality.

    Attributes:
        before: A norm of the queries' tokens, one of the keys', and one of the values'.
        residual: Whether the tokens are added to the output: "" for no, "raw", or "normed" as they come in.
        after: A norm of the output.
        turns: Rotary positions of queries and of keys, for (batch, heads, num_tokens, head_dim), or a bias.
        mended: What these should be.
        pattern: Which tokens see which, by their number.
        names: What is wrong with that.
        blind: What a query gets that sees nothing: "nan", "zero", or "uniform", the average.
    """

    before: tuple[Turn, Turn, Turn] = (unchanged, unchanged, unchanged)
    residual: str = ""
    after: Turn = unchanged
    turns: Turns = STILL
    mended: Turns = STILL
    pattern: Pattern | None = None
    names: Names = ()
    blind: str = "nan"

    def enter(self, inputs: Inputs) -> Inputs:
        """The tokens that are projected."""
        query, key, value = (norm(x) for norm, x in zip(self.before, inputs, strict=True))
        return query, key, value

    def leave(self, output: Tensor, inputs: Inputs) -> Tensor:
        """What becomes of the output."""
        if self.residual:
            output = output + (self.enter(inputs) if self.residual == "normed" else inputs)[0]
        return self.after(output)

    def seen(self, queries: int, keys: int) -> Tensor | None:
        """The pattern of so many tokens."""
        return self.pattern(queries, keys) if self.pattern is not None and queries == keys else None

    def weights(self, scores: Tensor, mask: Tensor | None, hiding: str, weighing: str) -> Tensor:
        """The weights of scores (batch, heads, queries, keys), with a mistake of each of two stages."""
        if mask is not None and hiding == "mask_tiled":
            folded = mask.expand(len(scores), *scores.shape[-2:]).repeat(scores.shape[1], 1, 1)
            mask, hiding = torch.unflatten(folded, 0, (len(scores), -1)), ""
        elif mask is not None:
            mask = mask[:, None]
        weights = weigh(scores, mask, hiding, weighing, self.seen(*scores.shape[-2:]))
        if self.blind != "nan" and not weighing and hiding in ("", "mask_inverted"):
            whole = 1 / scores.shape[-1] if self.blind == "uniform" else 0.0
            weights = torch.where(weights.isnan().all(dim=-1, keepdim=True), whole, weights)
        return weights


PLAIN = Frame()

# The stages of the computation: what is right comes first, under no name.
_WOVEN = "entries_before_heads"
# Into heads and back at once, since what a mistake is on the way in decides what the way back can be.
_SPLITS: list[tuple[str, tuple[Split, Join]]] = [
    ("", (SPLITS[""], JOINS[""])),
    ("view", (SPLITS["view"], JOINS[""])),
    ("view", (SPLITS["view"], JOINS["view_back"])),
    ("view_back", (SPLITS[""], JOINS["view_back"])),
    (_WOVEN, (SPLITS[_WOVEN], JOINS[""])),
    (_WOVEN, (SPLITS[_WOVEN], JOINS[_WOVEN])),
    ("across_heads", (lambda x, heads: torch.unflatten(x, -1, (heads, -1)), lambda x: x.flatten(2))),
    ("one_head", (lambda x, heads: x[:, None], lambda x: x[:, 0])),
    ("concat_axis", (SPLITS[""], lambda x: torch.cat(x.unbind(1), dim=0).reshape(len(x), x.shape[2], -1))),
    ("concat_axis", (SPLITS[""], JOINS[_WOVEN])),
]
_SCALINGS = by_name("", "unscaled", "model_root", "no_root", "scale_multiplied", "scaled_after")
# Which projection queries, keys and values go through.
_SHARED = [
    ("" if order == (0, 1, 2) else "shared_projection", order)
    for order in ((0, 1, 2), (0, 0, 2), (0, 1, 1), (1, 1, 2), (0, 1, 0))
]
# Heads of keys or values, once for each head of queries in a group.
_GROUPS: list[tuple[str, Split]] = [
    ("", lambda x, groups: x.repeat_interleave(groups, dim=1)),
    ("kv_tiled", lambda x, groups: x.repeat(1, groups, 1, 1)),
]
_WEIGHING = by_name(*WEIGHING)
_LAST = [("", True), ("no_output_projection", False)]  # whether there is an output projection
_ORDERS = [("", False), ("batch_first", True)]  # whether tokens are (num_tokens, batch, embed_dim)
RIGHT = ((SPLITS[""], JOINS[""]), "", (0, 1, 2), _GROUPS[0][1], "", "", True, False)  # of each stage


@dataclass(frozen=True, eq=False)
class Recipe:
    """A way to compute multi-head attention: of a reading, in a frame, with what is chosen in each stage."""

    reading: Reading
    frame: Frame
    chosen: Sequence[Any]

    def output(self, inputs: Inputs, mask: Tensor | None) -> Tensor:
        """What the recipe gives.

        Raises:
            RuntimeError: the sizes do not allow its mistake.
        """
        reading, frame = self.reading, self.frame
        (split, join), scaling, projections, repeat, hiding, weighing, projects, batch_second = self.chosen
        tokens = [x.transpose(0, 1) if batch_second else x for x in frame.enter(inputs)]
        counts = (reading.num_heads, *[reading.num_kv_heads] * 2)
        projected = [reading.project(number, x) for number, x in zip(projections, tokens, strict=True)]
        query, key, value = (
            split(reading.normed(number, x), count)
            for number, (x, count) in enumerate(zip(projected, counts, strict=True))
        )
        query, key = reading.normed(0, query), reading.normed(1, key)
        turn_query, turn_key, bias = frame.turns
        query, key = turn_query(query), turn_key(key)
        key, value = (repeat(x, reading.num_heads // reading.num_kv_heads) for x in (key, value))
        head_dim, (embed_dim, *_) = reading.head_dim, reading.widths
        scores = query @ key.mT * scale_of(scaling, head_dim, embed_dim) + bias(query.shape[2], key.shape[2])
        weights = frame.weights(scores, mask, hiding, weighing)
        output = join((weights / head_dim**0.5 if scaling == "scaled_after" else weights) @ value)
        output = reading.project(3, output) if projects else output
        return frame.leave(output.transpose(0, 1) if batch_second else output, inputs)


def outputs(
    reading: Reading, inputs: Inputs, mask: Tensor | None, frame: Frame, least: int = 0, most: int = 2
) -> Iterator[tuple[Names, Recipe, Tensor]]:
    """What multi-head attention gives with so many mistakes, and the recipes for it.

    They are the mistakes that such projections can have, and what hides: a mask, or a pattern alone.
    """
    hiding = hidings(mask, frame.seen(*(x.shape[1] for x in inputs[:2])))
    hiding += [] if mask is None else by_name("mask_tiled")
    groups = _GROUPS if reading.num_heads != reading.num_kv_heads else _GROUPS[:1]
    last = _LAST if reading.output else _LAST[:1]
    stages = _SPLITS, _SCALINGS, _SHARED, groups, hiding, _WEIGHING, last, _ORDERS
    for names, chosen in choices(*stages, least=least, most=most):
        if "one_head" in names:  # of which head_dim and embed_dim are the same
            names = tuple(name for name in names if name != "model_root")
        recipe = Recipe(reading, frame, chosen)
        with contextlib.suppress(RuntimeError):
            yield names, recipe, recipe.output(inputs, mask)


def _case(given: dict[str, Any], weights: Sequence[Tensor], num_heads: int, join: str) -> Case:
    """Self-attention of the first argument; `join` names a view that joins the heads."""
    x, *_ = given.values()

    def known_outputs() -> Named:
        for names, _, output in outputs(of_matrices(weights, num_heads), (x, x, x), None, PLAIN):
            yield tuple(join if name == "view_back" else name for name in names), output

    return Case(given, next(known_outputs())[1], known_outputs)


def parallel(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """Four matrices for all heads: head i has columns i · head_dim to (i + 1) · head_dim - 1, of W_O rows."""
    width = num_heads * head_dim
    X, *rest = samples((batch, num_tokens, width), *[(width, width)] * 4, digits=digits)
    weights = rest if digits is not None else [weight / math.sqrt(width) for weight in rest]
    given = {"X": X, **dict(zip(("W_Q", "W_K", "W_V", "W_O"), weights, strict=True)), "num_heads": num_heads}
    return _case(given, weights, num_heads, join="view_back")


def listed(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """One triple of matrices for each head, (embed_dim, head_dim), and W_O."""
    width = num_heads * head_dim
    x, W_O, *rest = samples(
        (batch, num_tokens, width), (width, width), *[(width, head_dim)] * (3 * num_heads), digits=digits
    )
    heads = [(rest[i] / 3, rest[i + 1] / 3, rest[i + 2]) for i in range(0, len(rest), 3)]
    weights = [*(torch.cat(matrices, dim=1) for matrices in zip(*heads, strict=True)), W_O]
    # Heads of a list are not split: joining them along tokens does what a view does on the way back.
    return _case({"x": x, "heads": heads, "W_O": W_O}, weights, num_heads, join="concat_axis")


def misfit(case: Case) -> Case:
    """Heads that are not concatenated do not fit W_O; they fit the rows of it that are one head's."""
    x, heads, W_O = (case.inputs[name] for name in ("x", "heads", "W_O"))
    part = W_O[: heads[0][0].shape[1]]

    def mistakes() -> Named:
        divisors = {"": math.sqrt(len(part)), "unscaled": 1.0, "model_root": math.sqrt(len(W_O))}
        for name, divisor in divisors.items():
            right = [((x @ q) @ (x @ k).mT / divisor).softmax(-1) @ (x @ v) for q, k, v in heads]
            for wrong, joined in (
                ("heads_summed", torch.stack(right).sum(dim=0)),
                ("heads_averaged", torch.stack(right).mean(dim=0)),
                *(("concat_axis", torch.cat(right, dim)) for dim in (0, 1)),
                *(("concat_axis", torch.stack(right, dim)) for dim in (0, 1, 2)),
            ):
                yield (*filter(None, (wrong, name)),), joined @ part

    return Case({"x": x, "heads": heads, "W_O": part}, case.expected, mistakes)


def diagnose_functions(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(x, heads, W_O)` or `candidate(X, W_Q, W_K, W_V, W_O, num_heads)`."""
    required = [p for p in signature(trial.candidate) or [] if p.default is p.empty]
    # (batch, num_tokens, num_heads, head_dim)
    small = ((1, 2, 2, 1), (1, 2, 2, 2), (2, 2, 2, 2), (2, 3, 2, 2))
    if len(required) > 3:
        subject = Subject(trial, ROLES["matrices"])
        yield from examine(subject, [parallel(2, 7, 3, 5)], [parallel(*sizes, digits=1) for sizes in small])
        return
    subject = Subject(trial, ROLES["multi_head"])
    case = listed(2, 5, 3, 4)
    result = subject.answer(case.inputs)
    if isinstance(result, CallFailed) and isinstance(result.error, RuntimeError):
        part = misfit(case)
        if names := part.names(subject.answer(part.inputs)):
            yield from (case.finding(name, None) for name in names)
            return
    yield from examine(subject, [case], [listed(*sizes, digits=1) for sizes in small])
