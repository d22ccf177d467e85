"""What exercises call: runs a reader's code, says whether it is right, and names the mistake if known."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from polyhead.functional import scaled_dot_product_attention
from polyhead.language import text

# What each known mistake computes: dot products (…, num_queries, num_keys) and head_dim in, weights out.
_MISTAKES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "unscaled": lambda dots, head_dim: dots.softmax(-1),
    "no_root": lambda dots, head_dim: (dots / head_dim).softmax(-1),
    "wrong_axis": lambda dots, head_dim: (dots / math.sqrt(head_dim)).softmax(-2),
    "no_softmax": lambda dots, head_dim: dots / math.sqrt(head_dim),
}


def attention(candidate: Callable[[Tensor, Tensor, Tensor], object]) -> None:
    """Print whether `candidate(query, key, value)` is scaled dot-product attention, and if not, what it is.

    The sizes are different primes, so that no swapped dimension goes unnoticed.

    Args:
        candidate: takes (batch, num_queries, head_dim), (batch, num_keys, head_dim) and
            (batch, num_keys, value_dim); returns the output, alone or as the first of a tuple.
    """
    print(_verdict(candidate))


def _verdict(candidate: Callable[[Tensor, Tensor, Tensor], object]) -> str:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(size, generator=generator) for size in ((2, 3, 7), (2, 5, 7), (2, 5, 11))
    )
    expected, _ = scaled_dot_product_attention(query, key, value)
    try:
        output = candidate(query.clone(), key.clone(), value.clone())
    except Exception as error:
        return text("check.raises", error=f"{type(error).__name__}: {error}")
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor):
        return text("check.no_tensor", kind=type(output).__name__)
    if not output.is_floating_point() or output.layout != torch.strided or output.is_meta:
        return text("check.no_tensor", kind=f"{output.dtype} ({output.layout}, {output.device})")
    output = output.detach().to(expected)
    if output.shape != expected.shape:
        return text("check.shape", expected=tuple(expected.shape), actual=tuple(output.shape))
    if torch.allclose(output, expected, atol=1e-5):
        return text("check.agrees")
    dots = query @ key.transpose(-2, -1)
    for name, mistake in _MISTAKES.items():
        if torch.allclose(output, mistake(dots, query.shape[-1]) @ value, atol=1e-5):
            return text(f"check.{name}")
    return text("check.differs", difference=f"{(output - expected).abs().max().item():.2g}")
