"""The path of one number into the heads and back, with the arithmetic of its indices."""

from jaxtyping import Float
from torch import Tensor

from polyhead.checked import Size, checked
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs
from polyhead_course.figures.plots.drawing import to_array
from polyhead_course.figures.plots.grid import HEAD_COLOURS


@checked
def path(X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: Size) -> Explorable:
    """The figure `plots.transpose_path`, in which the reader follows one number of a projected tensor.

    The reader can change the sizes. At the sizes of `X`, the figure shows its numbers; at others, labels.

    Args:
        X: A projected tensor.
        num_heads: The number of heads; divides `num_hiddens`.

    >>> import torch
    >>> path(torch.tensor([[[111.0, 112.0, 121.0, 122.0]]]), num_heads=2).data["num_heads"]
    2
    """
    return Explorable(
        "path", plots.transpose_path(X, num_heads), X=to_array(X).tolist(), num_heads=num_heads,
        colours=list(HEAD_COLOURS[:4]),
        bugs=with_bugs("path", "view", "entries_before_heads", "view_back"),
    )  # fmt: skip
