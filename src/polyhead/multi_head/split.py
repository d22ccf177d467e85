"""Multi-head self-attention as most tutorials write it: project, view, transpose."""

import math

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Mask, Size, checked, divide_exactly
from polyhead.functional import hide_unseen, masked_softmax


class SplitMultiHeadAttention(nn.Module):
    """Self-attention whose projected queries, keys and values are split into heads by view, then transpose.

    `query`, `key`, `value` and `out` are `nn.Linear(embed_dim, embed_dim)`, for all heads together. The scale
    is a Python number: a plain tensor would not move to another device with the module.

    >>> output, weights = SplitMultiHeadAttention(embed_dim=6, num_heads=3)(torch.randn(2, 5, 6))
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 6]), torch.Size([2, 3, 5, 5]))
    """

    @checked
    def __init__(self, embed_dim: Size, num_heads: Size) -> None:
        """Make the four projections, with biases; `num_heads` must divide `embed_dim`."""
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = divide_exactly("embed_dim", embed_dim, "num_heads", num_heads)
        self.scale = math.sqrt(self.head_dim)
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)

    @checked
    def forward(
        self, x: Float[Tensor, "batch num_tokens {self.embed_dim}"], mask: Mask | None = None
    ) -> tuple[
        Float[Tensor, "batch num_tokens {self.embed_dim}"],
        Float[Tensor, "batch {self.num_heads} num_tokens num_tokens"],
    ]:
        """Attend to the sequence itself; for the mask see `scaled_dot_product_attention`."""
        batch, num_tokens, _ = x.shape
        query, key, value = hide_unseen(x, x, x, mask)
        q = self._split(self.query(query))  # (batch, num_heads, num_tokens, head_dim)
        k = self._split(self.key(key))
        v = self._split(self.value(value))
        scores = q @ k.transpose(-2, -1) / self.scale  # (batch, num_heads, num_tokens, num_tokens)
        weights = masked_softmax(scores, mask)
        output = weights @ v  # (batch, num_heads, num_tokens, head_dim)
        output = output.transpose(1, 2).contiguous().view(batch, num_tokens, self.embed_dim)
        return self.out(output), weights

    def _split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)
