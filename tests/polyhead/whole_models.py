"""Small whole models of every kind, and what they take."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from polyhead import (
    Decoder,
    DecoderOnly,
    Encoder,
    EncoderDecoder,
    EncoderOnly,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
    Transformer,
)
from tests.polyhead.torch_twins import stirred

BATCH, SOURCE, TARGET, HEADS, EMBED_DIM, FFN_DIM, LAYERS = 4, 7, 5, 2, 22, 13, 3
VOCAB, TARGET_VOCAB, SEGMENTS, MAX_LENGTH = 29, 31, 3, 8
EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = (LAYERS, EMBED_DIM, HEADS)
both_norms = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])


def ids(length: int = SOURCE, vocab_size: int = VOCAB, batch: int = BATCH) -> torch.Tensor:
    return torch.randint(0, vocab_size, (batch, length))


def embedding(learned: bool = True, **options) -> TokenEmbedding:
    positions = LearnedPositions(MAX_LENGTH, EMBED_DIM) if learned else SinusoidalPositions(EMBED_DIM)
    return TokenEmbedding(VOCAB, EMBED_DIM, positions, **options)


def encoder_only(dropout: float = 0.0, learned: bool = True, **options) -> EncoderOnly:
    embedded = embedding(learned, num_segments=SEGMENTS, layer_norm_eps=1e-3, dropout=dropout)
    return stirred(EncoderOnly(embedded, Encoder(*SIZES, ffn_dim=FFN_DIM, dropout=dropout, **options)))


def decoder_only(dropout: float = 0.0, learned: bool = True, **options) -> DecoderOnly:
    decoder = Decoder(*SIZES, cross_attention=False, ffn_dim=FFN_DIM, dropout=dropout, **options)
    return stirred(DecoderOnly(embedding(learned, dropout=dropout), decoder))


def transformer(dropout: float = 0.0, target_vocab_size: int | None = None, **options) -> Transformer:
    layers = {"num_encoder_layers": 2, "num_decoder_layers": LAYERS}
    sizes = (VOCAB, target_vocab_size, EMBED_DIM, HEADS)
    return stirred(Transformer(*sizes, **layers, ffn_dim=FFN_DIM, dropout=dropout, **options))


def joined() -> EncoderDecoder:
    """From parts: learned positions, and hidden states instead of logits."""
    encoder, decoder = (kind(*SIZES, ffn_dim=FFN_DIM, dropout=0.0) for kind in (Encoder, Decoder))
    return stirred(EncoderDecoder(embedding(), encoder, embedding(scale=True), decoder))


MODELS = {
    "encoder, learned": encoder_only,
    "encoder, sinusoidal": lambda **options: encoder_only(learned=False, norm_first=True, **options),
    "decoder, learned": lambda **options: decoder_only(norm_first=True, **options),
    "decoder, sinusoidal": lambda **options: decoder_only(learned=False, **options),
    "transformer": transformer,
    "transformer, pre-norm": lambda **options: transformer(norm_first=True, **options),
    "two vocabularies": lambda **options: transformer(target_vocab_size=TARGET_VOCAB, **options),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def arguments_of(model: nn.Module) -> tuple[torch.Tensor, ...]:
    return (ids(), ids(TARGET)) if isinstance(model, EncoderDecoder) else (ids(),)
