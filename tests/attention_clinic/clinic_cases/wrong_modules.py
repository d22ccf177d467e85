"""Multi-head attention as it goes wrong in modules, each in a hand of its own."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.attention_clinic.clinic_cases.case import wrong

module = functools.partial(wrong, kind="multi_head", made=True)


class Heads(nn.Module):
    """Four linears, and a method for each step, to be overridden by what goes wrong."""

    def __init__(self, d_model=12, n_head=3, dropout=0.0, n_kv=None):
        super().__init__()
        self.embed_dim, self.num_heads, self.num_kv_heads = d_model, n_head, n_kv or n_head
        self.head_dim, self.p = d_model // n_head, dropout
        self.w_q, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, self.num_kv_heads * self.head_dim)
        self.w_v = nn.Linear(d_model, self.num_kv_heads * self.head_dim)

    def split(self, x):
        return x.view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)

    def join(self, x):
        return x.transpose(1, 2).flatten(2)

    def drop(self, weights):
        return F.dropout(weights, self.p, self.training)

    def repeat(self, x):
        return x.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def weigh(self, q, k, mask):
        scores = q @ k.mT / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~(mask[:, None] if mask.ndim == 3 else mask), -1e9)
        return scores.softmax(-1)

    def projected(self, query, key, value):
        return self.split(self.w_q(query)), self.split(self.w_k(key)), self.split(self.w_v(value))

    def out(self, x):
        return self.w_o(x)

    def attend(self, query, key, value, mask):
        q, k, v = self.projected(query, key, value)
        weights = self.drop(self.weigh(q, self.repeat(k), mask))
        return self.out(self.join(weights @ self.repeat(v))), weights

    def forward(self, query, key, value, mask=None):
        return self.attend(query, key, value, mask)[0]


class UnscaledHeads(Heads):
    def weigh(self, q, k, mask):
        return super().weigh(q * math.sqrt(self.head_dim), k, mask)


class WideRoot(Heads):
    def weigh(self, q, k, mask):
        return super().weigh(q * math.sqrt(self.head_dim / self.embed_dim), k, mask)


# hyunwoongko/transformer#15, harvardnlp/annotated-transformer#118
@module("view")
class ViewIntoHeads(Heads):
    def split(self, tensor):
        batch_size, length, _ = tensor.size()
        return tensor.reshape(batch_size, self.num_heads, length, self.head_dim)


# 649453932/Chinese-Text-Classification-Pytorch#53
@module("view")
class MultiHeadOfTheClassifier(nn.Module):
    def __init__(self, dim_model=14, num_head=2):
        super().__init__()
        self.num_head, self.dim_head = num_head, dim_model // num_head
        self.fc_Q = nn.Linear(dim_model, dim_model)
        self.fc_K = nn.Linear(dim_model, dim_model)
        self.fc_V = nn.Linear(dim_model, dim_model)
        self.fc = nn.Linear(dim_model, dim_model)

    def forward(self, x):
        Q, K, V = (
            f(x).view(x.size(0) * self.num_head, -1, self.dim_head) for f in (self.fc_Q, self.fc_K, self.fc_V)
        )
        attention = F.softmax(torch.matmul(Q, K.permute(0, 2, 1)) * K.size(-1) ** -0.5, dim=-1)
        return self.fc(torch.matmul(attention, V).view(x.size(0), -1, self.dim_head * self.num_head))


@module("view_back")
class JoinedByReshape(Heads):
    def join(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@module("across_heads")
class HeadsAsTokens(nn.Module):
    """(batch, tokens, heads, size) goes straight into the product."""

    def __init__(self, embed_dim=15, num_heads=5):
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.query, self.key = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.value, self.out = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)) for f in (self.query, self.key, self.value))
        return self.out(F.scaled_dot_product_attention(q, k, v).flatten(2))


@module("unscaled")
class Unscaled(UnscaledHeads):
    pass


# d2l: `valid_lens = torch.repeat_interleave(valid_lens, repeats=self.num_heads, dim=0)`
@module("mask_tiled")
class D2lTiled(nn.Module):
    def __init__(self, num_hiddens=16, num_heads=2, dropout=0.0, bias=False):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def transpose_qkv(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1).permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values, valid_lens=None):
        q, k, v = (
            self.transpose_qkv(f(x))
            for f, x in zip((self.W_q, self.W_k, self.W_v), (queries, keys, values), strict=True)
        )
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        if valid_lens is not None:
            lens = valid_lens if valid_lens.dim() == 2 else valid_lens[:, None].expand(-1, q.shape[1])
            lens = lens.repeat(self.num_heads, 1)
            scores = scores.masked_fill(torch.arange(k.shape[1]) >= lens[..., None], -1e6)
        output = torch.bmm(self.dropout(scores.softmax(-1)), v)
        output = output.reshape(-1, self.num_heads, *output.shape[1:]).permute(0, 2, 1, 3)
        return self.W_o(output.flatten(2))


# A mask of three dimensions for nn.MultiheadAttention, made with repeat.
@module("mask_tiled")
class WrappedTiled(nn.Module):
    def __init__(self, embed_dim=10, num_heads=5):
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            whole = mask.expand(len(query), query.shape[1], key.shape[1])
            mask = ~whole.repeat(self.mha.num_heads, 1, 1)
        return self.mha(query, key, value, attn_mask=mask, need_weights=False)[0]


@module("kv_tiled")
class GroupsTiled(Heads):
    def __init__(self):
        super().__init__(d_model=24, n_head=6, n_kv=2)

    def repeat(self, x):
        return x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


# huggingface/transformers PR #30652
@module("weights_change_output")
class Observed(Heads):
    """Whoever asks for the weights gets them from a path that has forgotten the mask."""

    def forward(self, query, key, value, mask=None, need_weights=False):
        output, weights = self.attend(query, key, value, None if need_weights else mask)
        return output, weights if need_weights else None


# huggingface/pytorch-image-models#1978
@module("dropout_in_eval", also=("not_deterministic",))
class DropsAlways(nn.Module):
    def __init__(self, dim=20, num_heads=4, attn_drop=0.25):
        super().__init__()
        self.num_heads, self.attn_drop = num_heads, attn_drop
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v, dropout_p=self.attn_drop)
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


# https://github.com/pytorch/pytorch/issues/27968
@module("weights_after_dropout")
class ShowsDropped(Heads):
    def __init__(self):
        super().__init__(dropout=0.5)

    def forward(self, query, key, value, mask=None):
        return self.attend(query, key, value, mask)


@module("batch_first")
class DefaultOrder(nn.Module):
    """nn.MultiheadAttention as it is made by default: (length, batch, embed_dim)."""

    def __init__(self, embed_dim=12, num_heads=2):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


@module("shared_projection")
class QueryForBoth(Heads):
    def projected(self, query, key, value):
        return self.split(self.w_q(query)), self.split(self.w_q(key)), self.split(self.w_v(value))


@module("no_output_projection")
class ForgetsOutput(Heads):
    def out(self, x):
        return x


# rasbt/LLMs-from-scratch#1061, the other way round
@module("mask_inverted")
class TrueMayAttend(nn.Module):
    def __init__(self, embed_dim=14, num_heads=7):
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.expand(len(query), query.shape[1], key.shape[1])
            mask = mask.repeat_interleave(self.mha.num_heads, dim=0)
        return self.mha(query, key, value, attn_mask=mask)


@module("mask_ignored", "view")
class NoMaskAndView(ViewIntoHeads):
    def weigh(self, q, k, mask):
        return super().weigh(q, k, None)


@module("model_root", "view_back")
class TwoOfTheMost(JoinedByReshape, WideRoot):
    pass


@module("unscaled", "shared_projection")
class SharedUnscaled(QueryForBoth, UnscaledHeads):
    pass
