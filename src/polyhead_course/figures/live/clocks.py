"""Two clocks of rotary positions: the reader moves query and key, apart or together."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from polyhead.checked import Count, Size, checked
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs


@checked
def clocks(
    query: Float[Tensor, "4"], key: Float[Tensor, "4"], degrees: Sequence[Size], positions: Sequence[Count]
) -> Explorable:
    """The figure `plots.rotary_arrows`, in which the reader moves the query and the key of a head of size 4.

    `degrees` is how far each of the two pairs turns for a token; `positions` are those of query and key, from
    0 to 12, to begin with.

    >>> import torch
    >>> clocks(torch.ones(4), torch.ones(4), [60, 10], [5, 3]).data["positions"]
    [5, 3]
    """
    turns = torch.polar(torch.ones(2), torch.tensor(degrees).deg2rad())
    q, k = (
        torch.view_as_real(torch.view_as_complex(each.view(2, 2)) * turns**at)
        for each, at in zip((query, key), positions, strict=True)
    )
    figure = plots.rotary_arrows(q, k, [(positions[0], positions[1])] * 2, degrees)
    return Explorable(
        "clocks", figure, query=query.tolist(), key=key.tolist(), degrees=list(degrees),
        positions=list(positions),
        bugs=with_bugs("clocks", "rotary_queries_only", "rotary_layout", "cache_positions"),
    )  # fmt: skip
