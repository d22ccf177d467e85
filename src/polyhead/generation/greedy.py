"""Greedy decoding: the most probable token each time."""

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from polyhead.checked import Count, Size, checked
from polyhead.generation.steps import LanguageModel, Steps
from polyhead.modes import evaluation_mode


@checked
@torch.no_grad()
def greedy_decode(
    model: LanguageModel,
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

    The model, which may be compiled by `torch.compile`, runs in evaluation mode and keeps the mode that it
    had. In the masks True is a token and False padding, which may be on either side. Without the cache each
    step computes all tokens again.

    Args:
        model: gives logits as `model(token_ids, mask, cache)`, with a cache made by its `new_cache()`; or an
            EncoderDecoder.
        prompt_ids: what the generated sequences continue.
        end_id: the token that ends a sequence.
        max_new_tokens: where a sequence is cut off that has not ended.
        prompt_mask: which tokens of the prompts are no padding; without it, all.
        source_ids: what the encoder reads, if the model has one.
        source_mask: which tokens of the sources are no padding; without it, all.
        use_cache: whether to keep keys and values from step to step.

    Returns:
        The new tokens, in 64 bits: the end token included, and repeated after it.

    Raises:
        FloatingPointError: the logits have NaN, or no finite maximum.

    >>> from polyhead import Decoder, DecoderOnly, TokenEmbedding
    >>> embedding = TokenEmbedding(5, 4, positions=None)
    >>> model = DecoderOnly(embedding, Decoder(1, 4, 2, cross_attention=False))
    >>> greedy_decode(model, torch.tensor([[1, 3], [4, 2]]), end_id=0, max_new_tokens=1).shape
    torch.Size([2, 1])
    """
    with evaluation_mode(model):
        steps = Steps(model, prompt_ids, prompt_mask, source_ids, source_mask, use_cache)
        return steps.write(lambda logits: logits.argmax(dim=-1), end_id, max_new_tokens)
