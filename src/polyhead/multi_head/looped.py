"""Multi-head attention as a list of heads, computed one after another."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.single_head import SingleHeadAttention


class LoopedMultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, with head_i a `SingleHeadAttention`: the definition, word for word.

    With biases it has 4 · (embed_dim² + embed_dim) parameters, however many heads there are.

    Attributes:
        heads: a `nn.ModuleList` of `num_heads` heads from embed_dim to head_dim = embed_dim / num_heads.
        output_projection: `nn.Linear(embed_dim, embed_dim)`, the transpose of W_O as its weight.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, embed_dim: int, num_heads: int, bias: bool = True) -> None:
        """Make the heads and the output projection.

        Args:
            embed_dim: size of each input and output vector.
            num_heads: how many heads; must divide `embed_dim`.
            bias: whether the projections add a learned bias.

        Raises:
            TypeError: a size is no int, or `bias` no bool.
            ValueError: a size is below 1, or the heads do not divide `embed_dim`.
        """
        super().__init__()
        self.embed_dim = _validate.at_least("embed_dim", embed_dim)
        self.head_dim = _validate.head_dim(embed_dim, num_heads)
        self.num_heads = num_heads
        self.heads = nn.ModuleList(
            SingleHeadAttention(embed_dim, self.head_dim, bias) for _ in range(num_heads)
        )
        self.output_projection = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(
        self,
        query: Float[Tensor, "batch num_queries embed_dim"],
        key: Float[Tensor, "batch num_keys embed_dim"] | None = None,
        value: Float[Tensor, "batch num_keys embed_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[
        Float[Tensor, "batch num_queries embed_dim"],
        Float[Tensor, "batch {self.num_heads} num_queries num_keys"],
    ]:
        """Attend with every head, concatenate, project; with one argument, to the sequence itself.

        Args:
            query: (batch, num_queries, embed_dim).
            key: (batch, num_keys, embed_dim); `query` if not given.
            value: (batch, num_keys, embed_dim); `key` if not given.
            mask: boolean, True = may attend; it broadcasts to (batch, num_queries, num_keys), or, with four
                dimensions, to (batch, num_heads, num_queries, num_keys).

        Returns:
            The output, (batch, num_queries, embed_dim), and the weights,
            (batch, num_heads, num_queries, num_keys).

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a value that may be seen is NaN or infinite.
        """
        key = query if key is None else key
        value = key if value is None else value
        _validate.tokens(query, key, value, self.output_projection.weight)
        target = query.shape[0], self.num_heads, query.shape[1], key.shape[1]
        masks: list[Tensor | None] = [None] * self.num_heads
        if mask is not None:
            masks[:] = _validate.expanded_mask(mask, target, query.device).unbind(dim=1)
        results = [head(query, key, value, each) for head, each in zip(self.heads, masks, strict=True)]
        outputs, weights = zip(*results, strict=True)
        return self.output_projection(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)
