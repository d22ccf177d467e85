"""The interactive figures of a model that the chapter has trained: what it reads, and what it writes."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from jaxtyping import Integer
from torch import Tensor

from attention_clinic.planted import planted_decoder
from attention_clinic.small import MaskInputs
from polyhead.checked import Size, checked
from polyhead.decoder import DecoderLayer
from polyhead.heads import ablate, all_heads
from polyhead.modes import evaluation_mode
from polyhead.transformer import DecoderOnly, Transformer
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs
from polyhead_course.figures.plots.drawing import to_array
from polyhead_course.models.induction import AGAIN, LENGTH, LETTERS
from polyhead_course.words.language import text


@torch.no_grad()
def backwards(model: Transformer, words: Sequence[str], symbols: str) -> Explorable:
    """The figure `plots.crossing`, in which the reader chooses a word, a letter, and what the decoder reads.

    Args:
        model: An encoder and a decoder over `symbols`.
        words: Words of one length.
        symbols: The symbol of each id; the second is the start, the third the end.

    >>> model = Transformer(5, embed_dim=4, num_heads=1, num_encoder_layers=1, num_decoder_layers=1)
    >>> figure = backwards(model, ["abb", "bab"], symbols="_>.ab")
    >>> figure.data["read"], len(figure.data["written"][0])
    (['abb.', 'bab.'], 3)
    """
    read, written, weights = [word + symbols[2] for word in words], [], []
    for word in read:
        whole = model.encode(torch.tensor([[symbols.index(each) for each in word]]))  # (1, length, embed_dim)
        for memory in (whole, whole.flip(1), torch.zeros_like(whole)):
            ids = [1]
            while len(ids) <= len(word):
                ids.append(int(model.decode(torch.tensor([ids]), memory)[0, -1].argmax()))
            x = model.target_embedding(torch.tensor([ids[:-1]]))
            cross = model.decoder(x, memory, need_weights=True)[1][-1].cross_attention[0].mean(dim=0)
            written.append("".join(symbols[each] for each in ids[1:]))
            weights.append((100 * cross).round().int().tolist())
    figure = plots.crossing(torch.tensor(weights[0]) / 100, list(read[0]), list(written[0]))
    threes = [[each[i : i + 3] for i in range(0, len(each), 3)] for each in (written, weights)]
    return Explorable("backwards", figure, read=read, written=threes[0], weights=threes[1])


def copier(model: DecoderOnly, word: str) -> Explorable:
    """The figure `plots.attention_lines`, in which the reader chooses where the repetition begins.

    Args:
        model: two layers of one head, as `models.induction.load_copier` gives it.
        word: twelve different letters from a to z.

    >>> from polyhead_course.models.induction import load_copier
    >>> figure = copier(load_copier(), "ambidextrous")
    >>> figure.data["texts"][5], figure.data["written"][0][5]
    ('ambidextrousextrou', 'xtrou')
    """
    rows = [word + word[start : start + AGAIN] for start in range(LENGTH - AGAIN + 1)]
    ids = torch.tensor([[LETTERS.index(letter) for letter in row] for row in rows])
    written, weights = [], []
    for number in range(4):  # its binary digits are the heads that are off
        off = [head for head in all_heads(model) if number >> head.layer & 1]
        with torch.no_grad(), ablate(model, off):
            best = model(ids)[:, LENGTH:-1].argmax(dim=-1)
            layers = torch.cat(model.attention_weights(ids), dim=1)  # (7, 2, 18, 18)
        written.append(["".join(LETTERS[each] for each in row) for row in best.tolist()])
        weights.append((100 * layers).round().int().tolist())
    names = [text("live.copier_head", layer=layer) for layer in range(2)]
    figure = plots.attention_lines(torch.tensor(weights[0][4]) / 100, list(rows[4]), names)
    return Explorable("copier", figure, texts=rows, length=LENGTH, written=written, weights=weights[:2])


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
