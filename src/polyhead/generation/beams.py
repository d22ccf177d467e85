"""Beam search: several partial sequences at a time, and the best complete ones."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from polyhead.checked import Count, NotNegative, Size, checked
from polyhead.generation.steps import LanguageModel, Steps
from polyhead.modes import evaluation_mode


class Beams(NamedTuple):
    """The sequences that `beam_search` finds, best first.

    Attributes:
        token_ids: padded with end_id
        scores: log-probability / length penalty

    >>> beams = Beams(torch.tensor([[[3, 2], [2, 2]]]), torch.tensor([[-0.5, -1.5]]))
    >>> beams.token_ids[0, 0]  # the best one
    tensor([3, 2])
    """

    token_ids: Integer[Tensor, "batch beam_size num_new"]
    scores: Float[Tensor, "batch beam_size"]


@checked
@torch.no_grad()
def beam_search(
    model: LanguageModel,
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
    """Keep the `beam_size` best partial sequences at each step, and return the best complete ones.

    A sequence Y of n new tokens scores log P(Y) / ((5 + n) / 6)^length_penalty. The search for a prompt ends
    when no partial sequence can still score better than the worst of `beam_size` complete ones; at
    `max_new_tokens` partial sequences count as complete.

    A penalty of 0 compares log-probabilities, which favours short sequences; the larger it is, the longer the
    sequences that win. With one beam and no penalty this is `greedy_decode`, whose other arguments it has.

    Returns:
        The new tokens, in 64 bits, each sequence padded with `end_id`, and their scores, best first; -inf
        where there are fewer possible sequences than beams.

    Raises:
        FloatingPointError: the logits have NaN, or no finite maximum.

    Source: the penalty, Wu et al. 2016, section 7 (without the coverage penalty).

    >>> from polyhead import Transformer
    >>> model, source = Transformer(11, 7, 6, 2, 1, 1), torch.tensor([[3, 4, 5]])
    >>> beams = beam_search(
    ...     model, torch.tensor([[1]]), end_id=2, max_new_tokens=4, beam_size=3, source_ids=source
    ... )
    >>> beams.scores.shape
    torch.Size([1, 3])
    """
    with evaluation_mode(model):
        steps = Steps(model, prompt_ids, prompt_mask, source_ids, source_mask, use_cache)
        logits = steps.first(end_id)  # (batch, vocab_size)
        (batch, vocab_size), device = logits.shape, logits.device
        # Each prompt begins as one beam: of a small vocabulary, there are never more beams than sequences.
        live, totals = steps.ids.new_empty(batch, 1, 0), torch.zeros(batch, 1, device=device)
        complete = _Best(live.new_empty(batch, beam_size, 0), end_id, length_penalty)
        length, can_improve = 0, True
        while can_improve:
            length += 1
            log_probs = torch.log_softmax(logits.float(), dim=-1).view(batch, -1, vocab_size)
            totals = (totals[..., None] + log_probs).flatten(1)
            # Each beam has one way to end: of twice as many candidates, enough go on.
            totals, chosen = totals.topk(min(2 * beam_size, totals.shape[1]), dim=1)
            parents, tokens = chosen // vocab_size, chosen % vocab_size
            candidates = torch.cat((_rows(live, parents), tokens[..., None]), dim=2)
            ends = tokens == end_id
            ranked = torch.arange(ends.shape[1], device=device) < beam_size  # an end must be among the best
            complete.offer(candidates, totals.masked_fill(~(ends & ranked), -torch.inf))
            totals, best = totals.masked_fill(ends, -torch.inf).topk(min(beam_size, totals.shape[1]), dim=1)
            first_rows = torch.arange(batch, device=device)[:, None] * live.shape[1]
            rows, live = (first_rows + parents.gather(1, best)).flatten(), _rows(candidates, best)
            can_improve = length < max_new_tokens and complete.can_improve(totals, max_new_tokens)
            if can_improve:
                logits = steps.next(live[..., -1].flatten(), rows)
        if length == max_new_tokens:
            complete.offer(live, totals)
        return complete.beams()


class _Best:
    """The best complete sequences of each prompt, best first."""

    def __init__(self, token_ids: Tensor, end_id: int, length_penalty: float) -> None:
        """Begin with empty sequences, (batch, beam_size, 0), which rank below all others."""
        self.token_ids, self.end_id, self.length_penalty = token_ids, end_id, length_penalty
        self.ranks = torch.full(token_ids.shape[:2], -torch.inf, device=token_ids.device)

    def rank(self, totals: Tensor, length: int) -> Tensor:
        """-log(-score), which orders as scores do, and which no penalty takes out of range."""
        return self.length_penalty * math.log((5 + length) / 6) - (-totals).log()

    def can_improve(self, totals: Tensor, max_length: int) -> bool:
        """Whether a partial sequence with these log-probabilities can still become one of the best.

        Log-probabilities only fall from token to token, so the best that it can reach is to keep its own up
        to `max_length`, where the penalty helps most.
        """
        reachable = self.rank(totals, max_length).amax(dim=1)
        return bool((self.ranks.amin(dim=1) < reachable).any())

    def offer(self, token_ids: Tensor, totals: Tensor) -> None:
        """Take those that are better than the present ones; (batch, any, length) and (batch, any)."""
        length = token_ids.shape[2]
        present = nn.functional.pad(self.token_ids, (0, length - self.token_ids.shape[2]), value=self.end_id)
        ranks = torch.cat((self.ranks, self.rank(totals, length)), dim=1)
        self.ranks, best = ranks.topk(self.ranks.shape[1], dim=1)
        self.token_ids = _rows(torch.cat((present, token_ids), dim=1), best)

    def beams(self) -> Beams:
        """Sequences and scores; where there is no sequence, end tokens alone."""
        missing = torch.isneginf(self.ranks)[..., None]
        return Beams(self.token_ids.masked_fill(missing, self.end_id), -torch.exp(-self.ranks))


def _rows(sequences: Tensor, rows: Tensor) -> Tensor:
    """sequences[b, rows[b, i]]: (batch, any, length) and (batch, n) give (batch, n, length)."""
    return sequences.gather(1, rows[..., None].expand(*rows.shape, sequences.shape[2]))
