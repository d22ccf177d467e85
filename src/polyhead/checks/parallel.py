"""The exercise about all heads at once: what is right, and what the known mistakes compute."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from polyhead.checks.verdict import Findings, exercise, finding, result_of, samples

Parallel = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int], object]


@exercise
def multi_head_attention(candidate: Parallel) -> Findings:
    """Print whether `candidate(X, W_Q, W_K, W_V, W_O, num_heads)` is multi-head self-attention.

    It gets the tokens, (batch, num_tokens, embed_dim), and four matrices, (embed_dim, embed_dim), in which
    head i has columns i · head_dim to (i + 1) · head_dim - 1, of W_O rows.
    """
    num_heads, head_dim, embed_dim = 3, 5, 15
    X, *rest = samples((2, 7, embed_dim), *[(embed_dim, embed_dim)] * 4)
    W_Q, W_K, W_V, W_O = (weight / math.sqrt(embed_dim) for weight in rest)
    q, k, v = (X @ weight for weight in (W_Q, W_K, W_V))

    def split(x: Tensor) -> Tensor:
        return x.reshape(2, 7, num_heads, head_dim).transpose(1, 2)

    def interleaved(x: Tensor) -> Tensor:
        return x.reshape(2, 7, head_dim, num_heads).permute(0, 3, 1, 2)

    def viewed(x: Tensor) -> Tensor:
        return x.reshape(2, num_heads, 7, head_dim)

    def whole(x: Tensor) -> Tensor:
        return x

    def attended(cut: Callable[[Tensor], Tensor], size: int = head_dim) -> Tensor:
        return (cut(q) @ cut(k).mT / math.sqrt(size)).softmax(-1) @ cut(v)

    def joined(heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(2)

    across = attended(lambda x: x.reshape(2, 7, num_heads, head_dim)).flatten(2)
    by_entry = attended(interleaved)
    mistakes = [
        ("unscaled", joined(attended(split, 1)) @ W_O),
        ("model_root", joined(attended(split, embed_dim)) @ W_O),
        ("no_output_projection", joined(attended(split))),
        *(("view", each @ W_O) for each in (joined(attended(viewed)), attended(viewed).reshape(X.shape))),
        ("view_back", attended(split).reshape(X.shape) @ W_O),
        *(
            ("entries_before_heads", each @ W_O)
            for each in (joined(by_entry), by_entry.permute(0, 2, 3, 1).flatten(2))
        ),
        ("across_heads", across @ W_O),
        *(("one_head", each @ W_O) for each in (attended(whole), attended(whole, embed_dim))),
    ]
    inputs = (each.clone() for each in (X, W_Q, W_K, W_V, W_O))
    yield finding(result_of(candidate, *inputs, num_heads), joined(attended(split)) @ W_O, mistakes)
