"""Multi-head attention in d2l's form: heads folded into the batch by `transpose_qkv`.

The names are those of *Dive into Deep Learning* 1.0 (https://d2l.ai), section 11.5: our embed_dim is its
num_hiddens.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from polyhead import _validate
from polyhead.functional import hide_unseen, scaled_dot_product_attention
from polyhead.masks import padding_mask


def transpose_qkv(
    X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: int
) -> Float[Tensor, "batch*{num_heads} num_tokens num_hiddens//{num_heads}"]:
    """Give each head its own slice of the features, and its own place in the batch.

    Sequence b of head i becomes entry b · num_heads + i:
    out[b · num_heads + i, t, j] = X[b, t, i · head_dim + j].

    Args:
        X: (batch, num_tokens, num_hiddens).
        num_heads: how many heads; must divide num_hiddens.

    Returns:
        (batch · num_heads, num_tokens, num_hiddens / num_heads).

    Raises:
        TypeError: X is not a floating tensor, or `num_heads` no int.
        ValueError: X has not three dimensions, or the heads do not divide the last.
    """
    _validate.rank("X", _validate.floating("X", X), 3)
    head_dim = _validate.head_dim(X.shape[2], num_heads, "X.shape[2]")
    X = X.reshape(X.shape[0], X.shape[1], num_heads, head_dim)  # (batch, num_tokens, num_heads, head_dim)
    X = X.permute(0, 2, 1, 3)  # (batch, num_heads, num_tokens, head_dim)
    return X.flatten(0, 1)  # (batch · num_heads, num_tokens, head_dim)


def transpose_output(
    X: Float[Tensor, "batch_heads num_tokens head_dim"], num_heads: int
) -> Float[Tensor, "batch_heads//{num_heads} num_tokens head_dim*{num_heads}"]:
    """Undo `transpose_qkv`: put the heads of each sequence side by side again.

    Args:
        X: (batch · num_heads, num_tokens, head_dim).
        num_heads: how many heads; must divide the first dimension.

    Returns:
        (batch, num_tokens, num_heads · head_dim).

    Raises:
        TypeError: X is not a floating tensor, or `num_heads` no int.
        ValueError: X has not three dimensions, or the heads do not divide the first.
    """
    _validate.rank("X", _validate.floating("X", X), 3)
    batch = _validate.divided("X.shape[0]", X.shape[0], "num_heads", num_heads)
    X = X.reshape(batch, num_heads, X.shape[1], X.shape[2])  # (batch, num_heads, num_tokens, head_dim)
    X = X.permute(0, 2, 1, 3)  # (batch, num_tokens, num_heads, head_dim)
    return X.flatten(2, 3)  # (batch, num_tokens, num_heads · head_dim)


class TransposedMultiHeadAttention(nn.Module):
    """Multi-head attention with d2l 1.0's arguments; with the same weights it gives what d2l's class gives.

    One difference is deliberate: a query with valid_lens 0 gets zeros here, the plain average in d2l.

    Attributes:
        W_q: `nn.Linear(num_hiddens, num_hiddens)` for the queries of all heads together.
        W_k: the same for the keys.
        W_v: the same for the values.
        W_o: the output projection.
        attention_weights: of the last call, (batch · num_heads, num_queries, num_keys), dropout included, no
            gradient.
    """

    def __init__(self, num_hiddens: int, num_heads: int, dropout: float, bias: bool = False) -> None:
        """Make the four projections.

        Args:
            num_hiddens: size of each input and output vector.
            num_heads: how many heads; must divide `num_hiddens`.
            dropout: the probability with which a weight is set to 0 in training.
            bias: whether the projections add a learned bias; d2l's default is no.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1, the heads do not divide `num_hiddens`, or dropout is no
                probability.
        """
        super().__init__()
        self.num_hiddens = _validate.at_least("num_hiddens", num_hiddens)
        _validate.head_dim(num_hiddens, num_heads, "num_hiddens")
        self.num_heads = num_heads
        self.dropout = _validate.probability("dropout", dropout)
        bias = _validate.flag("bias", bias)
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.attention_weights: Tensor | None = None

    def forward(
        self,
        queries: Float[Tensor, "batch num_queries num_hiddens"],
        keys: Float[Tensor, "batch num_keys num_hiddens"],
        values: Float[Tensor, "batch num_keys num_hiddens"],
        valid_lens: Int[Tensor, " batch"] | Int[Tensor, "batch num_queries"] | None = None,
    ) -> Float[Tensor, "batch num_queries num_hiddens"]:
        """Attend with all heads at once.

        Args:
            queries: (batch, num_queries, num_hiddens).
            keys: (batch, num_keys, num_hiddens).
            values: (batch, num_keys, num_hiddens).
            valid_lens: how many keys count, (batch,) or (batch, num_queries); None for all.

        Returns:
            (batch, num_queries, num_hiddens).

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a value that may be seen is NaN or infinite.
        """
        _validate.tokens(queries, keys, values, self.W_q.weight, ("queries", "keys", "values"))
        mask = None
        if valid_lens is not None:
            mask = padding_mask(valid_lens, keys.shape[1])
            self._check_lens(valid_lens, queries)
            queries, keys, values = hide_unseen(queries, keys, values, mask)
            # Entry b · num_heads + i of the folded batch belongs to sequence b.
            mask = mask.repeat_interleave(self.num_heads, dim=0)
        output, weights = scaled_dot_product_attention(
            transpose_qkv(self.W_q(queries), self.num_heads),
            transpose_qkv(self.W_k(keys), self.num_heads),
            transpose_qkv(self.W_v(values), self.num_heads),
            mask,
            self.dropout if self.training else 0.0,
        )
        # With its gradient the module could not be copied after a call.
        self.attention_weights = weights.detach()
        projected: Tensor = self.W_o(transpose_output(output, self.num_heads))
        return projected

    def _check_lens(self, valid_lens: Tensor, queries: Tensor) -> None:
        whole = _validate.shape(queries)[:2]
        if _validate.shape(valid_lens) not in (whole[:1], whole):
            raise ValueError(
                f"valid_lens must have shape (batch,) = {whole[:1]} or (batch, num_queries) = {whole}, "
                f"got {_validate.shape(valid_lens)}"
            )
        if valid_lens.device != queries.device:
            raise ValueError(
                f"valid_lens must be on the device of queries, {queries.device}, got {valid_lens.device}"
            )
