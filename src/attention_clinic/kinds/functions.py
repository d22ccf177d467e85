"""Functions of tensors: RMSNorm, the softmax of scores, and heads in the batch, apart, joined or repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_clinic.arguments import Subject, roles
from attention_clinic.cases import Case, Named, choices, examine, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.attention import WEIGHING, hidings, visible, weigh
from attention_clinic.trial import Trial
from polyhead.functional import masked_softmax
from polyhead.masks import padding_mask
from polyhead.multi_head.transposed import transpose_output, transpose_qkv

RMS = roles(
    x="hidden_states inputs input t tokens h", weight="w gamma scale g gain", eps="epsilon variance_epsilon e"
)
SOFTMAX = roles(
    scores="x s logits attn_scores input inputs", mask="m attn_mask attention_mask keep allowed visible",
    valid_lens="valid_len lengths lens",
)  # fmt: skip

# The stages of RMSNorm: for each a name, "" where it is right, and what it does.
_CENTRINGS = [
    ("", {"centred": False, "unbiased": False}), ("rms_mean", {"centred": True, "unbiased": False}),
    ("rms_mean", {"centred": True, "unbiased": True}),
]  # fmt: skip
_ROOTS: list[tuple[str, Callable[[Tensor, float], Tensor]]] = [
    ("", lambda squares, eps: (squares + eps).sqrt()),
    ("rms_eps", lambda squares, eps: squares.sqrt()),
    ("rms_eps", lambda squares, eps: squares.sqrt() + eps),
    ("rms_eps", lambda squares, eps: squares.sqrt().clamp(min=eps)),
    ("rms_eps", lambda squares, eps: (squares + eps**2).sqrt()),
]
_AXES: list[tuple[str, tuple[int, ...]]] = [
    ("", (-1,)), ("rms_axis", (-2,)), ("rms_axis", (0,)), ("rms_axis", (-2, -1)), ("rms_axis", (0, 1, 2)),
]  # fmt: skip
_FACTORS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("", lambda weight: weight),
    ("rms_no_weight", torch.ones_like),
    ("rms_offset", lambda weight: 1 + weight),
]


def rms_norm(batch: int, num_tokens: int, size: int, eps: float = 0.2, digits: int | None = None) -> Case:
    """Weight · x / √(mean of x² over the features + eps), with an eps that counts."""
    x, weight = samples((batch, num_tokens, size), (size,), digits=digits)

    def normed(axes: Any, root: Any, factor: Any, centred: bool, unbiased: bool) -> Tensor:
        middle = x - x.mean(dim=axes, keepdim=True) if centred else x
        squares = middle.square().mean(dim=axes, keepdim=True)
        count = middle.numel() / squares.numel()
        squares = squares * (count / (count - 1)) if unbiased and count > 1 else squares
        return factor(weight) * middle / root(squares, eps)

    def mistakes() -> Named:
        for names, (centring, *stages) in choices(_CENTRINGS, _AXES, _ROOTS, _FACTORS, most=3):
            yield names, normed(*stages, **centring)

    right = normed(_AXES[0][1], _ROOTS[0][1], _FACTORS[0][1], **_CENTRINGS[0][1])
    return Case({"x": x, "weight": weight, "eps": eps}, right, mistakes)


def softmax(
    batch: int, queries: int, keys: int, given: str | None = "mask", digits: int | None = None
) -> Case:
    """Weights of scores, with a mask, lengths, or neither."""
    (scores,) = samples((batch, queries, keys), digits=digits)
    lens = torch.arange(batch) % (keys - 1) + 1
    mask = {
        "mask": visible((batch,), queries, keys),
        "valid_lens": padding_mask(lens, keys).expand(batch, queries, keys),
    }.get(given or "")
    more = {} if given is None else {given: lens if given == "valid_lens" else mask}

    def mistakes() -> Named:
        for names, choice in choices(hidings(mask), [(name, name) for name in WEIGHING]):
            yield names, weigh(scores, mask, *choice)

    return Case({"scores": scores, **more}, masked_softmax(scores, mask), mistakes)


def diagnose_softmax(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(scores[, mask or valid_lens])`."""
    subject = Subject(trial, SOFTMAX)
    given = next((role for role in ("mask", "valid_lens") if role in subject.accepts), None)
    build = partial(softmax, given=given)
    small = [build(*sizes, digits=1) for sizes in ((1, 1, 2), (1, 2, 2), (1, 2, 3), (2, 2, 3))]
    cases = [build(2, 5, 7)]
    if given in subject.optional:
        cases.append(softmax(2, 5, 7, given=None))
    yield from examine(subject, cases, small)


SPLIT = roles(X="x tensor t inputs input qkv", num_heads="heads h n_heads nhead nheads n_head")
REPEAT = roles(
    x="hidden_states kv k key keys tensor t inputs", groups="n_rep num_groups repeats times g n rep group"
)


def split(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """Each head's own slice of the features, in its own place in the batch."""
    (X,) = samples((batch, num_tokens, num_heads * head_dim), digits=digits)
    apart = X.reshape(batch, num_tokens, num_heads, head_dim)

    def mistakes() -> Named:
        entries = X.reshape(batch, num_tokens, head_dim, num_heads).permute(0, 3, 1, 2)
        yield ("view",), X.reshape(batch * num_heads, num_tokens, head_dim)
        yield ("heads_before_batch",), apart.permute(2, 0, 1, 3).flatten(0, 1)
        yield ("entries_before_heads",), entries.flatten(0, 1)
        yield ("heads_before_batch", "entries_before_heads"), entries.transpose(0, 1).flatten(0, 1)

    return Case({"X": X, "num_heads": num_heads}, transpose_qkv(X, num_heads), mistakes)


def join(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """The heads of each sequence side by side again."""
    (X,) = samples((batch * num_heads, num_tokens, head_dim), digits=digits)
    apart = X.reshape(batch, num_heads, num_tokens, head_dim)
    swapped = X.reshape(num_heads, batch, num_tokens, head_dim)

    def mistakes() -> Named:
        yield ("view_back",), X.reshape(batch, num_tokens, num_heads * head_dim)
        yield ("heads_before_batch",), swapped.permute(1, 2, 0, 3).flatten(2)
        yield ("entries_before_heads",), apart.permute(0, 2, 3, 1).flatten(2)
        yield ("heads_before_batch", "entries_before_heads"), swapped.permute(1, 2, 3, 0).flatten(2)
        across = swapped.transpose(0, 1).reshape(batch, num_tokens, num_heads * head_dim)
        yield ("heads_before_batch", "view_back"), across

    return Case({"X": X, "num_heads": num_heads}, transpose_output(X, num_heads), mistakes)


def repeat(
    batch: int, num_kv_heads: int, num_tokens: int, head_dim: int, groups: int, digits: int | None = None
) -> Case:
    """Each head of keys or values serves `groups` neighbouring heads of queries."""
    (x,) = samples((batch, num_kv_heads, num_tokens, head_dim), digits=digits)

    def mistakes() -> Named:
        yield ("kv_tiled",), x.repeat(1, groups, 1, 1)

    return Case({"x": x, "groups": groups}, x.repeat_interleave(groups, dim=1), mistakes)
