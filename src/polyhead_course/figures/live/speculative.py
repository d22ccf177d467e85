"""Speculative decoding of one token: what of the draft is accepted, and what is drawn in its place."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from polyhead.checked import checked
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.figures.plots.drawing import to_array


@checked
def speculative(
    draft_probs: Float[Tensor, "vocab_size"], probs: Float[Tensor, "vocab_size"], tokens: Sequence[str]
) -> Explorable:
    """Bars of a draft's and a model's probabilities, in tenths, and their overlap; the reader moves them.

    >>> import torch
    >>> speculative(torch.tensor([0.75, 0.25]), torch.tensor([0.5, 0.5]), ["a", "b"]).data["p"]
    [0.5, 0.5]
    """
    panels = {"q": draft_probs, "p": probs, "min(p, q)": torch.minimum(draft_probs, probs)}
    q, p = (to_array(each).tolist() for each in (draft_probs, probs))
    figure = plots.next_token_bars(panels, tokens)
    return Explorable("speculative", figure, tokens=list(tokens), q=q, p=p)
