"""Multi-head self-attention as most tutorials write it: project, view, transpose."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.functional import hide_unseen, masked_softmax


class SplitMultiHeadAttention(nn.Module):
    """Self-attention whose projected queries, keys and values are split into heads by view, then transpose.

    The scale is a Python number: a plain tensor would stay behind when the module moves.

    Attributes:
        query: `nn.Linear(embed_dim, embed_dim)` for all heads together.
        key: the same for the keys.
        value: the same for the values.
        out: the output projection.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        """Make the four projections, with biases.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many heads; must divide `embed_dim`.

        Raises:
            TypeError: a size is no int.
            ValueError: a size is below 1, or the heads do not divide `embed_dim`.
        """
        super().__init__()
        self.embed_dim = _validate.at_least("embed_dim", embed_dim)
        self.head_dim = _validate.head_dim(embed_dim, num_heads)
        self.num_heads = num_heads
        self.scale = math.sqrt(self.head_dim)
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)

    def forward(
        self, x: Float[Tensor, "batch num_tokens embed_dim"], mask: Bool[Tensor, "..."] | None = None
    ) -> tuple[
        Float[Tensor, "batch num_tokens embed_dim"],
        Float[Tensor, "batch {self.num_heads} num_tokens num_tokens"],
    ]:
        """Attend to the sequence itself.

        Args:
            x: (batch, num_tokens, embed_dim).
            mask: boolean, True = may attend; it broadcasts to (batch, num_tokens, num_tokens), or, with four
                dimensions, to (batch, num_heads, num_tokens, num_tokens).

        Returns:
            The output, (batch, num_tokens, embed_dim), and the weights,
            (batch, num_heads, num_tokens, num_tokens).

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a value that may be seen is NaN or infinite.
        """
        _validate.tokens(x, x, x, self.query.weight, ("x", "x", "x"))
        batch, num_tokens, _ = x.shape
        query = key = value = x
        if mask is not None:
            mask = _validate.expanded_mask(mask, (batch, self.num_heads, num_tokens, num_tokens), x.device)
            query, key, value = hide_unseen(x, x, x, mask.any(dim=1))
        q = self._split(self.query(query))  # (batch, num_heads, num_tokens, head_dim)
        k = self._split(self.key(key))
        v = self._split(self.value(value))
        for name, tensor in (("query", q), ("key", k), ("value", v)):
            _validate.finite(name, tensor, " where the mask lets it be seen")
        scores = q @ k.transpose(-2, -1) / self.scale  # (batch, num_heads, num_tokens, num_tokens)
        weights = masked_softmax(scores, mask)
        output = torch.matmul(weights, v)  # (batch, num_heads, num_tokens, head_dim)
        joined = output.transpose(1, 2).contiguous().view(batch, num_tokens, self.embed_dim)
        return self.out(joined), weights

    def _split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)
