"""Every explorable of `polyhead.live` with numbers like the book's."""

from __future__ import annotations

from polyhead import causal_mask, live, sentence
from tests.polyhead.figures import DOTS, K, Q, V

EXPLORABLES = {
    "hull": lambda: live.hull(Q, K, V, sentence(), wished=[2.5, 0.25]),
    "mask": lambda: live.mask(DOTS / 2, causal_mask(4), sentence()),
    "path": lambda: live.path(Q[None], num_heads=2),
}
