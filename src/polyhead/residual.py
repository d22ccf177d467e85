"""The way around a sublayer: what came is added to what it gives, and normalised before or after."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Positive, Probability, Size, checked
from polyhead.norms import Norm, make_norm


class Residual(nn.Module):
    """Post-norm: x → norm(x + dropout(sublayer(x))). Pre-norm: x → x + dropout(sublayer(norm(x))).

    In code: `x = residual.leave(x, sublayer(residual.enter(x)))`.

    Source: post-norm, Vaswani et al. 2017, section 3.1; pre-norm, Xiong et al. 2020.
    """

    @checked
    def __init__(
        self,
        embed_dim: Size,
        norm_first: bool = False,
        dropout: Probability = 0.0,
        layer_norm_eps: Positive = 1e-5,
        norm: Norm = "layer",
    ) -> None:
        """Make the norm; with `norm_first` it is a pre-norm. The arguments are those of `LayerOptions`."""
        super().__init__()
        self.embed_dim, self.norm_first = embed_dim, norm_first
        self.norm = make_norm(norm, embed_dim, layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    @checked
    def enter(self, x: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch embed_dim"]:
        """What goes into the sublayer: norm(x) with pre-norm, x with post-norm."""
        return self.norm(x) if self.norm_first else x

    @checked
    def leave(
        self, x: Float[Tensor, "*batch embed_dim"], update: Float[Tensor, "*batch embed_dim"]
    ) -> Float[Tensor, "*batch embed_dim"]:
        """What leaves the layer: x + update, normalised with post-norm."""
        total = x + self.dropout(update)
        return total if self.norm_first else self.norm(total)

    def extra_repr(self) -> str:
        """Where the norm is, for `print(module)`."""
        return f"norm_first={self.norm_first}"
