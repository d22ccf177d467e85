"""Attention with two mistakes at once, and with one that has no name."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F

from tests.attention_clinic.clinic_cases.case import wrong

attention = functools.partial(wrong, kind="attention")


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
