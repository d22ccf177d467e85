"""Beam search: several beginnings at a time, and the best whole sequences."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from polyhead.checked import Count, NotNegative, Size, checked
from polyhead.generation.steps import Steps, evaluating
from polyhead.transformer import DecoderOnly, EncoderDecoder


class Beams(NamedTuple):
    """What `beam_search` found, best first.

    Attributes:
        token_ids: filled up with end_id
        scores: log-probability / length penalty
    """

    token_ids: Integer[Tensor, "batch beam_size num_new"]
    scores: Float[Tensor, "batch beam_size"]


@checked
@torch.no_grad()
def beam_search(
    model: DecoderOnly | EncoderDecoder,
    prompt_ids: Integer[Tensor, "batch prompt_length"],
    *,
    end_id: Count,
    max_new_tokens: Size,
    beam_size: Size = 4,
    length_penalty: NotNegative = 0.6,
    prompt_mask: Bool[Tensor, "batch prompt_length"] | None = None,
    source_ids: Integer[Tensor, "batch source_length"] | None = None,
    source_mask: Bool[Tensor, "batch source_length"] | None = None,
    use_cache: bool = True,
) -> Beams:
    """Keep the `beam_size` best beginnings at each step, and give the best whole sequences.

    A sequence Y of n new tokens scores log P(Y) / ((5 + n) / 6)^length_penalty. The search of a sequence ends
    when no beginning that is left can still score better than the worst of `beam_size` ended ones; one that
    is cut off at `max_new_tokens` counts as it stands.

    A penalty of 0 compares log-probabilities, which favours short sequences; the larger it is, the longer the
    sequences that win. With one beam and no penalty this is `greedy_decode`, whose other arguments it has.

    Returns:
        The new tokens, in 64 bits, each sequence filled up with `end_id`, and their scores, best first; -inf
        where there are fewer possible sequences than beams.

    Source: the penalty, Wu et al. 2016, section 7 (without the coverage penalty).
    """
    with evaluating(model):
        batch, beams = len(prompt_ids), beam_size
        prompts = prompt_ids.repeat_interleave(beams, dim=0)
        masks, sources, source_masks = (
            None if each is None else each.repeat_interleave(beams, dim=0)
            for each in (prompt_mask, source_ids, source_mask)
        )
        step = Steps(model, prompts, masks, sources, source_masks, use_cache)
        log_probs = torch.log_softmax(step.first(end_id).float(), dim=-1)  # (batch * beams, vocab_size)
        vocab_size, device = log_probs.shape[-1], log_probs.device
        live = step.ids.new_empty(batch, beams, 0)
        # At first all beams of a sequence are equal, and one of them counts.
        totals = torch.full((batch, beams), -torch.inf, device=device)
        totals[:, 0] = 0.0
        ended = _Best(live, end_id, length_penalty)
        first_rows = torch.arange(batch, device=device)[:, None] * beams
        for length in range(1, max_new_tokens + 1):
            totals = (totals[..., None] + log_probs.view(batch, beams, vocab_size)).flatten(1)
            # Each beam has one way to end: of twice as many candidates, enough go on.
            totals, chosen = totals.topk(min(2 * beams, totals.shape[1]), dim=1)
            parents, tokens = chosen // vocab_size, chosen % vocab_size
            candidates = torch.cat((_rows(live, parents), tokens[..., None]), dim=2)
            ends = tokens == end_id
            ranked = torch.arange(ends.shape[1], device=device) < beams  # an end must be among the best
            ended.offer(candidates, totals.masked_fill(~(ends & ranked), -torch.inf), length)
            totals, kept = totals.masked_fill(ends, -torch.inf).topk(beams, dim=1)
            live = _rows(candidates, kept)
            if length == max_new_tokens:
                ended.offer(live, totals, length)
            # A log-probability is negative: cut off last, a beginning has the best rank in its reach.
            elif (ended.ranks.amin(dim=1) < ended.rank(totals, max_new_tokens).amax(dim=1)).any():
                rows = (first_rows + parents.gather(1, kept)).flatten()
                log_probs = torch.log_softmax(step.next(live[..., -1].flatten(), rows).float(), dim=-1)
                continue
            break
        return ended.beams()


class _Best:
    """The best sequences of each row of the batch, best first."""

    def __init__(self, none: Tensor, end_id: int, length_penalty: float) -> None:
        self.token_ids, self.end_id, self.length_penalty = none, end_id, length_penalty
        self.ranks = torch.full(none.shape[:2], -torch.inf, device=none.device)

    def rank(self, totals: Tensor, length: int) -> Tensor:
        """-log(-score), which orders as scores do, and which no penalty takes out of range."""
        return self.length_penalty * math.log((5 + length) / 6) - (-totals).log()

    def offer(self, token_ids: Tensor, totals: Tensor, length: int) -> None:
        """Take those that are better than what is there; (batch, any, length) and (batch, any)."""
        missing = token_ids.shape[2] - self.token_ids.shape[2]
        known = nn.functional.pad(self.token_ids, (0, missing), value=self.end_id)
        ranks = torch.cat((self.ranks, self.rank(totals, length)), dim=1)
        self.ranks, kept = ranks.topk(self.ranks.shape[1], dim=1)
        self.token_ids = _rows(torch.cat((known, token_ids), dim=1), kept)

    def beams(self) -> Beams:
        """With their scores; where there is no sequence, the end alone."""
        nothing = torch.isneginf(self.ranks)[..., None]
        return Beams(self.token_ids.masked_fill(nothing, self.end_id), -torch.exp(-self.ranks))


def _rows(sequences: Tensor, rows: Tensor) -> Tensor:
    """sequences[b, rows[b, i]]: (batch, any, length) and (batch, n) give (batch, n, length)."""
    return sequences.gather(1, rows[..., None].expand(*rows.shape, sequences.shape[2]))
