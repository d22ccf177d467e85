"""The exercises about attention and its heads: what is right, and what the known mistakes compute."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor

from polyhead import multi_head as forms
from polyhead.checks.verdict import Findings, exercise, finding, known, result_of, samples
from polyhead.functional import scaled_dot_product_attention
from polyhead.language import text

Head = tuple[Tensor, Tensor, Tensor]  # W_Q, W_K, W_V


@exercise
def attention(candidate: Callable[[Tensor, Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(query, key, value)` is scaled dot-product attention, and if not, what it is.

    It gets (batch, num_queries, head_dim), (batch, num_keys, head_dim) and (batch, num_keys, value_dim), all
    different primes, so that no swapped dimension goes unnoticed.
    """
    query, key, value = samples((2, 3, 7), (2, 5, 7), (2, 5, 11))
    dots, head_dim = query @ key.mT, query.shape[-1]
    mistakes = [
        ("unscaled", dots.softmax(-1) @ value),
        ("no_root", (dots / head_dim).softmax(-1) @ value),
        ("wrong_axis", (dots / math.sqrt(head_dim)).softmax(-2) @ value),
        ("no_softmax", dots / math.sqrt(head_dim) @ value),
    ]
    expected, _ = scaled_dot_product_attention(query, key, value)
    yield finding(result_of(candidate, query, key, value), expected, mistakes)


@exercise
def transpose_qkv(candidate: Callable[[Tensor, int], object]) -> Findings:
    """Print whether `candidate(X, num_heads)` is `polyhead.transpose_qkv`, and if not, what it is."""
    num_heads = 3
    (X,) = samples((2, 5, 21))
    split = X.reshape(2, 5, num_heads, 7)  # (batch, num_tokens, num_heads, head_dim)
    mistakes = [
        ("view", X.reshape(6, 5, 7)),
        ("heads_before_batch", split.permute(2, 0, 1, 3).flatten(0, 1)),
        ("entries_before_heads", X.reshape(2, 5, 7, num_heads).permute(0, 3, 1, 2).flatten(0, 1)),
    ]
    yield finding(result_of(candidate, X.clone(), num_heads), forms.transpose_qkv(X, num_heads), mistakes)


@exercise
def masked_attention(candidate: Callable[[Tensor, Tensor, Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(query, key, value, mask)` is masked attention, and if not, what it is.

    The mask is boolean, (batch, num_queries, num_keys), where True = may attend. One query may attend to
    nothing: it must get zeros, and no gradient may be NaN.
    """
    query, key, value = samples((2, 3, 7), (2, 5, 7), (2, 5, 11))
    first = [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]]
    second = [[1, 0, 1, 0, 1], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]]
    mask = torch.tensor([first, second]).bool()
    dots, head_dim = query @ key.mT, query.shape[-1]
    scores, hidden = dots / math.sqrt(head_dim), dots.masked_fill(~mask, -torch.inf)
    wrong = {
        "mask_ignored": scores.softmax(-1),
        "mask_inverted": scores.masked_fill(mask, -torch.inf).softmax(-1),
        "mask_after": scores.softmax(-1) * mask,
        "mask_added": (scores + mask).softmax(-1),
        "mask_zero": scores.masked_fill(~mask, 0.0).softmax(-1),
        "unscaled": hidden.softmax(-1),
        "no_root": (hidden / head_dim).softmax(-1),
    }
    expected, right = scaled_dot_product_attention(query, key, value, mask)
    # Beside a mistake the blind query may have any of these weights: its own, none, NaN, equal ones.
    blind = ~mask.any(-1, keepdim=True)
    mistakes = [
        (name, each @ value)
        for name, weights in wrong.items()
        for each in (weights, *(weights.masked_fill(blind, number) for number in (0.0, torch.nan, 1 / 5)))
    ]
    mistakes += [("mask_nan", right.masked_fill(blind, torch.nan) @ value)]
    mistakes += [("mask_uniform", right.masked_fill(blind, 1 / 5) @ value)]
    inputs = [each.requires_grad_() for each in (query, key, value)]
    output = result_of(candidate, *(each.clone() for each in inputs), mask)
    yield finding(output, expected, mistakes)
    if isinstance(output, Tensor) and output.requires_grad:
        yield finding(result_of(output.sum().backward) or output, expected)
    if any(each.grad is not None and each.grad.isnan().any() for each in inputs):
        yield text("check.mask_nan_gradient")


@exercise
def multi_head(candidate: Callable[[Tensor, list[Head], Tensor], object]) -> Findings:
    """Print whether `candidate(x, heads, W_O)` is multi-head self-attention, and if not, what it is.

    It gets the tokens, (batch, num_tokens, embed_dim); one triple (W_Q, W_K, W_V) a head, each (embed_dim,
    head_dim); and W_O, (num_heads · head_dim, embed_dim).
    """
    num_heads, head_dim, embed_dim = 3, 4, 12
    x, W_O, *rest = samples((2, 5, embed_dim), (12, embed_dim), *[(embed_dim, head_dim)] * (3 * num_heads))
    heads = [(rest[i] / 3, rest[i + 1] / 3, rest[i + 2]) for i in range(0, len(rest), 3)]

    def outputs(divisor: float) -> list[Tensor]:
        return [((x @ q) @ (x @ k).mT / divisor).softmax(-1) @ (x @ v) for q, k, v in heads]

    right = outputs(math.sqrt(head_dim))
    # Joined along another dimension, then forced into the right shape.
    scrambled = [torch.cat(right, dim) for dim in (0, 1)] + [torch.stack(right, dim) for dim in (1, 3)]
    mistakes = [
        ("unscaled", torch.cat(outputs(1.0), dim=-1) @ W_O),
        ("model_root", torch.cat(outputs(math.sqrt(embed_dim)), dim=-1) @ W_O),
        ("no_output_projection", torch.cat(right, dim=-1)),
        *(("concat_axis", each.reshape(2, 5, embed_dim) @ W_O) for each in scrambled),
    ]
    output = result_of(candidate, *copy.deepcopy((x, heads, W_O)))
    if isinstance(output, RuntimeError):
        # Heads that do not stand side by side do not fit W_O, and the program stops. They fit a part of it.
        part = W_O[:head_dim]
        misfits = [
            ("heads_summed", torch.stack(right).sum(dim=0) @ part),
            ("heads_averaged", torch.stack(right).mean(dim=0) @ part),
            *(("concat_axis", torch.cat(right, dim) @ part) for dim in (0, 1)),
            *(("concat_axis", torch.stack(right, dim) @ part) for dim in (0, 1, 2)),
        ]
        if misfit := known(result_of(candidate, *copy.deepcopy((x, heads, part))), misfits):
            yield text(f"check.{misfit}")
    yield finding(output, torch.cat(right, dim=-1) @ W_O, mistakes)
