"""Candidates that do not get as far as a wrong number, or do more than compute one."""

from __future__ import annotations

import functools
import itertools
import math

import torch
import torch.nn.functional as F

from tests.attention_clinic.clinic_cases.case import wrong

attention = functools.partial(wrong, kind="attention")


def plain(query, key, value):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1) @ value


@attention("raises")
def not_transposed(query, key, value):
    return torch.softmax(query @ key / query.shape[-1] ** 0.5, -1) @ value


@attention("raises")
def blank_with_an_error(query, key, value, mask=None):
    raise NotImplementedError("your code here")


@wrong("raises", kind="causal_mask")
def takes_no_argument():
    return torch.ones(5, 5).tril().bool()


@attention("raises")
def exits(query, key, value):
    raise SystemExit(1)


@attention("no_tensor")
def blank(query, key, value, mask=None):
    """Where nothing is written yet, there is None."""


@attention("no_tensor")
def gives_numpy(query, key, value):
    return plain(query, key, value).numpy()


@wrong("no_tensor", kind="causal_mask")
def nested_lists(n):
    return [[j <= i for j in range(n)] for i in range(n)]


@attention("shape")
def gives_scores_alone(query, key, value):
    return F.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)


@wrong("shape", kind="causal_mask")
def one_row_more(num_tokens):
    return torch.ones(num_tokens + 1, num_tokens + 1, dtype=torch.bool).tril()


@wrong("shape", kind="transpose_qkv")
def leaves_four_dimensions(X, num_heads):
    return X.view(X.shape[0], X.shape[1], num_heads, -1).transpose(1, 2)


@attention("prints")
def shows_shapes(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    print("weights:", weights.shape)
    return weights @ value


@wrong("prints", kind="transpose_qkv")
def shows_while_splitting(X, num_heads):
    heads = X.unflatten(-1, (num_heads, -1)).transpose(1, 2).flatten(0, 1)
    print(heads)
    return heads


@attention("mutates")
def scales_in_place(query, key, value):
    with torch.no_grad():
        query /= math.sqrt(query.shape[-1])
        return torch.softmax(query @ key.mT, dim=-1) @ value


# d2l's masked_softmax writes into what it is given; here it is the mask.
@attention("mutates")
def inverts_the_mask_in_place(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    hidden = mask.logical_not_()
    blind = hidden.all(-1, keepdim=True)
    return scores.masked_fill(hidden & ~blind, -math.inf).softmax(-1).masked_fill(blind, 0.0) @ value


@wrong("mutates", kind="rms_norm")
def norms_in_place(x, weight, eps):
    return x.mul_(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)).mul_(weight)


@attention("never_ends")
def waits_for_convergence(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-1)
    while not torch.equal(weights, weights + 1):
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value


@wrong("never_ends", kind="causal_mask")
def counts_on(num_tokens):
    rows = [all(j >= i for j in itertools.count(i)) for i in range(num_tokens)]
    return torch.tensor(rows)


@attention("never_ends")
def swallows_everything(query, key, value):
    """A loop whose `except Exception` catches what does not derive from BaseException alone."""
    while True:
        try:
            plain(query, key, value)
        except Exception:
            continue


@attention("not_deterministic")
def noise(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + 0.01 * torch.randn(key.shape[-2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ value


@wrong("not_deterministic", kind="causal_mask", made=True)
def grows_with_each_call():
    """A function that remembers: the second mask sees one token more."""
    calls = itertools.count()
    return lambda num_tokens: torch.ones(num_tokens, num_tokens).tril(next(calls)).bool()
