"""The logits of the next token, step by step: what all methods of generation share."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from polyhead.cache import DecoderCache
from polyhead.checked import check_range
from polyhead.decoder import Decoder
from polyhead.transformer import EncoderDecoder

LanguageModel = nn.Module
"""A decoder that is called as `model(token_ids, mask, cache)`, gives logits, and makes the cache by
`new_cache()`; or an EncoderDecoder. Either may be compiled by `torch.compile`."""


class Steps:
    """The logits of the next token, from either kind of model, with a cache or without.

    >>> from polyhead import Transformer
    >>> model = Transformer(11, 7, 6, 2, 1, 1).eval()
    >>> starts, sources = torch.tensor([[1], [1]]), torch.tensor([[3, 4, 5], [6, 7, 8]])
    >>> steps = Steps(model, starts, None, sources, None, use_cache=False)
    >>> steps.first(end_id=2).shape
    torch.Size([2, 7])
    >>> steps.next(torch.tensor([4, 5])).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt_ids: Tensor,
        prompt_mask: Tensor | None,
        source_ids: Tensor | None,
        source_mask: Tensor | None,
        use_cache: bool,
    ) -> None:
        """Check the prompts, and encode the sources if the model has an encoder."""
        if not prompt_ids.shape[1] or (prompt_mask is not None and not prompt_mask.any(dim=1).all()):
            raise ValueError("prompt_ids must have a token in each sequence, got padding alone, or none")
        # In 8 bits there would be no room for the tokens that follow.
        self.ids, self.mask, self.source_mask = prompt_ids.long(), prompt_mask, source_mask
        self.model: Any = model
        kind: Any = getattr(model, "_orig_mod", model)  # of a compiled model, the module itself
        if isinstance(kind, Decoder) or not hasattr(kind, "new_cache"):
            expected = "a decoder that gives logits and has new_cache(), as DecoderOnly"
            raise TypeError(f"model must be {expected}, got {type(kind).__name__}")
        self.cache = kind.new_cache() if use_cache else None
        self.memory: Tensor | None = None
        has_encoder = isinstance(kind, EncoderDecoder)
        # Another's decoder may give all logits only.
        step = kind.decode if has_encoder else kind.forward
        self._selects = "logits_at" in inspect.signature(step).parameters
        if has_encoder:
            if source_ids is None:
                raise ValueError("source_ids must be the tokens that the encoder reads, got None")
            if isinstance(kind.output, nn.Identity):
                raise ValueError("model must give logits, got one that gives hidden states")
            self.memory = kind.encode(source_ids, source_mask)
        elif source_ids is not None or source_mask is not None:
            raise ValueError("source_ids and source_mask must be None for a model without encoder, got one")

    def first(self, end_id: int) -> Tensor:
        """Return the logits after the last token of each prompt, (batch, vocab_size)."""
        logits = self._last_logits(self.ids, self.mask, self.cache)
        check_range("end_id", torch.tensor(end_id), logits.shape[-1], "vocab_size")
        return logits

    def next(self, tokens: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the logits after one more token each, (batch, vocab_size).

        With `rows`, sequence i first becomes a copy of sequence rows[i]; there may be more or fewer of them.
        """
        if rows is not None:
            self.ids = self.ids[rows]
            self.mask, self.memory, self.source_mask = (
                None if each is None else each[rows] for each in (self.mask, self.memory, self.source_mask)
            )
            if self.cache is not None:
                self.cache.select(rows)
        new = tokens[:, None]
        if self.cache is not None:
            return self._last_logits(new, None, self.cache)
        self.ids = torch.cat((self.ids, new), dim=1)
        if self.mask is not None:
            self.mask = torch.cat((self.mask, torch.ones_like(new, dtype=torch.bool)), dim=1)
        return self._last_logits(self.ids, self.mask, None)

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

    def _last_logits(self, ids: Tensor, mask: Tensor | None, cache: DecoderCache | None) -> Tensor:
        """Return the logits at the last token of each sequence, which padding may follow."""
        indices = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        last = indices[:, -1] if mask is None else indices.masked_fill(~mask, -1).amax(dim=1)
        options = {"logits_at": last} if self._selects else {}
        if self.memory is None:
            logits: Tensor = self.model(ids, mask, cache, **options)
        else:
            logits = self.model.decode(ids, self.memory, mask, self.source_mask, cache, **options)
        rows = torch.arange(len(ids), device=ids.device)
        logits = logits[:, 0] if self._selects else logits[rows, last]
        largest = logits.amax(dim=-1)
        if not largest.isfinite().all():  # they have no softmax
            wrong = largest[~largest.isfinite()][0].item()
            raise FloatingPointError(f"model must give logits with a finite maximum, got {wrong}")
        return logits
