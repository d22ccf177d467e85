"""More that goes wrong: a second round, written when the clinic knew the first."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.attention_clinic.clinic_cases.case import wrong
from tests.attention_clinic.clinic_cases.wrong_modules import (
    ForgetsOutput,
    Heads,
    JoinedByReshape,
    UnscaledHeads,
    WideRoot,
)

attention = functools.partial(wrong, kind="attention")
module = functools.partial(wrong, kind="multi_head", made=True)
rotary, rms_norm = (functools.partial(wrong, kind=kind) for kind in ("rotary", "rms_norm"))


# ---- attention


@attention("mask_inverted")
def penalty_for_what_is_seen(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores - 1e9 * mask
    return scores.softmax(-1) @ value


@attention("mask_ignored")
def forgets_the_underscore(q, k, v, mask=None):
    att = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        att.masked_fill(~mask, -math.inf)
    return att.softmax(-1) @ v


@attention("wrong_axis")
def masked_over_queries(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-2)
    return weights @ value, weights


@attention("batch_mixed|wrong_axis|differs")
def softmax_over_batch(query, key, value):
    return F.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=0) @ value


@attention("differs")
def leaves_out_the_last_key(q, k, v, mask=None):
    mask = None if mask is None else mask[..., :-1]
    return F.scaled_dot_product_attention(q, k[:, :-1], v[:, :-1], mask)


@attention("unscaled", "mask_zero")
def unscaled_and_zero(query, key, value, mask=None):
    scores = torch.einsum("bid,bjd->bij", query, key)
    return F.softmax(scores if mask is None else torch.where(mask, scores, 0.0), -1) @ value


@attention("scale_multiplied", "mask_ignored")
def multiplied_and_open(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, scale=query.shape[-1] ** 0.5)


@attention("unscaled", "mask_added")
def unscaled_and_added(q, k, v, mask=None):
    scores = q @ k.mT
    return (scores if mask is None else scores + mask).softmax(-1) @ v


@attention("queries_keys_swapped", "unscaled", also=("raises",))
def key_asks_unscaled(q, k, v):
    return (k @ q.mT).softmax(-1) @ v


@attention("softmax_twice", "unscaled")
def twice_unscaled(q, k, v):
    return (q @ k.mT).softmax(-1).softmax(-1) @ v


@attention("no_softmax", also=("mask_after",))
def linear_with_a_mask(q, k, v, mask=None):
    weights = q @ k.mT / q.shape[-1] ** 0.5
    return (weights if mask is None else weights * mask) @ v


# ---- modules


@module("mask_inverted")
class PaddingHabit(nn.Module):
    def __init__(self, embed_dim=12, num_heads=4):
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x, mask=None):
        if mask is not None and mask.ndim == 3:
            mask = mask.expand(-1, x.shape[1], -1).repeat_interleave(self.mha.num_heads, dim=0)
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


@module("unscaled")
class NanoUnscaled(nn.Module):
    def __init__(self, n_embd=20, n_head=4):
        super().__init__()
        self.n_head, self.n_embd = n_head, n_embd
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (
            y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for y in self.c_attn(x).split(C, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, scale=1.0)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


@module("entries_before_heads")
class StridedHeads(Heads):
    def split(self, x):
        return x.view(*x.shape[:2], self.head_dim, -1).permute(0, 3, 1, 2)

    def join(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


@module("one_head")
class OneWideHead(Heads):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)
        return self.w_o(F.scaled_dot_product_attention(q, k, v, mask))


@module("weights_change_output")
class LooksInside(Heads):
    """With the weights comes what has not been projected yet."""

    def forward(self, query, key, value, mask=None, need_weights=False):
        if not need_weights:
            return super().forward(query, key, value, mask)
        q, k, v = self.projected(query, key, value)
        weights = self.weigh(q, k, mask)
        return self.join(weights @ v), weights


@module("unscaled", "view_back")
class UnscaledAndViewed(JoinedByReshape, UnscaledHeads):
    pass


@module("no_output_projection", "model_root")
class WideRootAlone(ForgetsOutput, WideRoot):
    pass


@module("kv_tiled", "unscaled")
class TiledUnscaled(UnscaledHeads):
    def __init__(self):
        super().__init__(d_model=20, n_head=10, n_kv=5)

    def repeat(self, x):
        return x[:, torch.arange(self.num_heads) % self.num_kv_heads]


# ---- masks


@wrong("differs", kind="padding_mask")
def one_token_more(lengths, length):
    return torch.arange(length) <= lengths[:, None, None]


@wrong("cache_upper_left", "cache_strict", kind="cached_mask")
def upper_left_and_strict(num_cached, num_new):
    return torch.ones(num_new, num_cached + num_new).tril(-1).bool()


@wrong("window_one_less", "window_both_ways", kind="window_mask")
def nearer_than_the_window(length, window):
    return (torch.arange(length)[:, None] - torch.arange(length)).abs() < window - 1


# ---- positions and norms


def turned(x, positions, sign=1, neighbours=False, sine=1):
    size = x.shape[-1]
    angles = positions[:, None] * 1e4 ** (-torch.arange(0, size, 2) / size)
    cos, sin = angles.cos(), sine * sign * angles.sin()
    one, two = (x[..., ::2], x[..., 1::2]) if neighbours else x.chunk(2, dim=-1)
    pair = one * cos - two * sin, two * cos + one * sin
    return torch.stack(pair, dim=-1).flatten(-2) if neighbours else torch.cat(pair, dim=-1)


@rotary("rotary_sign", "rotary_layout")
def neighbours_backwards(x, positions):
    return turned(x, positions, sign=-1, neighbours=True)


@rotary("rotary_ignored", "rotary_layout")
def neighbours_from_zero(x, positions):
    return turned(x, torch.arange(x.shape[-2]), neighbours=True)


@rotary("rotary_cosine_only", "rotary_from_one")
def cosines_from_one(x, positions):
    return turned(x, positions + 1, sine=0)


@rms_norm("rms_mean", "rms_offset")
def centred_and_offset(x, weight, eps):
    return F.layer_norm(x, x.shape[-1:], weight + 1, None, eps)


@rms_norm("rms_no_weight", "rms_eps")
def unit_length(x, weight, eps):
    return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5


@wrong("waves_halves", "waves_from_one", kind="sinusoidal")
def halves_from_one(length, embed_dim):
    speeds = 1e4 ** (-torch.arange(0, embed_dim, 2) / embed_dim)
    angles = torch.arange(1, length + 1)[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=1)
