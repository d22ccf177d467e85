"""The exercises about layers: what is right, and what known mistakes compute."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from polyhead.multi_head import MultiHeadAttention
from polyhead_course.exercises.checks.verdict import (
    Findings,
    exercise,
    finding,
    random_module,
    result_of,
    samples,
)

Sublayer = Callable[[Tensor], Tensor]


@exercise
def encoder_layer(candidate: Callable[[Tensor, Sublayer, Sublayer, Sublayer, Sublayer], object]) -> Findings:
    """Print whether `candidate(x, attention, feed_forward, norm_1, norm_2)` is a post-norm encoder layer.

    Each norm has parameters of its own, so that no swap goes unnoticed.
    """
    x, mixing, hidden = samples((2, 5, 6), (5, 5), (6, 6))
    first, second = random_module(lambda: nn.ModuleList([nn.LayerNorm(6), nn.LayerNorm(6)]))

    def attention(tokens: Tensor) -> Tensor:
        return mixing.softmax(-1) @ tokens

    def feed_forward(tokens: Tensor) -> Tensor:
        return torch.relu(tokens @ hidden)

    def post(one: Sublayer, two: Sublayer, path_1: int = 1, path_2: int = 1) -> Tensor:
        y = one(path_1 * x + attention(x))
        return two(path_2 * y + feed_forward(y))

    same = nn.Identity()
    inside = x + first(attention(x))
    pre = x + attention(first(x))
    mistakes = [
        ("norm_first", pre + feed_forward(second(pre))),
        *(("no_residual", post(first, second, *paths)) for paths in ((0, 0), (0, 1), (1, 0))),
        *(("no_norm", post(*pair)) for pair in ((same, same), (first, same), (same, second))),
        ("norm_inside", inside + second(feed_forward(inside))),
        ("residual_from_start", second(x + feed_forward(first(x + attention(x))))),
        *(("norms_swapped", post(*pair)) for pair in ((second, first), (first, first), (second, second))),
    ]
    output = result_of(candidate, x, attention, feed_forward, first, second)
    yield finding(output, post(first, second), mistakes)


@exercise
def cross_attention(candidate: Callable[[Tensor, Tensor, Tensor, MultiHeadAttention], object]) -> Findings:
    """Print whether `candidate(decoder_states, memory, memory_mask, attention)` is cross-attention.

    It gets (batch, target_length, embed_dim), (batch, source_length, embed_dim), a boolean mask of tokens,
    (batch, source_length), and the module to call. First both lengths are equal: every mistake then runs, and
    can be recognized by what it gives. Then they differ.
    """
    even, uneven, memory = samples((2, 5, 6), (2, 3, 6), (2, 5, 6))
    attention = random_module(lambda: MultiHeadAttention(6, num_heads=2))
    seen = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    mask = seen[:, None]  # (batch, 1, source_length)
    exchanges = {
        "cross_exchanged": (memory, even, even),
        "cross_keys": (even, even, memory),
        "cross_values": (even, memory, even),
        "cross_self": (even, even, even),
    }
    mistakes = [
        ("cross_unmasked", attention(even, memory)[0]),
        ("cross_causal", attention(even, memory, mask=mask, is_causal=True)[0]),
        ("cross_causal", attention(even, memory, is_causal=True)[0]),
        ("mask_inverted", attention(even, memory, mask=~mask)[0]),
        *((name, attention(*inputs, mask=m)[0]) for name, inputs in exchanges.items() for m in (None, mask)),
    ]
    for states, known in ((even, mistakes), (uneven, [])):
        expected, _ = attention(states, memory, mask=mask)
        output = result_of(candidate, states.clone(), memory.clone(), seen.clone(), attention)
        yield finding(output, expected, known)
