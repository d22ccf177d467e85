"""Whom a token reaches: which outputs depend on it after each layer, with one mask or another."""

from collections.abc import Sequence

import torch

from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable


def reach(tokens: Sequence[str]) -> Explorable:
    """Tiles of the outputs that a token reaches; the picture is that of a mask shifted by one.

    >>> reach(["a", "b", "c"]).data["tokens"]
    ['a', 'b', 'c']
    """
    seen = torch.ones(len(tokens), len(tokens)).tril(1)
    figure = plots.window_reach([seen.matrix_power(layer) > 0 for layer in (1, 2, 3)])
    return Explorable("reach", figure, tokens=list(tokens))
