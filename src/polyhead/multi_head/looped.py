"""Multi-head attention as a list of heads, computed one after another."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Mask, Size, checked, divide_exactly
from polyhead.masks import broadcast_mask
from polyhead.single_head import SingleHeadAttention


class LoopedMultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, with head_i a `SingleHeadAttention`: the definition itself.

    With biases it has 4 · (embed_dim² + embed_dim) parameters, however many heads there are.

    Each of the `heads` goes from embed_dim to head_dim = embed_dim / num_heads; the weight of
    `output_projection` is the transpose of W_O.

    Source: Vaswani et al. 2017, section 3.2.2.

    >>> attention = LoopedMultiHeadAttention(embed_dim=6, num_heads=3)
    >>> output, weights = attention(torch.randn(2, 5, 6))
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 6]), torch.Size([2, 3, 5, 5]))
    """

    @checked
    def __init__(self, embed_dim: Size, num_heads: Size, bias: bool = True) -> None:
        """Make the heads and the output projection; `num_heads` must divide `embed_dim`."""
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = divide_exactly("embed_dim", embed_dim, "num_heads", num_heads)
        heads = (SingleHeadAttention(embed_dim, self.head_dim, bias) for _ in range(num_heads))
        self.heads = nn.ModuleList(heads)
        self.output_projection = nn.Linear(embed_dim, embed_dim, bias=bias)

    @checked
    def forward(
        self,
        query: Float[Tensor, "batch num_queries {self.embed_dim}"],
        key: Float[Tensor, "batch num_keys {self.embed_dim}"] | None = None,
        value: Float[Tensor, "batch num_keys {self.embed_dim}"] | None = None,
        mask: Mask | None = None,
    ) -> tuple[
        Float[Tensor, "batch num_queries {self.embed_dim}"],
        Float[Tensor, "batch {self.num_heads} num_queries num_keys"],
    ]:
        """Attend with every head, concatenate, project; see `SingleHeadAttention.forward`."""
        key = query if key is None else key
        masks = [mask] * self.num_heads
        if mask is not None:
            shape = query.shape[0], self.num_heads, query.shape[1], key.shape[1]
            masks = list(broadcast_mask(mask, shape).expand(shape).unbind(dim=1))
        results = [head(query, key, value, mask) for head, mask in zip(self.heads, masks, strict=True)]
        outputs, weights = zip(*results, strict=True)
        return self.output_projection(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)
