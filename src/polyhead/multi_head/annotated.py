"""Multi-head attention in the form of *The Annotated Transformer*: four linears in a list.

The names are those of https://nlp.seas.harvard.edu/annotated-transformer/: our num_heads is its h, our
embed_dim its d_model, our head_dim its d_k.
"""

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Mask, Probability, Size, checked, divide_exactly
from polyhead.functional import attend, hide_unseen


class AnnotatedMultiHeadAttention(nn.Module):
    """Multi-head attention with the Annotated Transformer's arguments.

    Two differences are deliberate: the four linears are made one by one, so that they do not start as copies
    of one another, and a query that may attend to nothing gets zeros instead of the plain average. `linears`
    holds those for query, key, value and output; `attn` the weights of the last call, (batch, h, num_queries,
    num_keys), dropout included, without gradient.

    >>> attention = AnnotatedMultiHeadAttention(h=3, d_model=6)
    >>> x = torch.randn(2, 5, 6)
    >>> attention(x, x, x).shape, attention.attn.shape
    (torch.Size([2, 5, 6]), torch.Size([2, 3, 5, 5]))
    """

    @checked
    def __init__(self, h: Size, d_model: Size, dropout: Probability = 0.1) -> None:
        """Make the four projections; `h` heads must divide `d_model`."""
        super().__init__()
        self.h, self.d_model, self.dropout = h, d_model, dropout
        self.d_k = divide_exactly("d_model", d_model, "h", h)
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.attn: Tensor | None = None

    @checked
    def forward(
        self,
        query: Float[Tensor, "batch num_queries {self.d_model}"],
        key: Float[Tensor, "batch num_keys {self.d_model}"],
        value: Float[Tensor, "batch num_keys {self.d_model}"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch num_queries {self.d_model}"]:
        """Attend with all heads at once; for the mask see `scaled_dot_product_attention`."""
        query, key, value = hide_unseen(query, key, value, mask)
        # Three of the four linears, each followed by the split: (batch, h, num_tokens, d_k).
        query, key, value = (
            linear(x).view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)
            for linear, x in zip(self.linears, (query, key, value), strict=False)
        )
        output, weights = attend(query, key, value, mask, self.dropout if self.training else 0.0)
        self.attn = weights.detach()  # with its gradient the module could not be copied after a call
        output = output.transpose(1, 2).flatten(2)  # (batch, num_queries, d_model)
        return self.linears[3](output)
