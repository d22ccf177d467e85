"""The exercises about layers, positions and whole models: what is right, and what known mistakes compute."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from polyhead.checks.verdict import Findings, drawn, exercise, finding, result_of, samples
from polyhead.masks import causal_mask
from polyhead.multi_head import MultiHeadAttention

Sublayer = Callable[[Tensor], Tensor]


@exercise
def cached_mask(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(num_cached, num_new)` is the mask of new tokens after cached ones.

    It returns a boolean mask, (num_new, num_cached + num_new), where True = may attend: of several new tokens
    after several cached ones, then of one new token, then without a cache.
    """
    for num_cached, num_new in ((5, 3), (5, 1), (0, 4)):
        whole = torch.ones(num_new, num_cached + num_new, dtype=torch.bool)
        old, new = whole[:, :num_cached], causal_mask(num_new)
        expected = whole.tril(num_cached)
        mistakes = [
            ("cache_upper_left", whole.tril()),
            ("mask_inverted", ~expected),
            ("cache_strict", whole.tril(num_cached - 1)),
            ("cache_ahead", whole.tril(num_cached + 1)),
            ("cache_open", whole),
            ("cache_hidden", torch.cat((~old, new), dim=1)),
            ("cache_order", torch.cat((new, old), dim=1)),
        ]
        yield finding(result_of(candidate, num_cached, num_new), expected, mistakes)


@exercise
def encoder_layer(candidate: Callable[[Tensor, Sublayer, Sublayer, Sublayer, Sublayer], object]) -> Findings:
    """Print whether `candidate(x, attention, feed_forward, norm_1, norm_2)` is a post-norm encoder layer.

    Each norm has parameters of its own, so that no swap goes unnoticed.
    """
    x, mixing, hidden = samples((2, 5, 6), (5, 5), (6, 6))
    first, second = drawn(lambda: nn.ModuleList([nn.LayerNorm(6), nn.LayerNorm(6)]))

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
def sinusoidal_positions(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(length, embed_dim)` gives sinusoidal positions, and if not, what it gives."""
    length, embed_dim = 7, 10
    places = torch.arange(length, dtype=torch.float64)[:, None]
    dims = torch.arange(embed_dim, dtype=torch.float64)
    pairs = dims[::2]

    def waves(powers: Tensor, start: int = 0) -> Tensor:
        """A speed for each pair, or for each dimension; even dimensions have the sine."""
        angles = (places + start) / 1e4 ** (powers.repeat_interleave(embed_dim // len(powers)) / embed_dim)
        return torch.where(dims % 2 == 0, angles.sin(), angles.cos())

    right = waves(pairs)
    sines, cosines = right[:, ::2], right[:, 1::2]
    slow_or_fast = (pairs / 2, 2 * pairs, pairs * embed_dim / (embed_dim - 2), dims, 2 * dims)
    mistakes = [
        ("waves_swapped", torch.stack((cosines, sines), dim=-1).flatten(1)),
        ("waves_halves", torch.cat((sines, cosines), dim=1)),
        ("waves_from_one", waves(pairs, start=1)),
        *(("waves_speed", waves(powers)) for powers in slow_or_fast),
    ]
    yield finding(result_of(candidate, length, embed_dim), right, mistakes)


@exercise
def cross_attention(candidate: Callable[[Tensor, Tensor, Tensor, MultiHeadAttention], object]) -> Findings:
    """Print whether `candidate(decoder_states, memory, memory_mask, attention)` is cross-attention.

    It gets (batch, target_length, embed_dim), (batch, source_length, embed_dim), a boolean mask of tokens,
    (batch, source_length), and the module to call. First both lengths are equal: every mistake then runs, and
    can be recognized by what it gives. Then they differ.
    """
    even, uneven, memory = samples((2, 5, 6), (2, 3, 6), (2, 5, 6))
    attention = drawn(lambda: MultiHeadAttention(6, num_heads=2))
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
