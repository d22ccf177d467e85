"""Attention sinks: one learned logit a head, which takes part of the weight and gives nothing.

weights = exp(scores) / (exp(sink) + Σ exp(scores)): a row's sum is below 1, and a head may look at nothing.

Source: gpt-oss, OpenAI 2025; transformers' `modeling_gpt_oss.py`.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from polyhead.functional import attention_scores, masked_softmax


def attend_with_sinks(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sinks: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """The heads' outputs, (batch, num_heads, num_queries, head_dim), and the weights, if they are needed.

    `is_causal` is the kernel's, at the upper left; with `need_weights` the mask says all.
    """
    if not need_weights:
        return _fused(q, k, v, sinks, mask, dropout, is_causal), None
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    return _explicit(q, k, v, sinks, mask, dropout)


def _explicit(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, mask: Tensor | None, dropout: float
) -> tuple[Tensor, Tensor]:
    """By the formula: one more column in the softmax, and dropped after it."""
    scores = attention_scores(q, k)
    column = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    weights = masked_softmax(torch.cat((column, scores), dim=-1), _with_sink(mask, k.shape[-2]))[..., 1:]
    weights = F.dropout(weights, dropout) if dropout > 0.0 else weights
    return weights @ v, weights


def _fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sinks: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
) -> Tensor:
    """By PyTorch's kernel, which knows no sinks: they are the logits of one more key, with the value 0.

    That key stands first, and one more dimension, 0 in all other keys, gives its logit. A query more, before
    the others, leaves the kernel's own causal mask where it belongs.
    """
    root = math.sqrt(q.shape[-1])
    logits = (sinks * root).to(q.dtype)[:, None, None].expand(*q.shape[:-1], 1)
    q = torch.cat((q, logits), dim=-1)
    k, v = F.pad(k, (0, 1, 1, 0)), F.pad(v, (0, 1, 1, 0))
    k[:, :, 0, -1] = 1.0
    q = F.pad(q, (0, 0, 1, 0)) if is_causal else q
    mask, grouped = _with_sink(mask, k.shape[-2] - 1), k.shape[1] < q.shape[1]
    output = F.scaled_dot_product_attention(
        q, k, v, mask, dropout, is_causal, scale=1 / root, enable_gqa=grouped
    )
    return output[:, :, int(is_causal) :, :-1]


def _with_sink(mask: Tensor | None, num_keys: int) -> Tensor | None:
    """The mask with one more column, which every query sees."""
    return None if mask is None else F.pad(mask.expand(*mask.shape[:-1], num_keys), (1, 0), value=True)
