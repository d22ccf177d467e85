"""One attention head with its three projections."""

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Mask, Size, checked
from polyhead.functional import attend, hide_unseen


class SingleHeadAttention(nn.Module):
    """One head: softmax((X_q W_Q)(X_k W_K)ᵀ / √head_dim) X_v W_V.

    There is no output projection W_O: this is one head of a multi-head attention, not a multi-head
    attention of one head. It has 3 · (embed_dim · head_dim + head_dim) parameters with biases.

    `query_projection`, `key_projection` and `value_projection` are `nn.Linear(embed_dim, head_dim)`: their
    weights are the transposes of W_Q, W_K and W_V.

    Source: Vaswani et al. 2017, section 3.2; our embed_dim is their d_model, head_dim their d_k = d_v.

    >>> head = SingleHeadAttention(embed_dim=6, head_dim=4)
    >>> output, weights = head(torch.randn(2, 5, 6))
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 4]), torch.Size([2, 5, 5]))
    """

    @checked
    def __init__(self, embed_dim: Size, head_dim: Size | None = None, bias: bool = True) -> None:
        """Make the projections; `head_dim` is `embed_dim` by default."""
        super().__init__()
        self.embed_dim = embed_dim
        self.head_dim = embed_dim if head_dim is None else head_dim
        self.query_projection = nn.Linear(embed_dim, self.head_dim, bias=bias)
        self.key_projection = nn.Linear(embed_dim, self.head_dim, bias=bias)
        self.value_projection = nn.Linear(embed_dim, self.head_dim, bias=bias)

    @checked
    def forward(
        self,
        query: Float[Tensor, "*batch num_queries {self.embed_dim}"],
        key: Float[Tensor, "*batch num_keys {self.embed_dim}"] | None = None,
        value: Float[Tensor, "*batch num_keys {self.embed_dim}"] | None = None,
        mask: Mask | None = None,
    ) -> tuple[
        Float[Tensor, "*batch num_queries {self.head_dim}"], Float[Tensor, "*batch num_queries num_keys"]
    ]:
        """Compute output and weights; with one argument the sequence attends to itself (self-attention).

        Args:
            query: what the queries are projected from.
            key: what the keys are projected from; `query` by default.
            value: what the values are projected from; `key` by default.
            mask: True = may attend; see `scaled_dot_product_attention`.
        """
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = hide_unseen(query, key, value, mask)
        q, k, v = self.query_projection(query), self.key_projection(key), self.value_projection(value)
        return attend(q, k, v, mask)

    def extra_repr(self) -> str:
        """Give the sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, head_dim={self.head_dim}"
