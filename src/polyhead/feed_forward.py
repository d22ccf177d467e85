"""The other half of a layer: a small network that each token passes on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Probability, Size, checked

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,  # max(0, x)
    "gelu": F.gelu,  # x Φ(x), exactly: BERT and BART
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # x Φ(x), by its approximation with tanh: GPT-2
    "silu": F.silu,  # x sigmoid(x), also called swish
}


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2, the same for every token.

    `expand` is x W_1 + b_1, to ffn_dim numbers a token; `contract` leads back to embed_dim.

    Source: Vaswani et al. 2017, section 3.3; our ffn_dim is their d_ff.
    """

    @checked
    def __init__(
        self,
        embed_dim: Size,
        ffn_dim: Size | None = None,
        activation: Activation = "relu",
        dropout: Probability = 0.0,
        bias: bool = True,
    ) -> None:
        """Make the two linear layers; ffn_dim is 4 · embed_dim if not given, dropout acts between them."""
        super().__init__()
        self.embed_dim = embed_dim
        ffn_dim = 4 * embed_dim if ffn_dim is None else ffn_dim
        self.activation = activation
        self.expand = nn.Linear(embed_dim, ffn_dim, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.contract = nn.Linear(ffn_dim, embed_dim, bias=bias)

    @checked
    def forward(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """Pass each vector through."""
        hidden = self.dropout(ACTIVATIONS[self.activation](self.expand(x)))
        return self.contract(hidden)

    def extra_repr(self) -> str:
        """The activation, for `print(module)`."""
        return f"activation={self.activation!r}"


class GatedFeedForward(FeedForward):
    """FFN(x) = (activation(x W_gate) ⊙ x W_1) W_2: one half of the hidden numbers opens and closes the other.

    With the activation "silu" it is SwiGLU. It has three matrices: with ffn_dim two thirds as large it has as
    many parameters as `FeedForward`. Llama calls `gate` gate_proj, `expand` up_proj, `contract` down_proj.

    Source: Shazeer 2020, equation 6.
    """

    @checked
    def __init__(
        self,
        embed_dim: Size,
        ffn_dim: Size | None = None,
        activation: Activation = "silu",
        dropout: Probability = 0.0,
        bias: bool = False,
    ) -> None:
        """Make the three linear layers; for the arguments see `FeedForward`."""
        super().__init__(embed_dim, ffn_dim, activation, dropout, bias)
        self.gate = nn.Linear(embed_dim, self.expand.out_features, bias=bias)

    @checked
    def forward(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """Pass each vector through."""
        hidden = ACTIVATIONS[self.activation](self.gate(x)) * self.expand(x)
        return self.contract(self.dropout(hidden))
