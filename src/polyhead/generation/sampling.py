"""Sampling: a random next token, out of all tokens or of the most probable ones."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from polyhead.checked import Count, Size, checked
from polyhead.generation.steps import LanguageModel, Steps
from polyhead.modes import evaluation_mode

Temperature = Annotated[
    int | float, "above 0 (at 0 it is greedy_decode), and finite", lambda number: 0 < number < torch.inf
]
"""The divisor of the logits."""
Share = Annotated[int | float, "above 0 and at most 1", lambda number: 0 < number <= 1]
"""A share of the probability."""


@checked
def next_token_probs(
    logits: Float[Tensor, "*batch vocab_size"],
    temperature: Temperature = 1.0,
    top_k: Size | None = None,
    top_p: Share | None = None,
) -> Float[Tensor, "*batch vocab_size"]:
    """Compute softmax(logits / temperature), set all but the most probable tokens to 0, and renormalise.

    A temperature below 1 makes the probable more probable, one above 1 evens out. `top_k` keeps that many
    tokens; then `top_p` keeps the smallest set, the nucleus, whose probability among them reaches it. Of
    equally probable tokens the one with the smaller number comes first; one token always stays.

    Source: top_k, Fan et al. 2018, section 5.4; top_p, Holtzman et al. 2020, section 3.1.

    >>> next_token_probs(torch.tensor([1.0, 4.0, 2.0, 1.0]).log())
    tensor([0.1250, 0.5000, 0.2500, 0.1250])
    >>> next_token_probs(torch.tensor([1.0, 3.0, 1.0, 1.0]).log(), top_k=2)
    tensor([0.2500, 0.7500, 0.0000, 0.0000])
    """
    gaps = logits - logits.amax(dim=-1, keepdim=True)  # at most 0: no temperature makes them overflow
    probs = torch.softmax((gaps / temperature).masked_fill(gaps == 0, 0.0), dim=-1)
    ranked, order = probs.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ranks = torch.arange(ranked.shape[-1], device=ranked.device)
        ranked = ranked.masked_fill(ranks >= min(top_k, len(ranks)), 0.0)
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:  # at 1, rounded sums would cut off the last ones
        before = ranked.cumsum(dim=-1) - ranked  # the probability of all that rank higher
        ranked = ranked.masked_fill(before >= top_p, 0.0)
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, ranked)


@checked
@torch.no_grad()
def sample(
    model: LanguageModel,
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

    The draws of the sequences in a batch are independent. The `generator`, on the model's device, makes them
    reproducible; without it PyTorch's own is used. The other arguments are those of `greedy_decode`.

    Returns:
        The new tokens, in 64 bits: the end token included, and repeated after it.

    Raises:
        FloatingPointError: the logits have NaN, or no finite maximum.

    >>> from polyhead import Decoder, DecoderOnly, TokenEmbedding
    >>> embedding = TokenEmbedding(5, 4, positions=None)
    >>> model = DecoderOnly(embedding, Decoder(1, 4, 2, cross_attention=False))
    >>> sample(model, torch.tensor([[1, 3], [4, 2]]), end_id=0, max_new_tokens=1, top_p=0.9).shape
    torch.Size([2, 1])
    """

    def draw(logits: Tensor) -> Tensor:
        probs = next_token_probs(logits.double(), temperature, top_k, top_p)
        return torch.multinomial(probs, 1, generator=generator)[:, 0]

    with evaluation_mode(model):
        steps = Steps(model, prompt_ids, prompt_mask, source_ids, source_mask, use_cache)
        return steps.write(draw, end_id, max_new_tokens)
