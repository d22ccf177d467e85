"""Right attention and masks in as many styles as people have: nothing is to be found wrong with them."""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import polyhead
from tests.attention_clinic.clinic_cases.case import right

attention = functools.partial(right, "attention")


# ---- softmax(query · keyᵀ / √head_dim) · value


attention()(F.scaled_dot_product_attention)
attention()(polyhead.scaled_dot_product_attention)
attention()(functools.partial(polyhead.scaled_dot_product_attention, dropout=0.0))
attention()(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)


@attention()
def log_sum_exp(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ value
    blind = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(blind, 0.0)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return weights.masked_fill(blind, 0.0) @ value


@attention()
def in_float64(query, key, value, mask=None):
    q, k, v = (x.to(torch.float64) for x in (query, key, value))
    scores = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e300)
    weights = scores.softmax(-1) if mask is None else scores.softmax(-1) * mask
    return torch.einsum("...qk,...kv->...qv", weights, v).to(query.dtype)


@attention()
def lowest_then_zero(q, k, v, attn_mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.size(-1) ** -0.5
    if attn_mask is None:
        return torch.matmul(F.softmax(scores, -1), v)
    scores = scores.masked_fill(attn_mask.logical_not(), torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, -1).masked_fill(attn_mask.logical_not(), 0.0)
    return torch.matmul(weights, v), weights


@attention()
def flash(query, key, value, mask=None):
    """Blocks of keys, a running maximum, and everything rescaled when it grows."""
    rows = query.shape[:2]
    mask = torch.ones(1, 1, key.shape[1], dtype=torch.bool) if mask is None else mask
    mask = mask.expand(*rows, key.shape[1])
    top, total = torch.full(rows, -1e30), torch.zeros(rows)
    output = torch.zeros(*rows, value.shape[-1])
    for start in range(0, key.shape[1], 2):
        part = slice(start, start + 2)
        scores = query @ key[:, part].mT / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~mask[..., part], -1e30)
        higher = torch.maximum(top, scores.amax(-1))
        exps = (scores - higher[..., None]).exp() * mask[..., part]
        shrink = (top - higher).exp()
        total = total * shrink + exps.sum(-1)
        output = output * shrink[..., None] + exps @ value[:, part]
        top = higher
    return output / total.masked_fill(total == 0, 1.0)[..., None]


@attention()
def pure_loops(*, values, keys, queries, mask=None):
    """Keywords alone, and in another order."""
    outputs = []
    for b, (q, k, v) in enumerate(zip(queries, keys, values, strict=True)):
        rows = []
        for i in range(len(q)):
            seen = [
                j
                for j in range(len(k))
                if mask is None or bool(mask.expand(len(queries), len(q), -1)[b, i, j])
            ]
            dots = [torch.dot(q[i], k[j]) / math.sqrt(len(q[i])) for j in seen]
            top = max(dots, default=torch.tensor(0.0))
            exps = [torch.exp(dot - top) for dot in dots]
            rows.append(sum((e / sum(exps) * v[j] for e, j in zip(exps, seen, strict=True)), 0 * v[0]))
        outputs.append(torch.stack(rows))
    return torch.stack(outputs)


@attention()
def numpy_inside(Q, K, V, mask=None):
    q, k, v = (x.detach().cpu().numpy() for x in (Q, K, V))
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    seen = np.ones_like(scores) if mask is None else np.broadcast_to(mask.numpy(), scores.shape).astype(float)
    exps = np.exp(scores - scores.max(-1, keepdims=True)) * seen
    total = exps.sum(-1, keepdims=True)
    return torch.tensor(np.divide(exps, total, out=np.zeros_like(exps), where=total > 0) @ v).to(Q.dtype)


@attention()
def additive_inside(query, key, value, mask=None):
    bias = torch.zeros(1, 1, key.shape[1])
    if mask is not None:
        bias = torch.zeros(mask.shape).masked_fill(~mask, -1e9)
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5 + bias, dim=-1)
    return (weights if mask is None else weights * mask) @ value


@attention()
def in_place(query, key, value, mask=None):
    """It writes, but only into what is its own."""
    weights = torch.bmm(query.detach(), key.detach().transpose(1, 2))
    weights.div_(math.sqrt(query.shape[2]))
    if mask is not None:
        weights.masked_fill_(~mask, -1e30)
    weights.sub_(weights.amax(2, keepdim=True)).exp_()
    if mask is not None:
        weights.mul_(mask)
    weights.div_(weights.sum(2, keepdim=True).clamp_(min=1e-30))
    return torch.bmm(weights, value), weights


