"""Multi-head attention as it goes wrong in functions: of tokens and matrices, of heads in and out."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F

from tests.attention_clinic.clinic_cases.case import wrong

multi_head = functools.partial(wrong, kind="multi_head")
transpose_qkv, transpose_output = (
    functools.partial(wrong, kind=kind) for kind in ("transpose_qkv", "transpose_output")
)


# ---- functions of tokens, (W_Q, W_K, W_V) for each head, and W_O


def head(x, W_Q, W_K, W_V, size=None):
    q, k = x @ W_Q, x @ W_K
    return F.softmax(q @ k.transpose(1, 2) / math.sqrt(size or q.shape[-1]), dim=-1) @ (x @ W_V)


@multi_head("heads_summed", also=("raises", "shape"))
def summed(x, heads, W_O):
    return sum(head(x, *h) for h in heads) @ W_O


@multi_head("heads_averaged", also=("raises", "shape"))
def averaged(x, heads, W_O):
    return torch.stack([head(x, *h) for h in heads]).mean(dim=0) @ W_O


@multi_head("concat_axis|view_back")
def concatenated_along_tokens(x, heads, W_O):
    outputs = torch.cat([head(x, *h) for h in heads], dim=1)
    return outputs.view(x.shape[0], x.shape[1], -1) @ W_O


@multi_head("concat_axis")
def stacked_in_front(x, heads, W_O):
    return torch.stack([head(x, *h) for h in heads]).reshape(*x.shape[:2], -1) @ W_O


# karpathy/ng-video-lecture PR #6: C ** -0.5, and C is the width of the model
@multi_head("model_root")
def width_of_the_model(x, heads, W_O):
    return torch.cat([head(x, *h, size=x.shape[-1]) for h in heads], dim=-1) @ W_O


@multi_head("unscaled", "no_output_projection")
def plain_heads(x, heads, W_O):
    return torch.cat([head(x, *h, size=1) for h in heads], dim=2)


# ---- functions of tokens, four matrices and the number of heads


@multi_head("entries_before_heads")
def einops_habit(X, W_Q, W_K, W_V, W_O, num_heads):
    """'b t (d h) -> b h t d' instead of '(h d)'."""
    q, k, v = (torch.einsum("btdh->bhtd", (X @ W).unflatten(-1, (-1, num_heads))) for W in (W_Q, W_K, W_V))
    return torch.einsum("bhtd->btdh", F.scaled_dot_product_attention(q, k, v)).flatten(2) @ W_O


@multi_head("one_head")
def never_split(X, W_Q, W_K, W_V, W_O, num_heads):
    return F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V) @ W_O


@multi_head("across_heads", "unscaled")
def across_unscaled(X, W_Q, W_K, W_V, W_O, num_heads):
    q, k, v = ((X @ W).view(*X.shape[:2], num_heads, -1) for W in (W_Q, W_K, W_V))
    weights = torch.einsum("bthd,btgd->bthg", q, k).softmax(-1)
    return torch.einsum("bthg,btgd->bthd", weights, v).reshape(X.shape) @ W_O


@multi_head("differs")
def transposed_output(X, W_Q, W_K, W_V, W_O, num_heads):
    """nn.Linear's weight is W_Oᵀ: whoever thinks of it here takes the wrong one."""
    q, k, v = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_Q, W_K, W_V))
    return F.linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), W_O)


# ---- transpose_qkv(X, num_heads) and its way back


@transpose_qkv("view")
def straight_view(X, num_heads):
    return X.contiguous().view(X.shape[0] * num_heads, X.shape[1], X.shape[2] // num_heads)


@transpose_qkv("heads_before_batch")
def split_and_cat(X, num_heads):
    """As in Kyubyong/transformer, where the way back fits it."""
    return torch.cat(X.chunk(num_heads, dim=2), dim=0)


@transpose_qkv("entries_before_heads")
def every_hth(X, num_heads):
    heads = [X[b, :, i::num_heads] for b in range(len(X)) for i in range(num_heads)]
    return torch.stack(heads)


@transpose_output("view_back")
def straight_back(X, num_heads):
    return X.reshape(-1, X.shape[1], num_heads * X.shape[2])


@transpose_output("heads_before_batch")
def chunks_side_by_side(X, num_heads):
    return torch.cat(X.chunk(num_heads, dim=0), dim=2)


@transpose_output("entries_before_heads")
def woven_back(X, num_heads):
    X = X.reshape(-1, num_heads, X.shape[1], X.shape[2])
    return X.permute(0, 2, 3, 1).flatten(2)
