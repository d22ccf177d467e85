"""Attention sinks: one learned logit for each head, which takes part of the weight and has the value 0.

weights = exp(scores) / (exp(sink) + Σ exp(scores)): a row's sum is below 1, and a head may give nothing.

Source: gpt-oss, OpenAI 2025; transformers' `modeling_gpt_oss.py`.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from polyhead.functional import attention_scores, masked_softmax
from polyhead.visibility import Visibility


def attend_with_sinks(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, visibility: Visibility, dropout: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Give the heads' outputs, (batch, num_heads, num_queries, head_dim), and the weights if needed.

    >>> q, k, v = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 1)
    >>> attend_with_sinks(q, k, v, torch.zeros(1), Visibility(), dropout=0.0, need_weights=True)
    (tensor([[[[0.7500]]]]), tensor([[[[0.2500, 0.2500, 0.2500]]]]))
    """
    if not need_weights:
        return _fused(q, k, v, sinks, visibility, dropout), None
    group, mask = q.shape[1] // k.shape[1], _with_sink(visibility.mask, k.shape[-2])
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    scores = attention_scores(q, k)
    column = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    weights = masked_softmax(torch.cat((column, scores), dim=-1), mask)[..., 1:]  # without the sink
    weights = F.dropout(weights, dropout) if dropout > 0.0 else weights
    return weights @ v, weights


def _fused(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, visibility: Visibility, dropout: float) -> Tensor:
    """Use PyTorch's kernel, which has no sinks: each is the logit of one more key, with the value 0.

    That key comes first. Its logit is carried by one more dimension of head_dim, which is 0 in all other
    keys. With the kernel's causal flag one more query comes before the others, to keep the triangle in line.
    """
    root = math.sqrt(q.shape[-1])
    # The kernel divides by √head_dim. Were the sink alone multiplied by it, it could overflow in half
    # precision; a power of two in the key leaves the query below the sink, and rounds nothing.
    power = 2.0 ** math.ceil(math.log2(root))
    is_causal, num_keys = visibility.is_causal, k.shape[-2]
    logits = (sinks * (root / power)).to(q.dtype)[:, None, None].expand(*q.shape[:-1], 1)
    q = torch.cat((q, logits), dim=-1)
    k, v = F.pad(k, (0, 1, 1, 0)), F.pad(v, (0, 1, 1, 0))
    k[:, :, 0, -1] = power
    q = F.pad(q, (0, 0, 1, 0)) if is_causal else q
    mask, grouped = _with_sink(visibility.mask, num_keys), k.shape[1] < q.shape[1]
    output = F.scaled_dot_product_attention(
        q, k, v, mask, dropout, is_causal, scale=1 / root, enable_gqa=grouped
    )
    return output[:, :, int(is_causal) :, :-1]


def _with_sink(mask: Tensor | None, num_keys: int) -> Tensor | None:
    """Give the mask one more column, which every query sees."""
    return None if mask is None else F.pad(mask.expand(*mask.shape[:-1], num_keys), (1, 0), value=True)
