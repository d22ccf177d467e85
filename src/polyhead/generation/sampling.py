"""Sampling: the next token is drawn, from all tokens or from the most probable ones."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from polyhead.checked import Count, Size, checked
from polyhead.generation.steps import Steps, evaluating
from polyhead.transformer import DecoderOnly, EncoderDecoder

Temperature = Annotated[
    int | float, "above 0 (at 0 it is greedy_decode), and finite", lambda number: 0 < number < torch.inf
]
"""What the logits are divided by."""
Share = Annotated[int | float, "above 0 and at most 1", lambda number: 0 < number <= 1]
"""A part of the probability."""


@checked
def next_token_probs(
    logits: Float[Tensor, "*batch vocab_size"],
    temperature: Temperature = 1.0,
    top_k: Size | None = None,
    top_p: Share | None = None,
) -> Float[Tensor, "*batch vocab_size"]:
    """softmax(logits / temperature), then 0 for all but the most probable tokens, and a sum of 1 again.

    A temperature below 1 makes the probable more probable, one above 1 evens out. `top_k` keeps that many
    tokens; then `top_p` keeps the smallest set, the nucleus, whose probability among them reaches it. Of
    equally probable tokens the one with the smaller number comes first; one token always stays.

    Source: top_k, Fan et al. 2018, section 5.4; top_p, Holtzman et al. 2020, section 3.1.
    """
    probs = torch.softmax(logits / temperature, dim=-1)
    ranked, order = probs.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ranks = torch.arange(ranked.shape[-1], device=ranked.device)
        ranked = ranked.masked_fill(ranks >= top_k, 0.0)
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:  # at 1, rounded sums would cut off the last ones
        before = ranked.cumsum(dim=-1) - ranked  # the probability of all that rank higher
        ranked = ranked.masked_fill(before >= top_p, 0.0)
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, ranked)


@checked
@torch.no_grad()
def sample(
    model: DecoderOnly | EncoderDecoder,
    prompt_ids: Integer[Tensor, "batch prompt_length"],
    *,
    end_id: Count,
    max_new_tokens: Size,
    temperature: Temperature = 1.0,
    top_k: Size | None = None,
    top_p: Share | None = None,
    generator: torch.Generator | None = None,
    prompt_mask: Bool[Tensor, "batch prompt_length"] | None = None,
    source_ids: Integer[Tensor, "batch source_length"] | None = None,
    source_mask: Bool[Tensor, "batch source_length"] | None = None,
    use_cache: bool = True,
) -> Integer[Tensor, "batch num_new"]:
    """Draw the next token from `next_token_probs`, again and again, until every sequence has ended.

    Each sequence of the batch is drawn on its own. The `generator`, on the model's device, makes the draws
    reproducible; without it PyTorch's own is used. The other arguments are those of `greedy_decode`.

    Returns:
        The new tokens, in 64 bits: the end token included, and repeated after it.
    """

    def drawn(logits: Tensor) -> Tensor:
        probs = next_token_probs(logits.double(), temperature, top_k, top_p)
        return torch.multinomial(probs, 1, generator=generator)[:, 0]

    with evaluating(model):
        step = Steps(model, prompt_ids, prompt_mask, source_ids, source_mask, use_cache)
        return step.write(drawn, end_id, max_new_tokens)
