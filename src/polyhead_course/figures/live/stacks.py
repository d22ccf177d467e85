"""Stacks of layers, of which the reader switches the residual off and moves the norm."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable


def stacks(measured: Mapping[str, Sequence[Tensor]]) -> Explorable:
    """The figure `plots.layer_curves` of the deepest stacks, in which the reader chooses a stack.

    Args:
        measured: for "neither", "norm_only", "norm_only_before", "residual_only", "post_norm" and "pre_norm"
            a matrix (2, depth) for each depth: the gradient norms, and how far apart the tokens are.

    >>> import torch
    >>> kinds = "neither norm_only norm_only_before residual_only post_norm pre_norm".split()
    >>> stacks({kind: [torch.tensor([[0.1, 1.0], [0.9, 0.5]])] for kind in kinds}).data["curves"]["neither"]
    [[[0.1, 1.0], [0.9, 0.5]]]
    """
    gradients, spreads = (
        {kind: each[-1][part] for kind, each in measured.items() if kind != "norm_only_before"}
        for part in (0, 1)
    )
    rounded = {
        kind: [
            [[float(f"{g:.2g}") for g in m[0].tolist()], [round(s, 2) for s in m[1].tolist()]] for m in each
        ]
        for kind, each in measured.items()
    }
    return Explorable("stacks", plots.layer_curves(gradients, spreads), curves=rounded)
