"""Attention, softmax(query · keyᵀ / √head_dim) · value, as it goes wrong: with a name, or without."""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.attention_clinic.clinic_cases.case import wrong

attention = functools.partial(wrong, kind="attention")


# ---- the scale


@attention("unscaled")
def einsum_unscaled(q, k, v, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", F.softmax(scores, dim=-1), v)


@attention("no_root")
def numpy_no_root(query, key, value, mask=None):
    Q, K, V = (x.detach().numpy().astype(np.float64) for x in (query, key, value))
    scores = Q @ np.swapaxes(K, -1, -2) / Q.shape[-1]
    if mask is not None:
        scores = np.where(mask.numpy(), scores, -np.inf)
    scores = np.exp(scores - np.maximum(scores.max(axis=-1, keepdims=True), -1e300))
    weights = scores / np.maximum(scores.sum(axis=-1, keepdims=True), 1e-300)
    return torch.from_numpy(weights @ V).to(query.dtype)


# A scale here, and one in the library's function.
@attention("scaled_twice|no_root")
def scaled_before_sdpa(queries, keys, values, mask=None):
    queries = queries * queries.shape[-1] ** -0.5
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


@attention("scaled_twice|no_root")
class ScaledInBoth:
    """A projection's habit, √d_k in the query and in the key, and again for the scores."""

    def __new__(cls, Q, K, V, mask=None):
        root = math.sqrt(math.sqrt(Q.size(-1)))
        scores = (Q / root).matmul((K / root).transpose(1, 2)) / math.sqrt(Q.size(-1))
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        return torch.softmax(scores, 2).nan_to_num().matmul(V)


@attention("scale_multiplied")
def times_root(query, key, value, mask=None, scale=None):
    scale = math.sqrt(key.size(-1)) if scale is None else scale
    attn = torch.baddbmm(torch.zeros(()), query, key.transpose(1, 2), beta=0, alpha=scale)
    if mask is not None:
        attn.masked_fill_(mask.logical_not(), float("-inf"))
    return torch.bmm(attn.softmax(-1), value)


attention("unscaled")(functools.partial(F.scaled_dot_product_attention, scale=1.0))


class Divided:
    """A bound method; the scale is what its object was made with."""

    def __init__(self, scale):
        self.scale = scale

    def attend(self, query, key, value, mask=None):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=self.scale)


attention("no_root")(lambda q, k, v, mask=None: Divided(1 / q.shape[-1]).attend(q, k, v, mask))
attention("unscaled")(Divided(1.0).attend)


# ---- the softmax


@attention("wrong_axis")
def softmax_over_queries(q, k, v, mask=None):
    logits = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -1e9)
    return F.softmax(logits, dim=1) @ v


@attention("no_softmax")
def scores_as_weights(query, key, value):
    attention_weights = torch.bmm(query, key.permute(0, 2, 1)) / math.sqrt(query.shape[2])
    return torch.bmm(attention_weights, value), attention_weights


@attention("softmax_twice")
def softmax_of_probabilities(query, key, value, mask=None):
    scores = query.matmul(key.mT).div(math.sqrt(query.size(-1)))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    probabilities = F.softmax(scores, dim=-1)
    return F.softmax(probabilities, dim=-1) @ value


# ---- who asks, and what is mixed


@attention("queries_keys_swapped", also=("raises",))
def key_asks(q, k, v):
    A = torch.softmax(torch.einsum("nkc,nqc->nkq", k, q) / math.sqrt(k.shape[2]), dim=2)
    return torch.einsum("nkq,nqd->nkd", A, v)


@attention("values_are_keys", also=("shape",))
def mixes_keys(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, key, attn_mask=mask)


# ---- the mask


@attention("mask_ignored")
def forgets_mask(query, key, value, mask=None):
    """It is taken, and never read."""
    dim = query.shape[-1]
    return torch.softmax(query @ key.transpose(-1, -2) / dim**0.5, -1) @ value


# rasbt/LLMs-from-scratch#1061: torch's function lets True attend, nn.MultiheadAttention lets True be ignored.
@attention("mask_inverted")
def torch_module_habit(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, None if mask is None else ~mask)


@attention("mask_inverted")
def loops_inverted(*, values, mask=None, keys, queries):
    rows = []
    for b in range(len(queries)):
        for i in range(queries.shape[1]):
            scores = [(queries[b, i] @ keys[b, j]).item() for j in range(keys.shape[1])]
            scores = torch.tensor(scores, dtype=queries.dtype) / math.sqrt(queries.shape[2])
            if mask is not None:
                scores[mask.expand(len(queries), queries.shape[1], -1)[b, i]] = -1e30
            rows.append(scores.softmax(0) @ values[b])
    return torch.stack(rows).view(*queries.shape[:2], -1)


@attention("mask_after")
def mask_on_weights(query, key, value, mask=None):
    weights = (query @ key.mT * query.shape[-1] ** -0.5).softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


# https://github.com/pytorch/pytorch/issues/21518: a float mask of ones and zeros is added.
@attention("mask_added")
def float_mask(query, key, value, mask=None):
    mask = None if mask is None else mask.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


