"""Norms: what keeps the vectors between the layers at one size."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Positive, Size, checked

Norm = Literal["layer", "rms"]


class RMSNorm(nn.Module):
    """x / √(mean(x²) + eps) · weight: only the length is normalised, no mean is taken away, nothing added.

    The mean is taken in float32 at least. As in Llama, the quotient takes the dtype of x again before the
    weight comes: in half precision the order shows.

    Source: Zhang & Sennrich 2019; the order, transformers' `modeling_llama.py`.
    """

    @checked
    def __init__(self, size: Size, eps: Positive = 1e-6) -> None:
        """Make the weight, `size` ones; `eps` is added to the mean of the squares."""
        super().__init__()
        self.size, self.eps = size, eps
        self.weight = nn.Parameter(torch.ones(size))

    @checked
    def forward(self, x: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch size"]:
        """Normalise each vector."""
        exact = x.to(torch.promote_types(x.dtype, torch.float32))
        normed = exact * torch.rsqrt(exact.square().mean(dim=-1, keepdim=True) + self.eps)
        return self.weight.to(x.dtype) * normed.to(x.dtype)

    def extra_repr(self) -> str:
        """The size and what is added, for `print(module)`."""
        return f"{self.size}, eps={self.eps:g}"


def make_norm(kind: Norm, embed_dim: int, eps: float) -> nn.LayerNorm | RMSNorm:
    """The norm of a layer's options."""
    return RMSNorm(embed_dim, eps) if kind == "rms" else nn.LayerNorm(embed_dim, eps=eps)
