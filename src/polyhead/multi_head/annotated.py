"""Multi-head attention in the form of *The Annotated Transformer*: four linears in a list.

The names are those of https://nlp.seas.harvard.edu/annotated-transformer/: our num_heads is its h, our
embed_dim its d_model, our head_dim its d_k.
"""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead import _validate
from polyhead.functional import hide_unseen, scaled_dot_product_attention


class AnnotatedMultiHeadAttention(nn.Module):
    """Multi-head attention with the Annotated Transformer's arguments.

    Two differences are deliberate: the four linears are made one by one, so that they do not start as copies
    of one another, and a query that may attend to nothing gets zeros instead of the plain average.

    Attributes:
        linears: a `nn.ModuleList` of four `nn.Linear(d_model, d_model)`: query, key, value, output.
        attn: the weights of the last call, (batch, h, num_queries, num_keys), dropout included, no gradient.
    """

    def __init__(self, h: int, d_model: int, dropout: float = 0.1) -> None:
        """Make the four projections.

        Args:
            h: how many heads; must divide `d_model`.
            d_model: size of each input and output vector.
            dropout: the probability with which a weight is set to 0 in training.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1, the heads do not divide `d_model`, or dropout is no probability.
        """
        super().__init__()
        self.d_model = _validate.at_least("d_model", d_model)
        self.d_k = _validate.head_dim(d_model, h, "d_model", "h")
        self.h = h
        self.dropout = _validate.probability("dropout", dropout)
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.attn: Tensor | None = None

    def forward(
        self,
        query: Float[Tensor, "batch num_queries d_model"],
        key: Float[Tensor, "batch num_keys d_model"],
        value: Float[Tensor, "batch num_keys d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch num_queries d_model"]:
        """Attend with all heads at once.

        Args:
            query: (batch, num_queries, d_model).
            key: (batch, num_keys, d_model).
            value: (batch, num_keys, d_model).
            mask: boolean, True = may attend; it broadcasts to (batch, num_queries, num_keys), or, with four
                dimensions, to (batch, h, num_queries, num_keys).

        Returns:
            (batch, num_queries, d_model).

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a value that may be seen is NaN or infinite.
        """
        weight: Tensor = self.linears[0].weight  # type: ignore[assignment]
        _validate.tokens(query, key, value, weight)
        if mask is not None:
            target = query.shape[0], self.h, query.shape[1], key.shape[1]
            mask = _validate.expanded_mask(mask, target, query.device)
            query, key, value = hide_unseen(query, key, value, mask.any(dim=1))
        # Three of the four linears, each followed by the split: (batch, h, num_tokens, d_k).
        query, key, value = (
            linear(x).view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)
            for linear, x in zip(self.linears, (query, key, value), strict=False)
        )
        output, weights = scaled_dot_product_attention(
            query, key, value, mask, self.dropout if self.training else 0.0
        )
        # With its gradient the module could not be copied after a call.
        self.attn = weights.detach()
        joined = output.transpose(1, 2).flatten(2)  # (batch, num_queries, d_model)
        projected: Tensor = self.linears[3](joined)
        return projected
