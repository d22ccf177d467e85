"""One attention head with its three projections."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.functional import hide_unseen, scaled_dot_product_attention


class SingleHeadAttention(nn.Module):
    """One head: softmax((X_q W_Q)(X_k W_K)ᵀ / √head_dim) X_v W_V.

    There is no output projection W_O: this is one head of a multi-head attention, not a multi-head
    attention of one head. It has 3 · (embed_dim · head_dim + head_dim) parameters with biases.

    Attributes:
        query_projection: `nn.Linear(embed_dim, head_dim)`, the transpose of W_Q as its weight.
        key_projection: the same for W_K.
        value_projection: the same for W_V.

    Source: Vaswani et al. 2017, section 3.2; our embed_dim is their d_model, head_dim their d_k = d_v.
    """

    def __init__(self, embed_dim: int, head_dim: int | None = None, bias: bool = True) -> None:
        """Make the projections.

        Args:
            embed_dim: size of each input vector.
            head_dim: size of each query, key, value and output vector; `embed_dim` if not given.
            bias: whether the projections add a learned bias.

        Raises:
            TypeError: a size is no int, or `bias` no bool.
            ValueError: a size is below 1.
        """
        super().__init__()
        self.embed_dim = _validate.at_least("embed_dim", embed_dim)
        self.head_dim = embed_dim if head_dim is None else _validate.at_least("head_dim", head_dim)
        bias = _validate.flag("bias", bias)
        self.query_projection = nn.Linear(self.embed_dim, self.head_dim, bias=bias)
        self.key_projection = nn.Linear(self.embed_dim, self.head_dim, bias=bias)
        self.value_projection = nn.Linear(self.embed_dim, self.head_dim, bias=bias)

    def forward(
        self,
        query: Float[Tensor, "*batch num_queries embed_dim"],
        key: Float[Tensor, "*batch num_keys embed_dim"] | None = None,
        value: Float[Tensor, "*batch num_keys embed_dim"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "*batch num_queries head_dim"], Float[Tensor, "*batch num_queries num_keys"]]:
        """Attend; with one argument, to the sequence itself (self-attention).

        Args:
            query: (…, num_queries, embed_dim): the vectors that ask.
            key: (…, num_keys, embed_dim): those that are compared; `query` if not given.
            value: (…, num_keys, embed_dim): those that are mixed; `key` if not given.
            mask: boolean, True = may attend; see `scaled_dot_product_attention`.

        Returns:
            The output, (…, num_queries, head_dim), and the weights, (…, num_queries, num_keys).

        Raises:
            TypeError: an argument has the wrong type, or another dtype than the projections.
            ValueError: a shape does not fit, or a value that may be seen is NaN or infinite.
        """
        key = query if key is None else key
        value = key if value is None else value
        _validate.query_and_key(query, key)
        _validate.key_and_value(key, value)
        _validate.same_kind("query", query, "the projections", self.query_projection.weight)
        for name, tensor in (("query", query), ("value", value)):
            if tensor.shape[-1] != self.embed_dim:
                raise ValueError(
                    f"{name} must have embed_dim = {self.embed_dim} as its last dimension, "
                    f"got shape {_validate.shape(tensor)}"
                )
        query, key, value = hide_unseen(query, key, value, mask)
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            _validate.finite(name, tensor, " where the mask lets it be seen")
        return scaled_dot_product_attention(
            self.query_projection(query), self.key_projection(key), self.value_projection(value), mask
        )

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, head_dim={self.head_dim}"
