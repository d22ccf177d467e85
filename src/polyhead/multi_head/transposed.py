"""Multi-head attention in d2l's form: heads folded into the batch by `transpose_qkv`.

The names are those of *Dive into Deep Learning* 1.0 (https://d2l.ai), section 11.5: our embed_dim is its
num_hiddens.
"""

from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Probability, Size, checked, divide_exactly
from polyhead.functional import attend, hide_unseen
from polyhead.masks import padding_mask


@checked
def transpose_qkv(
    X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: Size
) -> Float[Tensor, "batch*{num_heads} num_tokens num_hiddens//{num_heads}"]:
    """Split the features into heads, and fold the heads into the batch.

    Sequence b of head i becomes entry b · num_heads + i:
    out[b · num_heads + i, t, j] = X[b, t, i · head_dim + j].

    >>> transpose_qkv(torch.tensor([[[1, 2, 3, 4]]]).float(), num_heads=2)
    tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]])
    """
    head_dim = divide_exactly("X.shape[2]", X.shape[2], "num_heads", num_heads)
    X = X.reshape(X.shape[0], X.shape[1], num_heads, head_dim)  # (batch, num_tokens, num_heads, head_dim)
    X = X.permute(0, 2, 1, 3)  # (batch, num_heads, num_tokens, head_dim)
    return X.flatten(0, 1)  # (batch · num_heads, num_tokens, head_dim)


@checked
def transpose_output(
    X: Float[Tensor, "batch_heads num_tokens head_dim"], num_heads: Size
) -> Float[Tensor, "batch_heads//{num_heads} num_tokens head_dim*{num_heads}"]:
    """Undo `transpose_qkv`: concatenate the heads of each sequence.

    >>> transpose_output(torch.tensor([[[1, 2]], [[3, 4]]]).float(), num_heads=2)
    tensor([[[1., 2., 3., 4.]]])
    """
    batch = divide_exactly("X.shape[0]", X.shape[0], "num_heads", num_heads)
    X = X.reshape(batch, num_heads, X.shape[1], X.shape[2])  # (batch, num_heads, num_tokens, head_dim)
    X = X.permute(0, 2, 1, 3)  # (batch, num_tokens, num_heads, head_dim)
    return X.flatten(2, 3)  # (batch, num_tokens, num_heads · head_dim)


class TransposedMultiHeadAttention(nn.Module):
    """Multi-head attention with d2l 1.0's arguments; with the same weights it gives what d2l's class gives.

    One difference is deliberate: a query with valid_lens 0 gets zeros here, the plain average in d2l. `W_q`,
    `W_k`, `W_v`, `W_o` are `nn.Linear(num_hiddens, num_hiddens)`; `attention_weights` are those of the last
    call, (batch · num_heads, num_queries, num_keys), dropout included, without gradient.

    >>> attention = TransposedMultiHeadAttention(num_hiddens=6, num_heads=3, dropout=0.1)
    >>> x, valid_lens = torch.randn(2, 5, 6), torch.tensor([4, 1])
    >>> attention(x, x, x, valid_lens).shape, attention.attention_weights.shape
    (torch.Size([2, 5, 6]), torch.Size([6, 5, 5]))
    """

    @checked
    def __init__(self, num_hiddens: Size, num_heads: Size, dropout: Probability, bias: bool = False) -> None:
        """Make the four projections, as in d2l without biases; `num_heads` must divide `num_hiddens`."""
        super().__init__()
        divide_exactly("num_hiddens", num_hiddens, "num_heads", num_heads)
        self.num_hiddens, self.num_heads, self.dropout = num_hiddens, num_heads, dropout
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.attention_weights: Tensor | None = None

    @checked
    def forward(
        self,
        queries: Float[Tensor, "batch num_queries {self.num_hiddens}"],
        keys: Float[Tensor, "batch num_keys {self.num_hiddens}"],
        values: Float[Tensor, "batch num_keys {self.num_hiddens}"],
        valid_lens: Integer[Tensor, " batch"] | Integer[Tensor, "batch num_queries"] | None = None,
    ) -> Float[Tensor, "batch num_queries {self.num_hiddens}"]:
        """Attend with all heads at once, to the first `valid_lens` keys, of each sequence or query."""
        mask = None if valid_lens is None else padding_mask(valid_lens, keys.shape[1])
        queries, keys, values = hide_unseen(queries, keys, values, mask)
        if mask is not None:  # entry b · num_heads + i of the folded batch belongs to sequence b
            mask = mask.repeat_interleave(self.num_heads, dim=0)
        queries = transpose_qkv(self.W_q(queries), self.num_heads)
        keys = transpose_qkv(self.W_k(keys), self.num_heads)
        values = transpose_qkv(self.W_v(values), self.num_heads)
        output, weights = attend(queries, keys, values, mask, self.dropout if self.training else 0.0)
        self.attention_weights = weights.detach()  # with its gradient the module could not be copied
        return self.W_o(transpose_output(output, self.num_heads))
