"""The residual connection around a sublayer, with a norm before or after it."""

from jaxtyping import Float
from torch import Tensor, nn

from polyhead.checked import Positive, Probability, Size, checked
from polyhead.norms import Norm, make_norm


class Residual(nn.Module):
    """Post-norm: x → norm(x + dropout(sublayer(x))). Pre-norm: x → x + dropout(sublayer(norm(x))).

    In code: `x = residual.leave(x, sublayer(residual.enter(x)))`.

    Source: post-norm, Vaswani et al. 2017, section 3.1; pre-norm, Xiong et al. 2020.

    >>> residual, sublayer, x = Residual(embed_dim=6, norm_first=True), nn.Linear(6, 6), torch.randn(2, 5, 6)
    >>> torch.equal(residual.leave(x, sublayer(residual.enter(x))), x + sublayer(residual.norm(x)))
    True
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
    def enter(self, x: Float[Tensor, "*batch {self.embed_dim}"]) -> Float[Tensor, "*batch {self.embed_dim}"]:
        """Give the sublayer's input: norm(x) with pre-norm, x with post-norm."""
        return self.norm(x) if self.norm_first else x

    @checked
    def leave(
        self, x: Float[Tensor, "*batch {self.embed_dim}"], update: Float[Tensor, "*batch {self.embed_dim}"]
    ) -> Float[Tensor, "*batch {self.embed_dim}"]:
        """Add the sublayer's output to x, and normalise the sum with post-norm."""
        total = x + self.dropout(update)
        return total if self.norm_first else self.norm(total)

    def extra_repr(self) -> str:
        """Say where the norm is, for `print(module)`."""
        return f"norm_first={self.norm_first}"
