"""Speculative decoding of one token: what of the draft is accepted, and what is drawn in its place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from polyhead.checked import checked
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.figures.plots.drawing import to_array
from polyhead_course.words.language import text

_PANELS = ("draft.q", "draft.p", "draft.accepted")
_LABELS = (
    *_PANELS,
    "draft.rejected",
    "draft.missing",
    "draft.drawn",
    "draft.number",
    "draft.draw",
    "draft.now",
)


@checked
def speculative(
    draft_probs: Float[Tensor, "vocab_size"], probs: Float[Tensor, "vocab_size"], tokens: Sequence[str]
) -> Explorable:
    """The bars of a draft's and a model's probabilities, in tenths, and of what is accepted; all can be moved.

    >>> import torch
    >>> speculative(torch.tensor([0.75, 0.25]), torch.tensor([0.5, 0.5]), ["a", "b"]).data["p"]
    [0.5, 0.5]
    """
    rows = (draft_probs, probs, torch.minimum(draft_probs, probs))
    figure = plots.next_token_bars(dict(zip(map(text, _PANELS), rows, strict=True)), tokens)
    q, p = (to_array(each).tolist() for each in rows[:2])
    return Explorable("speculative", figure, labels=_LABELS, tokens=list(tokens), q=q, p=p)
