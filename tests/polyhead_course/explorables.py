"""Every explorable of `polyhead_course.figures.live` with numbers like the book's."""

from __future__ import annotations

import functools

import torch

from attention_clinic.planted import matrix_row
from polyhead import DecoderOnly, Transformer, causal_mask
from polyhead_course.figures import live
from polyhead_course.models.induction import load_copier
from polyhead_course.words import sentence
from tests.polyhead.whole_models import decoder_only
from tests.polyhead_course.figures import DOTS, K, Q, V

TWO = torch.tensor([[1.0, 4.0], [0.0, 0.0], [3.0, 2.0], [0.0, 0.0]])
MEASURED = {
    kind: [torch.tensor([[10.0**-n, 0.5, 1.0], [0.9, 0.5, 0.1 * n]]) for n in (1, 2, 3)]
    for kind in ["neither", "norm_only", "norm_only_before", "residual_only", "post_norm", "pre_norm"]
}
MARKS = {bug: matrix_row(bug) for bug in ("none", "sees_ahead", "mask_nan", "batch_mixed")}
WRITTEN = torch.tensor([[3, 11, 7, 2, 5]])  # (1, num_tokens)


@functools.cache
def writer() -> DecoderOnly:
    """A small model, the same every time: 3 layers of 2 heads."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return decoder_only()


@functools.cache
def reverser() -> Transformer:
    """A small model that is not trained, the same every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return Transformer(11, embed_dim=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1).eval()


EXPLORABLES = {
    "atlas": live.atlas,
    "backwards": lambda: live.backwards(reverser(), ["bead", "cafe"], "_>.abcdefgh"),
    "bugs": lambda: live.bugs(MARKS),
    "cache": lambda: live.cache({"Llama 3 8B": [32, 32, 8, 128], "GPT-2": [12, 12, 12, 64]}),
    "clocks": lambda: live.clocks(
        torch.tensor([1.0, 0.0, 1.0, 0.0]), torch.tensor([0.6, 0.8, 0.6, 0.8]), [60, 10], [5, 3]
    ),
    "copier": lambda: live.copier(load_copier(), "ambidextrous"),
    "decoding": lambda: live.decoding(writer(), WRITTEN, ["<s>", *sentence(), "</s>"], num_prompt=3),
    "hull": lambda: live.hull(Q, K, V, sentence(), wished=[2.5, 0.25]),
    "mask": lambda: live.mask(DOTS / 2, causal_mask(4), sentence()),
    "path": lambda: live.path(Q[None], num_heads=2),
    "reach": lambda: live.reach(list("|Taipei")),
    "speculative": lambda: live.speculative(
        torch.tensor([0.2, 0.2, 0.6]), torch.tensor([0.5, 0.3, 0.2]), list("ABC")
    ),
    "stacks": lambda: live.stacks(MEASURED),
    "translator": lambda: live.translator("Friday, November 20, 2026"),
    "two_heads": lambda: live.two_heads(TWO, torch.tensor([3.0, 4.0]), sentence(), shares=[1, 0, 1, 0]),
}
