"""Greedy decoding: the most probable token each time."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from polyhead.checked import Count, Size, checked
from polyhead.generation.steps import Steps, evaluating
from polyhead.transformer import DecoderOnly, EncoderDecoder


@checked
@torch.no_grad()
def greedy_decode(
    model: DecoderOnly | EncoderDecoder,
    prompt_ids: Integer[Tensor, "batch prompt_length"],
    *,
    end_id: Count,
    max_new_tokens: Size,
    prompt_mask: Bool[Tensor, "batch prompt_length"] | None = None,
    source_ids: Integer[Tensor, "batch source_length"] | None = None,
    source_mask: Bool[Tensor, "batch source_length"] | None = None,
    use_cache: bool = True,
) -> Integer[Tensor, "batch num_new"]:
    """Take the most probable next token, again and again, until every sequence has ended.

    The model, which gives logits, runs in evaluation mode, and is left in the mode it was in. The prompts are
    what the texts begin with, padded left or right; the sources what the encoder reads, if there is one. In
    the masks True is a token and False padding. Without the cache each step computes all tokens again.

    Returns:
        The new tokens, in 64 bits: the end token included, and repeated after it.
    """
    with evaluating(model):
        step = Steps(model, prompt_ids, prompt_mask, source_ids, source_mask, use_cache)
        return step.write(lambda logits: logits.argmax(dim=-1), end_id, max_new_tokens)
