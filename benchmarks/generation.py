"""Generation with and without a cache: how the time of a token grows with the tokens before it."""

from __future__ import annotations

import itertools
import statistics
import time
from dataclasses import dataclass

import torch

from benchmarks.measure import no_garbage_collection
from benchmarks.tables import markdown
from polyhead import Decoder, DecoderOnly, LearnedPositions, TokenEmbedding, greedy_decode

VOCAB_SIZE, NUM_LAYERS = 1009, 6
END_ID = 0
PART = 32  # the first and the last so many tokens are compared


@dataclass(frozen=True)
class Run:
    """The seconds of each token, with the cache and without."""

    cached: list[float]
    uncached: list[float]


def make(embed_dim: int, num_heads: int, num_tokens: int) -> DecoderOnly:
    """Make a random model of GPT-2's form, which never ends a text by itself."""
    embedding = TokenEmbedding(VOCAB_SIZE, embed_dim, LearnedPositions(num_tokens, embed_dim))
    decoder = Decoder(
        NUM_LAYERS, embed_dim, num_heads, cross_attention=False, norm_first=True, activation="gelu_tanh"
    )
    with torch.no_grad():
        embedding.tokens.weight[END_ID] = 0.0  # a logit of 0, which is never the largest
    return DecoderOnly(embedding, decoder).eval()


def measure(model: DecoderOnly, num_tokens: int, runs: int) -> list[Run]:
    """Time both ways in each run, each first in turn.

    Raises:
        ValueError: the two do not write the same, or stop: then their times could not be compared.
    """
    measurements = []
    for cached in (True, False):
        seconds_of_tokens(model, min(num_tokens, 2), cached)  # warm up
    with no_garbage_collection():
        for run in range(runs):
            ways = {
                cached: seconds_of_tokens(model, num_tokens, cached)
                for cached in ((True, False), (False, True))[run % 2]
            }
            (cached_text, cached_seconds), (text, seconds) = ways[True], ways[False]
            if len(text) != num_tokens or cached_text != text:
                raise ValueError(f"both ways must write the same {num_tokens} tokens, got others")
            measurements.append(Run(cached_seconds, seconds))
    return measurements


def seconds_of_tokens(model: DecoderOnly, num_tokens: int, cached: bool) -> tuple[list[int], list[float]]:
    """Return what `greedy_decode` writes after one token, and the seconds of each new one."""
    moments: list[float] = []
    hook = model.register_forward_pre_hook(lambda *_: moments.append(time.perf_counter()))
    try:
        output = greedy_decode(
            model, torch.tensor([[1]]), end_id=END_ID, max_new_tokens=num_tokens, use_cache=cached
        )
        moments.append(time.perf_counter())
    finally:
        hook.remove()
    return output[0].tolist(), [end - start for start, end in itertools.pairwise(moments)]


def report(runs: list[Run]) -> str:
    """Return a table of medians over the runs.

    A ratio is taken within a run, so that what slows a whole run down cancels.
    """
    part = min(PART, max(len(runs[0].cached) // 2, 1))
    rows = [["", "with cache", "without cache", "without / with"]]

    def row(name: str, cached: list[float], uncached: list[float], unit: str = "") -> None:
        medians = [statistics.median(each) for each in (cached, uncached)]
        rows.append([name, *(f"{each:.2f}{unit}" for each in medians), f"{_ratio(uncached, cached):.2f}"])

    def milliseconds(where: slice) -> tuple[list[float], list[float]]:
        by_run = [[statistics.mean(way[where]) * 1e3 for way in (run.cached, run.uncached)] for run in runs]
        return [cached for cached, _ in by_run], [uncached for _, uncached in by_run]

    first, last = milliseconds(slice(part)), milliseconds(slice(-part, None))
    row(f"a token, first {part}", *first, unit=" ms")
    row(f"a token, last {part}", *last, unit=" ms")
    rows.append(["last / first", *(f"{_ratio(b, a):.2f}" for a, b in zip(first, last, strict=True)), ""])
    row("a token, all", *milliseconds(slice(None)), unit=" ms")
    return markdown(rows)


def _ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
