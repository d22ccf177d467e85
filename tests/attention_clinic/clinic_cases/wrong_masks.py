"""Masks as they go wrong: causal, of a cache, of a window, of padding, of packed documents."""

from __future__ import annotations

import functools

import numpy as np
import torch

from tests.attention_clinic.clinic_cases.case import wrong

causal, cached, window, padding, documents = (
    functools.partial(wrong, kind=f"{name}_mask")
    for name in ("causal", "cached", "window", "padding", "document")
)


# ---- causal(num_tokens)


@causal("causal_strict")
def strictly_before(n):
    i = torch.arange(n)
    return i[None, :] < i[:, None]


@causal("causal_ahead")
def one_too_many(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, : i + 2] = True
    return mask


@causal("causal_upper")
def numpy_triu(num_tokens):
    return torch.from_numpy(np.triu(np.ones((num_tokens, num_tokens), dtype=bool)))


@causal("causal_open")
def triangle_of_ones(T):
    """What is written below the diagonal is already there."""
    mask = torch.ones(T, T)
    mask[torch.tril_indices(T, T).unbind()] = 1
    return mask > 0


# rasbt/LLMs-from-scratch#1061
@causal("mask_inverted")
def triu_bool(context_length):
    return torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()


# https://github.com/pytorch/pytorch/issues/21518
@causal("causal_floats")
def tril_of_ones(size):
    return torch.tril(torch.ones((size, size)))


@causal("causal_additive")
def generate_square_subsequent_mask(sz):
    return torch.nn.Transformer.generate_square_subsequent_mask(sz)


@causal("causal_open")
def every_pair(num_tokens):
    rows = [[key <= max(query, num_tokens - 1) for key in range(num_tokens)] for query in range(num_tokens)]
    return torch.tensor(rows)


# ---- cached(num_cached, num_new)


# https://github.com/pytorch/pytorch/issues/108108: is_causal's alignment
@cached("cache_upper_left")
def upper_left(num_cached, num_new):
    return torch.tril(torch.ones(num_new, num_cached + num_new)).bool()


# rasbt/LLMs-from-scratch PR #697: the first rows and columns of the large mask are cut out.
@cached("cache_upper_left")
def sliced_buffer(num_cached, num_new):
    buffer = torch.triu(torch.ones(64, 64), diagonal=1).bool()
    return ~buffer[:num_new, : num_cached + num_new]


@cached("cache_strict")
def past_alone(num_cached, num_new):
    queries = torch.arange(num_cached, num_cached + num_new).unsqueeze(1)
    return torch.arange(num_cached + num_new).unsqueeze(0) < queries


@cached("cache_ahead")
def count_from_one(num_cached, num_new):
    return torch.tensor(
        [[k <= num_cached + q + 1 for k in range(num_cached + num_new)] for q in range(num_new)]
    )


@cached("cache_open")
def nothing_needed(num_cached, num_new):
    """With a cache there is one new token, and it sees all."""
    return torch.full((num_new, num_cached + num_new), True)


@cached("cache_hidden")
def zeros_in_front(num_cached, num_new):
    return torch.nn.functional.pad(torch.ones(num_new, num_new).tril(), (num_cached, 0)).bool()


@cached("cache_order")
def new_ones_first(num_cached, num_new):
    old = torch.ones(num_new, num_cached, dtype=torch.bool)
    return torch.hstack((torch.ones(num_new, num_new, dtype=torch.bool).tril(), old))


@cached("mask_inverted")
def hides_the_past(num_cached, num_new):
    return torch.ones(num_new, num_cached + num_new, dtype=torch.bool).triu(num_cached + 1)


# ---- window(length, window): W keys, the token itself included


# huggingface/transformers#29623, vllm-project/vllm#3385: flash attention's window leaves itself out.
@window("window_one_more")
def flash_window(length, window):
    distance = torch.arange(length)[:, None] - torch.arange(length)
    return (distance >= 0) & (distance <= window)


@window("window_one_less")
def short_window(length, window):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, max(0, i - window + 2) : i + 1] = True
    return mask


@window("window_both_ways")
def near_on_both_sides(length, window):
    i = torch.arange(length)
    return (i[:, None] - i).abs() < window


@window("causal_open|causal_ahead|window_both_ways|differs")
def past_unlimited_future(length, window):
    """The band's lower edge alone: tokens too far back are hidden, and none that comes."""
    return torch.ones(length, length, dtype=torch.bool).triu(1 - window)


@window("mask_inverted")
def hides_window(length, window):
    near = torch.ones(length, length).tril().triu(-(window - 1)).bool()
    return near.logical_not()


@window("window_one_more", "window_both_ways")
def band_both_ways(length, window):
    """The bidirectional overlay that stands beside the causal one: |q - k| ≤ W."""
    return torch.tensor([[abs(q - k) <= window for k in range(length)] for q in range(length)])


# ---- padding(lengths, length)


@padding("padding_inverted|mask_inverted")
def marks_padding(lengths, length):
    return (torch.arange(length) >= lengths[:, None])[:, None]


@padding("padding_wrong_side")
def as_if_left(lengths, length):
    mask = torch.zeros(len(lengths), 1, length, dtype=torch.bool)
    for row, n in zip(mask, lengths.tolist(), strict=True):
        row[:, length - n :] = True
    return mask


@padding("padding_inverted|mask_inverted", "padding_wrong_side")
def marks_padding_on_the_left(lengths, length):
    return (torch.arange(length).expand(len(lengths), -1) < (length - lengths).unsqueeze(1)).unsqueeze(1)


@padding("differs")
def one_token_less(lengths, length):
    return torch.arange(1, length + 1) < lengths[:, None, None]


# ---- documents(document_ids)


# huggingface/trl#1230: positions begin anew, and the mask does not.
@documents("documents_leak")
def causal_alone(document_ids):
    n = document_ids.shape[-1]
    return torch.ones(n, n, dtype=torch.bool).tril().expand(*document_ids.shape, n)


@documents("documents_future")
def same_document(document_ids):
    return document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)


@documents("documents_leak", "documents_future")
def all_of_the_pack(document_ids):
    seen = torch.isfinite(torch.zeros(*document_ids.shape, document_ids.shape[-1]))
    return seen | (document_ids.unsqueeze(-1) != document_ids.unsqueeze(-2))


@documents("documents_leak|differs")
def up_to_the_same_number(document_ids):
    """Documents are numbered upwards: ≤ lets each see those before it."""
    earlier = document_ids[..., None, :] <= document_ids[..., :, None]
    return earlier & torch.ones(earlier.shape[-2:], dtype=torch.bool).tril()
