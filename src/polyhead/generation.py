"""Text from a model, token by token: the most probable token each time, or the best of several beams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from polyhead import _validate
from polyhead.transformer import DecoderOnly, EncoderDecoder


class Beams(NamedTuple):
    """What `beam_search` found, best first."""

    token_ids: Int[Tensor, "batch beam_size num_new"]  # filled up with end_id
    scores: Float[Tensor, "batch beam_size"]  # log-probability / length penalty


@torch.no_grad()
def greedy_decode(
    model: DecoderOnly | EncoderDecoder,
    prompt_ids: Int[Tensor, "batch prompt_length"],
    *,
    end_id: int,
    max_new_tokens: int,
    prompt_mask: Bool[Tensor, "batch prompt_length"] | None = None,
    source_ids: Int[Tensor, "batch source_length"] | None = None,
    source_mask: Bool[Tensor, "batch source_length"] | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "batch num_new"]:
    """Take the most probable next token, again and again, until every sequence has ended.

    The model runs in evaluation mode, and is left in the mode it was in.

    Args:
        model: a decoder alone, or one with an encoder, that gives logits.
        prompt_ids: what the text begins with, (batch, prompt_length): at least a start token.
        end_id: the token that ends a sequence.
        max_new_tokens: how many tokens to make at most.
        prompt_mask: (batch, prompt_length), True = a token, False = padding, left or right.
        source_ids: what the encoder reads, (batch, source_length), where the model has one.
        source_mask: (batch, source_length), True = a token, False = padding.
        use_cache: keep keys and values; without it, each step computes all tokens again.

    Returns:
        The new tokens, (batch, num_new): the end token included, and repeated after it.

    Raises:
        TypeError, ValueError: an argument does not fit; the message says which and how.
    """
    _validate.at_least("max_new_tokens", max_new_tokens)
    _check(model, prompt_ids, prompt_mask, source_ids, source_mask)
    with _evaluating(model):
        step = _Steps(model, prompt_ids, prompt_mask, source_ids, source_mask, use_cache)
        new = prompt_ids.new_empty(len(prompt_ids), 0)
        ended = torch.zeros(len(prompt_ids), dtype=torch.bool, device=prompt_ids.device)
        logits = step.first(end_id)
        while True:
            token = logits.argmax(dim=-1).masked_fill(ended, end_id)
            new = torch.cat((new, token[:, None]), dim=1)
            ended = ended | (token == end_id)
            if new.shape[1] == max_new_tokens or ended.all():
                return new
            logits = step.next(token)


@torch.no_grad()
def beam_search(
    model: DecoderOnly | EncoderDecoder,
    prompt_ids: Int[Tensor, "batch prompt_length"],
    *,
    end_id: int,
    max_new_tokens: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    prompt_mask: Bool[Tensor, "batch prompt_length"] | None = None,
    source_ids: Int[Tensor, "batch source_length"] | None = None,
    source_mask: Bool[Tensor, "batch source_length"] | None = None,
    use_cache: bool = True,
) -> Beams:
    """Keep the `beam_size` best beginnings at each step, and give the best whole sequences.

    A sequence Y of n new tokens scores log P(Y) / ((5 + n) / 6)^length_penalty. The search of a sequence ends
    when no beginning that is left can still score better than the worst of `beam_size` ended ones; one that
    is cut off at `max_new_tokens` counts as it stands.

    Args:
        model: as of `greedy_decode`.
        prompt_ids: (batch, prompt_length), as of `greedy_decode`.
        end_id: the token that ends a sequence.
        max_new_tokens: how many tokens to make at most.
        beam_size: how many beginnings to keep; 1, with a `length_penalty` of 0, is greedy decoding.
        length_penalty: at least 0; 0 compares log-probabilities, which favours short sequences; the larger,
            the longer the sequences that win.
        prompt_mask: (batch, prompt_length), as of `greedy_decode`.
        source_ids: (batch, source_length), as of `greedy_decode`.
        source_mask: (batch, source_length), as of `greedy_decode`.
        use_cache: as of `greedy_decode`.

    Returns:
        `Beams`: the new tokens, (batch, beam_size, num_new), each filled up with `end_id`, and their scores,
        (batch, beam_size), best first; -inf where there are fewer possible sequences than beams.

    Raises:
        TypeError, ValueError: an argument does not fit; the message says which and how.

    Source: the penalty, Wu et al. 2016, section 7 (without the coverage penalty).
    """
    _validate.at_least("max_new_tokens", max_new_tokens)
    beams = _validate.at_least("beam_size", beam_size)
    alpha = _validate.at_least_zero("length_penalty", length_penalty)
    _check(model, prompt_ids, prompt_mask, source_ids, source_mask)

    def penalty(length: int) -> float:
        return float(((5 + length) / 6) ** alpha)

    with _evaluating(model):
        batch = len(prompt_ids)
        prompts = prompt_ids.repeat_interleave(beams, dim=0)
        masks, sources, source_masks = (
            None if each is None else each.repeat_interleave(beams, dim=0)
            for each in (prompt_mask, source_ids, source_mask)
        )
        step = _Steps(model, prompts, masks, sources, source_masks, use_cache)
        log_probs = torch.log_softmax(step.first(end_id).float(), dim=-1)  # (batch * beams, vocab_size)
        vocab_size, device = log_probs.shape[-1], log_probs.device
        live = prompt_ids.new_empty(batch, beams, 0)
        # At first all beams of a sequence are equal, and one of them counts.
        scores = torch.full((batch, beams), -torch.inf, device=device)
        scores[:, 0] = 0.0
        ended = _Best(batch, beams, end_id, prompt_ids)
        first_rows = torch.arange(batch, device=device)[:, None] * beams
        for length in range(1, max_new_tokens + 1):
            totals = (scores[..., None] + log_probs.view(batch, beams, vocab_size)).flatten(1)
            # Each beam has one way to end: of twice as many candidates, enough go on.
            totals, chosen = totals.topk(min(2 * beams, totals.shape[1]), dim=1)
            parents, tokens = chosen // vocab_size, chosen % vocab_size
            candidates = torch.cat((_rows(live, parents), tokens[..., None]), dim=2)
            ends = tokens == end_id
            ranked = torch.arange(ends.shape[1], device=device) < beams  # an end must be among the best
            ended.offer(candidates, totals.masked_fill(~(ends & ranked), -torch.inf) / penalty(length))
            scores, kept = totals.masked_fill(ends, -torch.inf).topk(beams, dim=1)
            live = _rows(candidates, kept)
            # A log-probability is negative: cut off last, a beginning has the best score in its reach.
            within_reach = scores / penalty(max_new_tokens)
            if length == max_new_tokens:
                ended.offer(live, within_reach)
            elif (ended.scores.amin(dim=1) < within_reach.amax(dim=1)).any():
                rows = (first_rows + parents.gather(1, kept)).flatten()
                log_probs = torch.log_softmax(step.next(live[..., -1].flatten(), rows).float(), dim=-1)
                continue
            break
        nothing = torch.isneginf(ended.scores)[..., None]
        return Beams(ended.token_ids.masked_fill(nothing, end_id), ended.scores)


class _Best:
    """The best `size` sequences of each row of the batch, best first."""

    def __init__(self, batch: int, size: int, end_id: int, like: Tensor) -> None:
        self.end_id = end_id
        self.token_ids = like.new_empty(batch, size, 0)
        self.scores = torch.full((batch, size), -torch.inf, device=like.device)

    def offer(self, token_ids: Tensor, scores: Tensor) -> None:
        """Take those that are better than what is there; (batch, any, length) and (batch, any)."""
        missing = token_ids.shape[2] - self.token_ids.shape[2]
        known = nn.functional.pad(self.token_ids, (0, missing), value=self.end_id)
        all_scores = torch.cat((self.scores, scores), dim=1)
        self.scores, kept = all_scores.topk(self.scores.shape[1], dim=1)
        self.token_ids = _rows(torch.cat((known, token_ids), dim=1), kept)


def _rows(sequences: Tensor, rows: Tensor) -> Tensor:
    """sequences[b, rows[b, i]]: (batch, any, length) and (batch, n) give (batch, n, length)."""
    return sequences.gather(1, rows[..., None].expand(*rows.shape, sequences.shape[2]))


class _Steps:
    """The logits of the next token, from either kind of model, with a cache or without."""

    def __init__(
        self,
        model: DecoderOnly | EncoderDecoder,
        prompt_ids: Tensor,
        prompt_mask: Tensor | None,
        source_ids: Tensor | None,
        source_mask: Tensor | None,
        use_cache: bool,
    ) -> None:
        self.model = model
        self.ids, self.mask = prompt_ids, prompt_mask
        self.source_mask = source_mask
        self.memory: Tensor | None = None
        if isinstance(model, EncoderDecoder):
            assert source_ids is not None
            self.memory = model.encode(source_ids, source_mask)
        self.cache = model.new_cache() if _validate.flag("use_cache", use_cache) else None

    def first(self, end_id: int) -> Tensor:
        """(batch, vocab_size) after the prompt, wherever its last token stands."""
        logits = self._logits(self.ids, self.mask)
        if isinstance(end_id, bool) or not isinstance(end_id, int) or not 0 <= end_id < logits.shape[-1]:
            raise ValueError(f"end_id must be an int from 0 to {logits.shape[-1] - 1}, got {end_id!r}")
        if self.mask is None:
            return logits[:, -1]
        places = torch.arange(self.ids.shape[1], device=self.ids.device)
        last = places.expand_as(self.ids).masked_fill(~self.mask, -1).amax(dim=1)
        return logits[torch.arange(len(last), device=last.device), last]

    def next(self, tokens: Tensor, rows: Tensor | None = None) -> Tensor:
        """(batch, vocab_size) after one more token each; first keep these rows, if any are named."""
        if rows is not None:
            self.ids = self.ids[rows]
            self.mask = None if self.mask is None else self.mask[rows]
            if self.cache is not None:
                self.cache.select(rows)
        new = tokens[:, None]
        if self.cache is not None:
            return self._logits(new, None)[:, -1]
        self.ids = torch.cat((self.ids, new), dim=1)
        if self.mask is not None:
            self.mask = torch.cat((self.mask, torch.ones_like(new, dtype=torch.bool)), dim=1)
        return self._logits(self.ids, self.mask)[:, -1]

    def _logits(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        if isinstance(self.model, DecoderOnly):
            logits: Tensor = self.model(ids, mask, self.cache)
            return logits
        assert self.memory is not None
        return self.model.decode(ids, self.memory, mask, self.source_mask, self.cache)


def _check(
    model: object,
    prompt_ids: Tensor,
    prompt_mask: Tensor | None,
    source_ids: Tensor | None,
    source_mask: Tensor | None,
) -> None:
    if not isinstance(model, DecoderOnly | EncoderDecoder):
        raise TypeError(f"model must be a DecoderOnly or EncoderDecoder, got {type(model).__name__}")
    if isinstance(model, DecoderOnly):
        if source_ids is not None or source_mask is not None:
            raise ValueError("source_ids and source_mask must be None for a model without encoder, got one")
        table = model.embedding.tokens
    else:
        if source_ids is None:
            raise ValueError("source_ids must be what the encoder reads, got None")
        _validate.token_ids("source_ids", source_ids, model.source_embedding.tokens.num_embeddings)
        if source_mask is not None:
            _validate.token_mask("source_mask", source_mask, source_ids)
        if isinstance(model.output, nn.Identity):
            raise ValueError("model must give logits, got one that gives hidden states, as load_bart does")
        table = model.target_embedding.tokens
    _validate.token_ids("prompt_ids", prompt_ids, table.num_embeddings)
    if source_ids is not None and len(source_ids) != len(prompt_ids):
        raise ValueError(
            f"source_ids must have the batch of prompt_ids, {len(prompt_ids)}, got {len(source_ids)}"
        )
    if prompt_mask is not None:
        _validate.token_mask("prompt_mask", prompt_mask, prompt_ids)
        if not prompt_mask.any(dim=1).all():
            raise ValueError("prompt_mask must leave each sequence a token, got one of padding alone")


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """In evaluation mode; afterwards each module is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
