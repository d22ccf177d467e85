"""Generation of text, token by token: greedy decoding, sampling, and beam search."""

from polyhead.generation.beams import Beams, beam_search
from polyhead.generation.greedy import greedy_decode
from polyhead.generation.sampling import next_token_probs, sample
from polyhead.generation.steps import Steps

__all__ = ["Beams", "Steps", "beam_search", "greedy_decode", "next_token_probs", "sample"]
