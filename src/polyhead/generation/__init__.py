"""Generation of text, token by token: greedy decoding, sampling, drafts, and beam search."""

from polyhead.generation.beams import Beams, beam_search
from polyhead.generation.greedy import greedy_decode
from polyhead.generation.sampling import next_token_probs, sample
from polyhead.generation.speculative import accept_drafts
from polyhead.generation.steps import Steps

__all__ = [
    "Beams", "Steps", "accept_drafts", "beam_search", "greedy_decode", "next_token_probs", "sample",
]  # fmt: skip
