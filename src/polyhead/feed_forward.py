"""The feed-forward network of a layer, which acts on each token by itself."""

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

    `expand` is x W_1 + b_1, with ffn_dim numbers a token; `contract` leads back to embed_dim.

    Source: Vaswani et al. 2017, section 3.3; our ffn_dim is their d_ff.

    >>> FeedForward(embed_dim=3, ffn_dim=7)
    FeedForward(
      activation='relu'
      (expand): Linear(in_features=3, out_features=7, bias=True)
      (dropout): Dropout(p=0.0, inplace=False)
      (contract): Linear(in_features=7, out_features=3, bias=True)
    )
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
        """Make the two linear layers, with dropout between them; `ffn_dim` is 4 · embed_dim by default."""
        super().__init__()
        self.embed_dim = embed_dim
        ffn_dim = 4 * embed_dim if ffn_dim is None else ffn_dim
        self.activation = activation
        self.expand = nn.Linear(embed_dim, ffn_dim, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.contract = nn.Linear(ffn_dim, embed_dim, bias=bias)

    @checked
    def forward(
        self, x: Float[Tensor, "*batch {self.embed_dim}"]
    ) -> Float[Tensor, "*batch {self.embed_dim}"]:
        """Apply the network to each vector."""
        hidden = self.dropout(ACTIVATIONS[self.activation](self.expand(x)))
        return self.contract(hidden)

    def extra_repr(self) -> str:
        """Give the activation, for `print(module)`."""
        return f"activation={self.activation!r}"


class GatedFeedForward(FeedForward):
    """FFN(x) = (activation(x W_gate) ⊙ x W_1) W_2: each hidden number is multiplied by a gate.

    With the activation "silu" it is SwiGLU. It has three matrices: with ffn_dim two thirds as large it has as
    many parameters as `FeedForward`. Llama calls `gate` gate_proj, `expand` up_proj, `contract` down_proj.

    Source: Shazeer 2020, equation 6.

    >>> feed_forward = GatedFeedForward(embed_dim=3, ffn_dim=7)
    >>> sum(parameter.numel() for parameter in feed_forward.parameters())
    63
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
    def forward(
        self, x: Float[Tensor, "*batch {self.embed_dim}"]
    ) -> Float[Tensor, "*batch {self.embed_dim}"]:
        """Apply the network to each vector."""
        hidden = ACTIVATIONS[self.activation](self.gate(x)) * self.expand(x)
        return self.contract(self.dropout(hidden))
