"""Code with bugs, as its owner has it in a file."""

from __future__ import annotations

import math

import torch
from torch import nn

from attention_clinic.planted import planted_decoder


def attention(query, key, value, mask=None):
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


def printing_loudly(query, key, value):
    print("here")
    raise ValueError("never")


def causal(n):
    return torch.ones(n, n).triu().bool()


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, divisor=None):
        super().__init__()
        self.n_heads, self.divisor = n_heads, divisor or math.sqrt(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x):
        query, key, value = self.qkv(x).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        weights = (query @ key.mT / self.divisor).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).flatten(2)), weights


def right():
    return planted_decoder()


def leaking():
    return planted_decoder("sees_ahead")


def no_decoder():
    return nn.Linear(2, 2)


class Configured(Attention):
    def __init__(self, config):
        super().__init__(config.n_embd, config.n_head)
