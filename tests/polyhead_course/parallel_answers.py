"""Answers to the exercise about all heads at once: right ones, and one that makes each known mistake."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

import polyhead

HEADS, HEAD_DIM = 3, 5


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def view(x, num_heads):
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def interleaved(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def untransposed(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


def unsplit(x, num_heads):
    return x


def joined(heads):
    return heads.transpose(1, 2).flatten(2)


def answer(cut, join, size=HEAD_DIM, project=True):
    """Attention with heads cut and joined by functions, its scores divided by √size."""

    def candidate(X, W_Q, W_K, W_V, W_O, num_heads):
        q, k, v = (cut(X @ weight, num_heads) for weight in (W_Q, W_K, W_V))
        output = join((q @ k.mT / math.sqrt(size)).softmax(-1) @ v)
        return output @ W_O if project else output

    return candidate


def same_shape(heads):
    return heads.reshape(2, 7, HEADS * HEAD_DIM)


def fused(X, W_Q, W_K, W_V, W_O, num_heads):
    q, k, v = (split(each, num_heads) for each in (X @ torch.cat((W_Q, W_K, W_V), dim=1)).chunk(3, dim=-1))
    return joined(F.scaled_dot_product_attention(q, k, v)) @ W_O


def library(X, W_Q, W_K, W_V, W_O, num_heads):
    module = polyhead.TransposedMultiHeadAttention(X.shape[-1], num_heads, dropout=0.0)
    with torch.no_grad():
        layers = (module.W_q, module.W_k, module.W_v, module.W_o)
        for layer, weight in zip(layers, (W_Q, W_K, W_V, W_O), strict=True):
            layer.weight.copy_(weight.T)
    return module(X, X, X)


RIGHT = [answer(split, joined), fused, library]

WRONG = [
    ("unscaled", answer(split, joined, size=1)),
    ("model_root", answer(split, joined, size=HEADS * HEAD_DIM)),
    ("no_output_projection", answer(split, joined, project=False)),
    ("view", answer(view, joined)),
    ("view", answer(view, same_shape)),
    ("view_back", answer(split, same_shape)),
    ("entries_before_heads", answer(interleaved, joined)),
    ("entries_before_heads", answer(interleaved, lambda heads: heads.permute(0, 2, 3, 1).flatten(2))),
    ("across_heads", answer(untransposed, lambda heads: heads.flatten(2))),
    ("one_head", answer(unsplit, lambda output: output)),
    ("one_head", answer(unsplit, lambda output: output, size=HEADS * HEAD_DIM)),
]
