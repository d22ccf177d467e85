"""One attention head with its three projections."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Mask, Size, checked
from polyhead.functional import hide_unseen, scaled_dot_product_attention


class SingleHeadAttention(nn.Module):
    """One head: softmax((X_q W_Q)(X_k W_K)ᵀ / √head_dim) X_v W_V.

    There is no output projection W_O: this is one head of a multi-head attention, not a multi-head
    attention of one head. It has 3 · (embed_dim · head_dim + head_dim) parameters with biases.

    `query_projection`, `key_projection` and `value_projection` are `nn.Linear(embed_dim, head_dim)`: their
    weights are the transposes of W_Q, W_K and W_V.

    Source: Vaswani et al. 2017, section 3.2; our embed_dim is their d_model, head_dim their d_k = d_v.
    """

    @checked
    def __init__(self, embed_dim: Size, head_dim: Size | None = None, bias: bool = True) -> None:
        """Make the projections; head_dim is embed_dim if not given."""
        super().__init__()
        self.embed_dim = embed_dim
        self.head_dim = embed_dim if head_dim is None else head_dim
        self.query_projection = nn.Linear(embed_dim, self.head_dim, bias=bias)
        self.key_projection = nn.Linear(embed_dim, self.head_dim, bias=bias)
        self.value_projection = nn.Linear(embed_dim, self.head_dim, bias=bias)

    @checked
    def forward(
        self,
        query: Float[Tensor, "*batch num_queries embed_dim"],
        key: Float[Tensor, "*batch num_keys embed_dim"] | None = None,
        value: Float[Tensor, "*batch num_keys embed_dim"] | None = None,
        mask: Mask | None = None,
    ) -> tuple[Float[Tensor, "*batch num_queries head_dim"], Float[Tensor, "*batch num_queries num_keys"]]:
        """Output and weights; with one argument the sequence attends to itself (self-attention).

        `query` asks, `key` is compared, `value` is mixed; for the mask see `scaled_dot_product_attention`.
        """
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = hide_unseen(query, key, value, mask)
        return scaled_dot_product_attention(
            self.query_projection(query), self.key_projection(key), self.value_projection(value), mask
        )

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, head_dim={self.head_dim}"
