"""The other half of a layer: a small network that each token passes on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypedDict

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from polyhead import _validate

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,  # max(0, x)
    "gelu": F.gelu,  # x Φ(x), exactly: BERT and BART
    "gelu_tanh": _gelu_tanh,  # x Φ(x), by its approximation with tanh: GPT-2
    "silu": F.silu,  # x sigmoid(x), also called swish
}


class LayerOptions(TypedDict, total=False):
    """What every layer takes beside its sizes.

    ffn_dim: size of the hidden vectors of the feed-forward network; four times embed_dim if not given.
    dropout: the probability with which a number is set to 0 in training: weights, hidden vectors, updates.
    activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
    norm_first: normalise what goes into each sublayer (pre-norm) instead of each sum (post-norm).
    layer_norm_eps: what is added to the variance before the root is taken.
    """

    ffn_dim: int | None
    dropout: float
    activation: Activation
    norm_first: bool
    layer_norm_eps: float


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2, the same for every token.

    Attributes:
        expand: `nn.Linear(embed_dim, ffn_dim)`.
        contract: `nn.Linear(ffn_dim, embed_dim)`.

    Source: Vaswani et al. 2017, section 3.3; our ffn_dim is their d_ff.
    """

    def __init__(
        self,
        embed_dim: int,
        ffn_dim: int | None = None,
        activation: Activation = "relu",
        dropout: float = 0.0,
    ) -> None:
        """Make the two linear layers.

        Args:
            embed_dim: size of each input and output vector.
            ffn_dim: size of the hidden vectors; four times `embed_dim` if not given.
            activation: "relu", "gelu" (exact), "gelu_tanh" (approximated) or "silu".
            dropout: the probability with which a hidden number is set to 0 in training.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1, dropout is no probability, or there is no such activation.
        """
        super().__init__()
        _validate.at_least("embed_dim", embed_dim)
        ffn_dim = 4 * embed_dim if ffn_dim is None else _validate.at_least("ffn_dim", ffn_dim)
        if activation not in tuple(ACTIVATIONS):
            names = ", ".join(f'"{name}"' for name in ACTIVATIONS)
            raise ValueError(f"activation must be one of {names}, got {activation!r}")
        self.activation = activation
        self.expand = nn.Linear(embed_dim, ffn_dim)
        self.dropout = nn.Dropout(_validate.probability("dropout", dropout))
        self.contract = nn.Linear(ffn_dim, embed_dim)

    def forward(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """Pass each vector through.

        Args:
            x: (…, embed_dim).

        Returns:
            (…, embed_dim).

        Raises:
            TypeError: `x` is not a floating tensor of the layers' dtype.
            ValueError: its last dimension is not embed_dim.
        """
        _validate.floating("x", x, min_rank=1)
        _validate.same_kind("x", x, "the layers", self.expand.weight)
        if x.shape[-1] != self.expand.in_features:
            raise ValueError(f"x must have shape (…, {self.expand.in_features}), got {_validate.shape(x)}")
        output: Tensor = self.contract(self.dropout(ACTIVATIONS[self.activation](self.expand(x))))
        return output

    def extra_repr(self) -> str:
        """The activation, for `print(module)`."""
        return f"activation={self.activation!r}"


class Residual(nn.Module):
    """The way around a sublayer: its input is added to what it gives, and normalised before or after.

    Post-norm: x → norm(x + dropout(sublayer(x))). Pre-norm: x → x + dropout(sublayer(norm(x))). In code:
    `x = residual.leave(x, sublayer(residual.enter(x)))`.

    Source: post-norm, Vaswani et al. 2017, section 3.1; pre-norm, Xiong et al. 2020.
    """

    def __init__(
        self, embed_dim: int, norm_first: bool = False, dropout: float = 0.0, layer_norm_eps: float = 1e-5
    ) -> None:
        """Make the norm.

        Args:
            embed_dim: size of each vector.
            norm_first: pre-norm instead of post-norm.
            dropout: the probability with which a number of the update is set to 0 in training.
            layer_norm_eps: what is added to the variance before the root is taken.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is below 1, eps is not above 0, or dropout is no probability.
        """
        super().__init__()
        self.norm_first = _validate.flag("norm_first", norm_first)
        eps = _validate.positive("layer_norm_eps", layer_norm_eps)
        self.norm = nn.LayerNorm(_validate.at_least("embed_dim", embed_dim), eps=eps)
        self.dropout = nn.Dropout(_validate.probability("dropout", dropout))

    def enter(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """What goes into the sublayer.

        Args:
            x: (…, embed_dim).

        Returns:
            norm(x) with pre-norm, x with post-norm.

        Raises:
            TypeError: `x` is not a floating tensor of the norm's dtype.
            ValueError: its last dimension is not embed_dim.
        """
        self._check(x)
        normed: Tensor = self.norm(x) if self.norm_first else x
        return normed

    def leave(
        self, x: Float[Tensor, "*batch embed_dim"], update: Float[Tensor, "*batch embed_dim"]
    ) -> Float[Tensor, "*batch embed_dim"]:
        """What leaves the layer.

        Args:
            x: what came, (…, embed_dim).
            update: what the sublayer gave.

        Returns:
            x + update, normalised with post-norm.

        Raises:
            TypeError: one is not a floating tensor, or `x` has not the norm's dtype.
            ValueError: the last dimension of `x` is not embed_dim, or `update` has another shape.
        """
        self._check(x)
        if _validate.floating("update", update, min_rank=1).shape != x.shape:
            raise ValueError(
                f"update must have the shape of x, {_validate.shape(x)}, got {_validate.shape(update)}"
            )
        total: Tensor = x + self.dropout(update)
        normed: Tensor = total if self.norm_first else self.norm(total)
        return normed

    def _check(self, x: object) -> None:
        checked = _validate.floating("x", x, min_rank=1)
        _validate.same_kind("x", checked, "the norm", self.norm.weight)
        if checked.shape[-1] != len(self.norm.weight):
            raise ValueError(
                f"x must have shape (…, {len(self.norm.weight)}), got {_validate.shape(checked)}"
            )

    def extra_repr(self) -> str:
        """Where the norm is, for `print(module)`."""
        return f"norm_first={self.norm_first}"
