"""Whether a candidate gives what polyhead gives: the corpus is checked by this, without a clinic."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

import polyhead
from tests.attention_clinic.clinic_cases.decoders import VOCAB, TinyLlama

NAMES = {
    "query": ("query", "queries", "q", "Q", "query_states"),
    "key": ("key", "keys", "k", "K", "key_states"),
    "value": ("value", "values", "v", "V", "value_states"),
    "mask": ("mask", "attn_mask", "attention_mask"),
}
LENS = torch.tensor([4, 2])


def parameters(function: Any) -> list[str]:
    try:
        called = function.forward if isinstance(function, nn.Module) else function
        return list(inspect.signature(called).parameters)
    except ValueError:  # one that is written in C
        return ["query", "key", "value", "attn_mask"]


def first(result: Any) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


def like(result: Any, expected: Tensor) -> bool:
    result = first(result)
    if result.shape != expected.shape or (expected.dtype == torch.bool) != (result.dtype == torch.bool):
        return False
    return torch.allclose(result.detach().double(), expected.double(), atol=1e-5, rtol=1e-4)


def attention(candidate: Callable[..., Any]) -> Iterator[bool]:
    given = parameters(candidate)
    inputs = [torch.randn(2, 5, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 11)]
    masks = [None]
    mask = (torch.rand(2, 5, 5) < 0.6) | torch.eye(5).bool()
    mask[0, 1] = False
    if any(name in given for name in NAMES["mask"]):
        masks.append(mask)

    def call(mask: Tensor | None, *tensors: Tensor) -> Tensor:
        values = dict(zip(("query", "key", "value"), tensors, strict=True)) | {"mask": mask}
        called = {own: value for name, value in values.items() for own in NAMES[name] if own in given}
        return first(candidate(**{own: value for own, value in called.items() if value is not None}))

    for each in masks:
        expected, _ = polyhead.scaled_dot_product_attention(*inputs, each)
        yield like(call(each, *inputs), expected)
        leaves = [x.clone().requires_grad_() for x in inputs]
        output = call(each, *(x.clone() for x in leaves))
        if output.requires_grad:
            output.sum().backward()
            yield not any(x.grad is not None and x.grad.isnan().any() for x in leaves)


def leaks(candidate: Callable[..., Any]) -> bool:
    """Whether NaN in a value that no query may see comes out."""
    query, key, value = torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(2, 5, 11)
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    mask[:, :, 4], value[:, 4] = False, math.nan
    return bool(first(candidate(query, key, value, mask)).isnan().any())


# ---- functions with a right form in polyhead


def causal(candidate: Callable[[int], Any]) -> Iterator[bool]:
    for size in (5, 5):
        yield like(candidate(size), polyhead.causal_mask(size))


def cached(candidate: Callable[[int, int], Any]) -> Iterator[bool]:
    for old, new in ((5, 3), (5, 1), (0, 4)):
        yield like(candidate(old, new), polyhead.causal_mask(new, old + new))


def window(candidate: Callable[[int, int], Any]) -> Iterator[bool]:
    rows = [[q - 3 < k <= q for k in range(7)] for q in range(7)]
    yield like(candidate(7, 3), torch.tensor(rows))


def padding(candidate: Callable[[Tensor, int], Any]) -> Iterator[bool]:
    lengths = torch.tensor([5, 2, 3])
    yield like(candidate(lengths.clone(), 7), polyhead.padding_mask(lengths, 7))


def documents(candidate: Callable[[Tensor], Any]) -> Iterator[bool]:
    for ids in (torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([[0, 0, 1, 1], [3, 4, 4, 4]])):
        n = ids.shape[-1]
        pairs = [
            [[row[q] == row[k] and k <= q for k in range(n)] for q in range(n)] for row in ids.view(-1, n)
        ]
        yield like(candidate(ids.clone()), torch.tensor(pairs).view(*ids.shape, n))


def transpose_qkv(candidate: Callable[[Tensor, int], Any]) -> Iterator[bool]:
    X = torch.randn(2, 5, 21)
    yield like(candidate(X.clone(), 3), polyhead.transpose_qkv(X, 3))


def transpose_output(candidate: Callable[[Tensor, int], Any]) -> Iterator[bool]:
    X = torch.randn(6, 5, 7)
    yield like(candidate(X.clone(), 3), polyhead.transpose_output(X, 3))


def rotary(candidate: Callable[[Tensor, Tensor], Any]) -> Iterator[bool]:
    x = torch.randn(2, 3, 5, 14)
    for positions in (torch.tensor([2, 3, 5, 8, 13]), torch.tensor([1003, 1005, 2001, 3001, 4001])):
        expected = polyhead.RotaryPositions(14, pairs="halves")(x, positions)
        yield bool((candidate(x.clone(), positions) - expected).abs().max() < 2e-3)


def sinusoidal(candidate: Callable[[int, int], Any]) -> Iterator[bool]:
    yield like(candidate(7, 10), polyhead.SinusoidalPositions(10)(torch.zeros(7, 10)))


def rms_norm(candidate: Callable[[Tensor, Tensor, float], Any]) -> Iterator[bool]:
    weight = torch.randn(11)
    for size in (1.0, 1e-2):
        x, eps = size * torch.randn(2, 5, 11) + size, 1e-3
        exact = weight.double() * x.double() / (x.double().square().mean(-1, keepdim=True) + eps).sqrt()
        yield like(candidate(x.clone(), weight.clone(), eps), exact)


def repeat_kv(candidate: Callable[[Tensor, int], Any]) -> Iterator[bool]:
    x = torch.randn(2, 3, 5, 7)
    yield like(candidate(x, 4), x.repeat_interleave(4, dim=1))


def alibi(candidate: Callable[[int], Any]) -> Iterator[bool]:
    eight = [2.0**-i for i in range(1, 9)]
    between = [2.0 ** -(i + 0.5) for i in range(8)]
    for heads, slopes in ((8, eight), (12, eight + between[:4])):
        yield like(candidate(heads), torch.tensor(slopes))


def multi_head(candidate: Any) -> Iterator[bool]:
    if isinstance(candidate, nn.Module):
        yield from module(candidate)
    elif "num_heads" in parameters(candidate):
        X, *weights = torch.randn(2, 7, 15), *(torch.randn(4, 15, 15) / 4)
        yield like(candidate(X, *weights, 3), parallel(X, *weights, 3))
    else:
        heads = [tuple(torch.randn(3, 12, 4) / 3) for _ in range(3)]
        x, W_O = torch.randn(2, 5, 12), torch.randn(12, 12)
        joined = (torch.cat([head[i] for head in heads], dim=1) for i in range(3))
        yield like(candidate(x, heads, W_O), parallel(x, *joined, W_O, 3))


def parallel(X, W_Q, W_K, W_V, W_O, num_heads):
    q, k, v = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_Q, W_K, W_V))
    return polyhead.scaled_dot_product_attention(q, k, v)[0].transpose(1, 2).flatten(2) @ W_O


# ---- modules: the book's own with the same weights


PLACES = (
    ("w_q", "w_k", "w_v", "w_o"),
    ("W_q", "W_k", "W_v", "W_o"),
    ("fc_Q", "fc_K", "fc_V", "fc"),
    ("query", "key", "value", "out"),
    ("qkv", "proj"),
    ("c_attn", "c_proj"),
    ("q", "k", "v", "o"),
)


def book(module: nn.Module) -> polyhead.MultiHeadAttention:
    inner = next((each for each in module.modules() if isinstance(each, nn.MultiheadAttention)), module)
    names = next((names for names in PLACES if hasattr(inner, names[0])), None)
    if names is None or isinstance(inner, polyhead.SplitMultiHeadAttention | nn.MultiheadAttention):
        kv = getattr(inner, "num_kv_heads", None)
        width = inner.embed_dim if hasattr(inner, "embed_dim") else inner.d_model
        heads = inner.num_heads if hasattr(inner, "num_heads") else inner.h
        made = polyhead.MultiHeadAttention(width, heads, num_kv_heads=kv)
        polyhead.copy_weights(inner, made)
        return made
    *inputs, output = (getattr(inner, name) for name in names)
    heads = next(getattr(inner, name) for name in ("num_heads", "num_head", "n_head") if hasattr(inner, name))
    bias = output.bias is not None
    kv = getattr(inner, "num_kv_heads", heads)
    made = polyhead.MultiHeadAttention(len(output.weight), heads, num_kv_heads=kv, bias=bias)
    with torch.no_grad():
        for mine, theirs in ((made.input_projection, inputs), (made.output_projection, [output])):
            mine.weight.copy_(torch.cat([each.weight.flatten(1) for each in theirs]))
            if bias:
                mine.bias.copy_(torch.cat([each.bias for each in theirs]))
    return made


def module(candidate: nn.Module) -> Iterator[bool]:
    candidate, right, given = candidate.eval(), book(candidate), parameters(candidate)
    x, memory = torch.randn(2, 3, right.embed_dim), torch.randn(2, 5, right.embed_dim)
    mask = polyhead.padding_mask(LENS, 5)
    if "valid_lens" in given:
        yield like(candidate(x, memory, memory, LENS), right(x, memory, mask=mask)[0])
    elif "key_padding_mask" in given:
        yield like(candidate(x, memory, memory, ~mask[:, 0]), right(x, memory, mask=mask)[0])
    elif "query" in given:
        yield like(candidate(x, memory, memory), right(x, memory)[0])
        yield like(candidate(x, memory, memory, mask), right(x, memory, mask=mask)[0])
    else:
        yield like(candidate(x), right(x)[0])
        if "mask" in given:
            mask = polyhead.padding_mask(LENS - 1, 3)
            yield like(candidate(x, mask), right(x, mask=mask)[0])
    if "need_weights" in given and "mask" in given:
        expected = right(x, memory, mask=mask)[0]
        yield like(candidate(x, memory, memory, mask=mask, need_weights=True), expected)
    inputs = [x] * 3 if {"query", "queries"} & set(given) else [x]
    result = candidate.train()(*inputs, *[None] * ("valid_lens" in given))
    if isinstance(result, tuple) and result[1] is not None:
        yield torch.allclose(result[1].sum(-1), torch.tensor(1.0))


# ---- decoders: what they must not depend on


def seeded(candidate: nn.Module, ids: Tensor) -> Tensor:
    """Dropout, where there is some, falls on the same numbers."""
    torch.manual_seed(0)
    return first(candidate(ids))


def decoder(candidate: nn.Module) -> Iterator[bool]:
    given = parameters(candidate)
    ids = torch.randint(0, VOCAB, (3, 7))

    def same(one: Any, other: Any) -> bool:
        return torch.allclose(first(one), first(other), atol=1e-8)

    if isinstance(candidate, polyhead.DecoderOnly):
        from tests.attention_clinic.clinic_cases.wrong_decoders import books

        right = books()
        if right.state_dict().keys() == candidate.state_dict().keys():
            right.load_state_dict(candidate.state_dict())
            yield same(candidate(ids), right(ids))
    other = ids.clone()
    other[:, 4:] = (ids[:, 4:] + 1) % VOCAB
    for training in (True, False):
        candidate.train(training)
        whole, changed = (seeded(candidate, each) for each in (ids, other))
        yield same(whole[:, :4], changed[:, :4])
    yield same(whole[-1:], candidate(ids[-1:]))
    own = ids.clone()
    own[:, 0] = (ids[:, 0] + 1) % VOCAB
    yield not same(whole[:, 0], candidate(own)[:, 0])
    if "mask" in given:
        mask = torch.ones(3, 7, dtype=torch.bool)
        mask[0, :2] = mask[2, :3] = False
        yield same(candidate(ids, mask)[0, 2:], candidate(ids[:1, 2:])[0])
    if "cache" in given:
        for sizes in ((4, 1, 1, 1), (3, 4)):
            with torch.no_grad():
                cache = candidate.new_cache()
                parts = [candidate(part, cache=cache) for part in ids.split(sizes, dim=1)]
            yield same(torch.cat(parts, dim=1), whole)
    if isinstance(candidate, TinyLlama):
        yield same(candidate(ids, positions=torch.arange(7) + 1003), whole)
    if "need_weights" in given:
        yield same(candidate(ids, need_weights=True), whole)


ORACLES = {
    **{f"{each.__name__}_mask": each for each in (causal, cached, window, padding)},
    "document_mask": documents,
    **{each.__name__: each for each in (attention, multi_head, transpose_qkv, transpose_output, rotary)},
    **{each.__name__: each for each in (sinusoidal, rms_norm, repeat_kv, alibi, decoder)},
}
