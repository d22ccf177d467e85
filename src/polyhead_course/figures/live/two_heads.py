"""What one row of weights can collect of two numbers, and what two rows can."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from polyhead.checked import Count, checked
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable


@checked
def two_heads(
    values: Float[Tensor, "num_tokens 2"],
    target: Float[Tensor, "2"],
    tokens: Sequence[str],
    shares: Sequence[Count],
) -> Explorable:
    """The figure `plots.wish_and_hull`, in which the reader sets the weights of one head or of two.

    `shares` are the weights to begin with, up to a factor, from 0 to 10.

    >>> import torch
    >>> values = torch.tensor([[0.0, 2.0], [0.0, 0.0], [2.0, 0.0]])
    >>> two_heads(values, torch.tensor([2.0, 2.0]), ["a", "b", "c"], shares=[1, 0, 1]).data["target"]
    [2.0, 2.0]
    """
    figure = plots.wish_and_hull(values, target, tokens)
    return Explorable(
        "two_heads", figure, tokens=list(tokens), values=values.tolist(), target=target.tolist(),
        shares=list(shares),
    )  # fmt: skip
