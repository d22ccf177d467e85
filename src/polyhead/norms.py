"""Norms, which keep the vectors between the layers at one length."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Positive, Size, checked

Norm = Literal["layer", "rms"]


class RMSNorm(nn.Module):
    """x / √(mean(x²) + eps) · weight: unlike a layer norm it subtracts no mean and adds no bias.

    The mean is computed in float32 at least. As in Llama, the quotient is rounded to the dtype of x before it
    is multiplied by the weight: in half precision the order matters.

    Source: Zhang & Sennrich 2019; the order, transformers' `modeling_llama.py`.

    >>> RMSNorm(2, eps=1e-9)(torch.tensor([7.0, 1.0]))
    tensor([1.4000, 0.2000], grad_fn=<MulBackward0>)
    """

    @checked
    def __init__(self, size: Size, eps: Positive = 1e-6) -> None:
        """Make the weight, `size` ones; `eps` is added to the mean of the squares."""
        super().__init__()
        self.size, self.eps = size, eps
        self.weight = nn.Parameter(torch.ones(size))

    @checked
    def forward(self, x: Float[Tensor, "*batch {self.size}"]) -> Float[Tensor, "*batch {self.size}"]:
        """Normalise each vector."""
        if x.dtype.itemsize >= 4:
            return F.rms_norm(x, (self.size,), self.weight.to(x.dtype), self.eps)
        normed = F.rms_norm(x.float(), (self.size,), eps=self.eps)
        return self.weight.to(x.dtype) * normed.to(x.dtype)

    def extra_repr(self) -> str:
        """Give the size and eps, for `print(module)`."""
        return f"{self.size}, eps={self.eps:g}"


def make_norm(kind: Norm, embed_dim: int, eps: float) -> nn.LayerNorm | RMSNorm:
    """Make the norm of a layer's options.

    >>> make_norm("rms", 8, 1e-6)
    RMSNorm(8, eps=1e-06)
    """
    return RMSNorm(embed_dim, eps) if kind == "rms" else nn.LayerNorm(embed_dim, eps=eps)