@attention()
def chunks_of_queries(query, key, value, mask=None):
    step, outputs = 2, []
    for i in range(0, query.shape[1], step):
        seen = mask if mask is None or mask.shape[-2] == 1 else mask[..., i : i + step, :]
        outputs.append(F.scaled_dot_product_attention(query[:, i : i + step], key, value, seen))
    return torch.cat(outputs, dim=1)


@attention()
def powers_of_two(query, key, value):
    """As fast kernels do it: exp2, and log2(e) in the scale."""
    scores = query @ key.mT * (math.log2(math.e) / math.sqrt(query.shape[-1]))
    powers = torch.exp2(scores - scores.amax(dim=-1, keepdim=True))
    return powers @ value / powers.sum(dim=-1, keepdim=True)


@attention()
def as_a_distribution(query, key, value):
    logits = torch.cdist(query, key).square().neg() + key.square().sum(-1)[:, None]
    logits = logits / 2 / math.sqrt(query.shape[-1])
    return torch.distributions.Categorical(logits=logits).probs @ value


@attention()
def renormalised(query, key, value, mask=None):
    """A mask after the softmax is right where each row is divided by its sum again."""
    weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ value


@attention()
def keys_before_queries(query, key, value):
    scores = torch.einsum("bkd,bqd->bkq", key, query / query.shape[-1] ** 0.5)
    return torch.einsum("bkq,bkv->bqv", scores.softmax(dim=1), value)


@attention()
def vmapped(query, key, value):
    return torch.vmap(lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1) @ v)(query, key, value)


@attention()
def only_what_is_seen(q, k, v, mask=None):
    mask = torch.ones(1, 1, 1, dtype=torch.bool) if mask is None else mask
    mask = mask.expand(*q.shape[:2], k.shape[1])
    outputs = q.new_zeros(*q.shape[:2], v.shape[2])
    for b, i in mask.any(-1).nonzero().tolist():
        seen = mask[b, i].nonzero().flatten()
        outputs[b, i] = (k[b, seen] @ q[b, i] / q.shape[-1] ** 0.5).softmax(0) @ v[b, seen]
    return outputs


@attention(made=True)
class DotProductAttention(nn.Module):
    """In d2l's form, with a mask in place of lengths."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, mask=None):
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        self.attention_weights = polyhead.masked_softmax(scores, mask)
        return torch.bmm(self.dropout(self.attention_weights), values)


@attention(made=True)
def transformers_eager():
    """The function that its Llama has, one head in the place of all."""
    from tests.polyhead.hugging_face import transformers

    eager = transformers.models.llama.modeling_llama.eager_attention_forward
    module = nn.Identity().eval()
    module.num_key_value_groups = 1

    def attend(query, key, value):
        q, k, v = (x.unsqueeze(1) for x in (query, key, value))
        output, weights = eager(module, q, k, v, attention_mask=None, scaling=query.shape[-1] ** -0.5)
        return output.squeeze(2), weights.squeeze(1)

    return attend


# ---- masks


@right("causal_mask")
def by_comparison(num_tokens):
    return torch.arange(num_tokens)[:, None] >= torch.arange(num_tokens)


@right("causal_mask")
def not_triu(n):
    return ~torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)


right("causal_mask")(lambda size: torch.from_numpy(np.tri(size, dtype=bool)))
right("causal_mask")(polyhead.causal_mask)


@right("cached_mask")
def last_rows(num_cached, num_new):
    return torch.ones(num_cached + num_new, num_cached + num_new).tril().bool()[-num_new:]


@right("cached_mask")
def old_beside_new(num_cached, num_new):
    new = polyhead.causal_mask(num_new)
    return torch.cat((new.new_ones(num_new, num_cached), new), dim=1)


@right("window_mask")
def band(length, window):
    return torch.ones(length, length).tril().triu(1 - window).bool()


@right("window_mask")
def slices(length, window):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, max(0, i + 1 - window) : i + 1] = True
    return mask


right("padding_mask")(polyhead.padding_mask)


@right("padding_mask")
def padded_lists(lengths, length):
    rows = [[True] * n + [False] * (length - n) for n in lengths.tolist()]
    return torch.tensor(rows).unsqueeze(1)


@right("document_mask")
def same_and_earlier(document_ids):
    same = document_ids[..., :, None] == document_ids[..., None, :]
    return same & polyhead.causal_mask(document_ids.shape[-1])
