"""Functions of tensors: the softmax of scores, and heads in the batch, apart, joined or repeated."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_clinic.arguments import ROLES, Subject
from attention_clinic.cases import Case, by_name, examine, samples, staged
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.attention import WEIGHING, hidings, visible, weigh
from attention_clinic.kinds.heads import JOINS, SPLITS
from attention_clinic.trial import Trial
from polyhead.masks import padding_mask


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
    return staged({"scores": scores, **more}, partial(weigh, scores, mask), hidings(mask), by_name(*WEIGHING))


def diagnose_softmax(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(scores[, mask or valid_lens])`."""
    subject = Subject(trial, ROLES["softmax"])
    given = next((role for role in ("mask", "valid_lens") if role in subject.accepts), None)
    build = partial(softmax, given=given)
    small = [build(*sizes, digits=1) for sizes in ((1, 1, 2), (1, 2, 2), (1, 2, 3), (2, 2, 3))]
    cases = [build(2, 5, 7)]
    if given in subject.optional:
        cases.append(softmax(2, 5, 7, given=None))
    yield from examine(subject, cases, small)


def split(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """Each head's own slice of the features, in its own place in the batch."""
    (X,) = samples((batch, num_tokens, num_heads * head_dim), digits=digits)
    orders = [("", lambda x: x), ("heads_before_batch", lambda x: x.transpose(0, 1))]

    def folded(order: Any, way: Any) -> Tensor:
        apart: Tensor = order(way(X, num_heads))
        return apart.flatten(0, 1)

    return staged({"X": X, "num_heads": num_heads}, folded, orders, SPLITS.items())


def join(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """The heads of each sequence side by side again."""
    (X,) = samples((batch * num_heads, num_tokens, head_dim), digits=digits)
    apart = X.reshape(batch, num_heads, num_tokens, head_dim)
    swapped = X.reshape(num_heads, batch, num_tokens, head_dim).transpose(0, 1)
    orders = [("", apart), ("heads_before_batch", swapped)]
    return staged({"X": X, "num_heads": num_heads}, lambda x, way: way(x), orders, JOINS.items())


def repeat(
    batch: int, num_kv_heads: int, num_tokens: int, head_dim: int, groups: int, digits: int | None = None
) -> Case:
    """Each head of keys or values serves `groups` neighbouring heads of queries."""
    (x,) = samples((batch, num_kv_heads, num_tokens, head_dim), digits=digits)
    ways = [("", x.repeat_interleave(groups, dim=1)), ("kv_tiled", x.repeat(1, groups, 1, 1))]
    return staged({"x": x, "groups": groups}, torch.clone, ways)


def repeat_in_any_layout(*sizes: int, **options: int) -> Case:
    """The same where tokens may come before heads: that cannot be told from repeated tokens behind heads."""
    case = repeat(*sizes, **options)
    x, groups = case.inputs.values()
    others = [("kv_axis", x.repeat_interleave(groups, dim=2)), ("kv_tiled", x.repeat(1, 1, groups, 1))]
    return replace(case, mistakes=lambda: [*case.mistakes(), *(((name,), x) for name, x in others)])


def latent(
    batch: int, heads: int, tokens: int, nope: int, rope: int, value: int, digits: int | None = None
) -> Case:
    """Multi-head latent attention: keys in two parts, of which all heads share the rotary one."""
    shapes = ((batch, heads, tokens, size) for size in (nope, rope, nope))
    values = samples(*shapes, (batch, 1, tokens, rope), (batch, heads, tokens, value), digits=digits)
    q_nope, q_rope, k_nope, k_rope, v = values
    content, place = q_nope @ k_nope.mT, q_rope @ k_rope.mT

    def mixed(scores: Tensor, size: int) -> Tensor:
        return (scores / size**0.5).softmax(dim=-1) @ v

    parts = [("", content + place), ("latent_rope_missing", content), ("latent_nope_missing", place)]
    scales = [("", nope + rope), *(("latent_scale", size) for size in (nope, rope, value))]
    scales += [("unscaled", 1), ("no_root", (nope + rope) ** 2)]
    return staged(dict(zip(ROLES["latent_attention"], values, strict=True)), mixed, parts, scales)