@attention("mask_zero")
def mask_times_scores(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / torch.sqrt(torch.tensor(float(K.shape[-1])))
    if mask is not None:
        scores = scores * mask
    return torch.matmul(torch.softmax(scores, dim=-1), V)


# https://github.com/pytorch/pytorch/issues/41508, 103749
@attention("mask_nan")
def minus_infinity(q, k, v, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ v


# The Annotated Transformer's own function, word for word but for the type of the mask.
@attention("mask_uniform")
def annotated(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


# https://github.com/huggingface/transformers/pull/26572
@attention("mask_uniform")
def lowest_number(query_states, key_states, value_states, attention_mask=None):
    attn_weights = torch.matmul(query_states, key_states.transpose(1, 2)) * query_states.shape[-1] ** -0.5
    if attention_mask is not None:
        low = torch.finfo(attn_weights.dtype).min
        attn_weights = attn_weights.masked_fill(~attention_mask, low)
    attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float64).to(query_states.dtype)
    return torch.matmul(attn_weights, value_states), attn_weights


@attention("mask_nan_gradient")
def mended_too_late(query, key, value, mask=None):
    bias = torch.zeros(query.shape[0], query.shape[1], key.shape[1])
    if mask is not None:
        bias = bias.masked_fill(~mask, -math.inf)
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]) + bias, dim=-1)
    return torch.nan_to_num(weights, nan=0.0) @ value


# https://github.com/pytorch/pytorch/issues/101967: 0 · NaN is NaN.
@attention("nan_leak")
def zero_times_nan(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1) @ value
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return (scores.softmax(-1) * mask) @ value


# ---- more than the three tensors


# https://github.com/pytorch/pytorch/issues/124464: the function knows nothing of evaluation.
@attention("not_deterministic")
def functional_dropout(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=0.1)


@attention("batch_mixed")
def all_keys_at_once(query, key, value):
    """All sequences' keys stand in one long list, and every query sees it."""
    size = query.shape[-1]
    keys, values = key.reshape(-1, size), value.reshape(-1, value.shape[-1])
    return torch.softmax(query @ keys.T / size**0.5, dim=-1) @ values


@attention("batch_mixed", also=("differs",))
def first_mask_for_all(query, key, value, mask=None):
    if mask is not None and mask.ndim == 3:
        mask = mask[0]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


# ---- two at once


@attention("unscaled", "mask_inverted")
def unscaled_and_inverted(query, key, value, mask=None):
    scores = query @ key.transpose(1, 2)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    return scores.softmax(dim=-1) @ value


@attention("no_root", "mask_zero")
def divided_and_zero(q, k, v, mask=None):
    w = torch.bmm(q, k.mT) / q.size(2)
    if mask is not None:
        w[~mask.expand_as(w)] = 0
    return torch.bmm(w.softmax(2), v)


@attention("unscaled", "wrong_axis")
def unscaled_over_queries(query, key, value):
    return torch.einsum("bij,bjd->bid", torch.einsum("bid,bjd->bij", query, key).softmax(1), value)


@attention("no_root", "mask_ignored")
def divided_and_open(query, key, value, mask=None):
    return torch.softmax(query @ key.mT / query.shape[-1], -1) @ value


@attention("unscaled", "mask_after")
def unscaled_and_late(query, key, value, mask=None):
    weights = F.softmax(query @ key.mT, -1)
    return (weights if mask is None else weights.where(mask, torch.zeros(()))) @ value


@attention("unscaled", "no_softmax")
def dots_alone(q, k, v):
    return q @ (k.transpose(1, 2) @ v)


@attention("scale_multiplied", "mask_added")
def multiplied_and_added(q, k, v, mask=None):
    return F.scaled_dot_product_attention(
        q, k, v, scale=q.shape[-1] ** 0.5, attn_mask=None if mask is None else mask.double().to(q.dtype)
    )


@attention("unscaled", "values_are_keys", also=("shape",))
def keys_unscaled(query, key, value):
    return F.scaled_dot_product_attention(query, key, key, scale=1.0)


# ---- what nobody has a name for: it is told that it differs, and nothing is guessed


@attention("differs")
def flash_without_rescaling(query, key, value):
    """Blocks of keys with a running maximum; what was added up under an older one is left as it is."""
    top = torch.full(query.shape[:2], -math.inf)
    total, output = torch.zeros(query.shape[:2]), torch.zeros(*query.shape[:2], value.shape[-1])
    for keys, values in zip(key.split(2, dim=1), value.split(2, dim=1), strict=True):
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        top = torch.maximum(top, scores.amax(-1))
        exps = (scores - top[..., None]).exp()
        total, output = total + exps.sum(-1), output + exps @ values
    return output / total[..., None]


@attention("differs")
def powers_of_two(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    powers = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True) @ value


@attention("differs")
def sigmoids(query, key, value):
    weights = torch.sigmoid(query @ key.mT / math.sqrt(query.shape[-1]))
    return weights / weights.sum(-1, keepdim=True) @ value


@attention("differs")
def root_of_keys(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, scale=key.shape[1] ** -0.5)
