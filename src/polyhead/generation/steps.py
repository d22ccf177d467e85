"""What every way to generate shares: the logits of the next token, step by step, in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from polyhead.cache import DecoderCache
from polyhead.checked import within
from polyhead.transformer import DecoderOnly, EncoderDecoder


class Steps:
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
        if not prompt_ids.shape[1] or (prompt_mask is not None and not prompt_mask.any(dim=1).all()):
            raise ValueError("prompt_ids must have a token in each sequence, got padding alone, or none")
        # In 8 bits there would be no room for the tokens that follow.
        self.ids, self.mask, self.source_mask = prompt_ids.long(), prompt_mask, source_mask
        self.cache = model.new_cache() if use_cache else None
        self.model: Any = model
        self.memory: Tensor | None = None
        if isinstance(model, EncoderDecoder):
            if source_ids is None:
                raise ValueError("source_ids must be what the encoder reads, got None")
            if isinstance(model.output, nn.Identity):
                raise ValueError("model must give logits, got one that gives hidden states")
            self.memory = model.encode(source_ids, source_mask)
        elif source_ids is not None or source_mask is not None:
            raise ValueError("source_ids and source_mask must be None for a model without encoder, got one")

    def first(self, end_id: int) -> Tensor:
        """(batch, vocab_size) after the prompt, wherever its last token stands."""
        logits = self._logits(self.ids, self.mask, self.cache)
        within("end_id", torch.tensor(end_id), logits.shape[-1], "vocab_size")
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
            self.memory = None if self.memory is None else self.memory[rows]
            if self.cache is not None:
                self.cache.select(rows)
        new = tokens[:, None]
        if self.cache is not None:
            return self._logits(new, None, self.cache)[:, -1]
        self.ids = torch.cat((self.ids, new), dim=1)
        if self.mask is not None:
            self.mask = torch.cat((self.mask, torch.ones_like(new, dtype=torch.bool)), dim=1)
        return self._logits(self.ids, self.mask, None)[:, -1]

    def write(self, choose: Callable[[Tensor], Tensor], end_id: int, max_new_tokens: int) -> Tensor:
        """New tokens, (batch, num_new), each chosen from its logits, until every sequence has ended."""
        ended = torch.zeros_like(self.ids[:, 0], dtype=torch.bool)
        new = self.ids.new_empty(len(ended), 0)
        logits = self.first(end_id)
        while True:
            token = choose(logits).masked_fill(ended, end_id)
            new = torch.cat((new, token[:, None]), dim=1)
            ended = ended | (token == end_id)
            if new.shape[1] == max_new_tokens or ended.all():
                return new
            logits = self.next(token)

    def _logits(self, ids: Tensor, mask: Tensor | None, cache: DecoderCache | None) -> Tensor:
        if self.memory is None:
            logits: Tensor = self.model(ids, mask, cache)
        else:
            logits = self.model.decode(ids, self.memory, mask, self.source_mask, cache)
        return logits


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """In evaluation mode; afterwards each module is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
