"""Decoding step by step: the keys that each step computes, those from the cache, and what that saves."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from jaxtyping import Integer
from torch import Tensor

from attention_clinic.planted import planted_decoder
from attention_clinic.small import MaskInputs
from polyhead.checked import Size, checked
from polyhead.decoder import DecoderLayer
from polyhead.modes import evaluation_mode
from polyhead.transformer import DecoderOnly
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs
from polyhead_course.figures.plots.drawing import to_array

_BUGS = "cache_upper_left", "cache_positions"


@checked
def decoding(
    model: DecoderOnly, token_ids: Integer[Tensor, "1 num_tokens"], tokens: Sequence[str], num_prompt: Size
) -> Explorable:
    """The figure `plots.cache_triangle`, in which the reader steps through prefill and decode.

    The multiply-adds are those of the decoder's layers.

    Args:
        model: A decoder-only model.
        token_ids: The text.
        tokens: The names of the tokens of the text, and of the one that comes after the last.
        num_prompt: How many tokens of the text are the prompt.

    >>> import torch
    >>> from polyhead import Decoder, DecoderOnly, SinusoidalPositions, TokenEmbedding
    >>> decoder = Decoder(num_layers=1, embed_dim=2, num_heads=1, ffn_dim=4, cross_attention=False)
    >>> model = DecoderOnly(TokenEmbedding(5, 2, SinusoidalPositions(2)), decoder)
    >>> figure = decoding(model, torch.tensor([[1, 2, 3]]), ["p", "q", "r", "s"], num_prompt=1)
    >>> figure.data["with_cache"], figure.data["without_cache"]
    ([36, 40, 44], [36, 80, 132])
    """
    size = token_ids.shape[1]
    figure = plots.cache_triangle(list(tokens[:-1]), num_prompt)
    with evaluation_mode(model), torch.no_grad():
        weights = model.attention_weights(token_ids)
        probs = model(token_ids)[0].softmax(dim=-1)  # (num_tokens, vocab_size)
        ids = probs.argmax(dim=-1)
        ill = [_decode_with(bug, model, token_ids, ids, num_prompt) for bug in _BUGS]
    lengths = range(num_prompt, size + 1)
    return Explorable(
        "decoding", figure, tokens=list(tokens), num_prompt=num_prompt,
        weights=[to_array(layer[0]).tolist() for layer in weights],
        probs=to_array(probs.amax(dim=-1)).tolist(),
        with_cache=[_cost(model, n if n == num_prompt else 1, n) for n in lengths],
        without_cache=[_cost(model, n, n) for n in lengths],
        bugs=with_bugs("decoding", *_BUGS), ill=ill,
    )  # fmt: skip


def _decode_with(
    bug: str, model: DecoderOnly, token_ids: Tensor, next_ids: Tensor, num_prompt: int
) -> list[dict[str, Any]]:
    """Decode the text with the positions and the mask of a planted bug: of each step what its query sees.

    Each has the weights, layer by head by key, and the probability of what the model writes without the bug.
    """
    planted, cache, steps = planted_decoder(bug), model.new_cache(), []
    planted.window = token_ids.shape[1]  # none
    for ids in token_ids.tensor_split([*range(num_prompt, token_ids.shape[1])], dim=1):
        visible = planted.visible(MaskInputs(cache.length, ids.shape[1], None, None, False))
        positions = planted.locate(ids, None, cache, None)
        x = model.embedding(ids, positions)
        states, weights = model.decoder(x, mask=visible, need_weights=True, cache=cache, positions=positions)
        prob = model.output(states)[0, -1].softmax(dim=-1)[next_ids[cache.length - 1]]
        rows = [to_array(layer.self_attention[0, :, -1]).tolist() for layer in weights]
        steps.append({"rows": rows, "prob": round(prob.item(), 4)})
    return steps


def _cost(model: DecoderOnly, num_queries: int, num_keys: int) -> int:
    """Count multiply-adds of all layers: per query 4 projections and 2 of the FFN, per pair 2 products."""
    dim, layers = model.embed_dim, cast(list[DecoderLayer], model.decoder.layers)
    hidden = sum(layer.feed_forward.expand.out_features for layer in layers)
    pairs = num_queries * num_keys
    return len(layers) * (4 * num_queries * dim**2 + 2 * pairs * dim) + 2 * num_queries * dim * hidden
