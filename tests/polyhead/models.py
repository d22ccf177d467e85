"""Tiny models to generate with: real ones whose numbers differ clearly, and one that is a table."""

from __future__ import annotations

import torch
from torch import Tensor

from polyhead import Decoder, DecoderOnly, LearnedPositions, SinusoidalPositions, TokenEmbedding, Transformer

EMBED_DIM, HEADS, LAYERS, LENGTH = 6, 3, 2, 40


def spread(model: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """Weights large enough that attention and positions change what comes next."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator).mul(0.9))
    return model.double().eval()


def decoder_only(
    vocab_size: int, seed: int = 0, norm_first: bool = True, dropout: float = 0.0
) -> DecoderOnly:
    """With learned positions."""
    embedding = TokenEmbedding(vocab_size, EMBED_DIM, LearnedPositions(LENGTH, EMBED_DIM), dropout=dropout)
    decoder = Decoder(LAYERS, EMBED_DIM, HEADS, cross_attention=False, norm_first=norm_first, dropout=dropout)
    return spread(DecoderOnly(embedding, decoder), seed)


def encoder_decoder(vocab_size: int, seed: int = 0, dropout: float = 0.0) -> Transformer:
    """With sinusoidal positions; the source has 13 tokens."""
    return spread(Transformer(13, vocab_size, EMBED_DIM, HEADS, 1, LAYERS, dropout=dropout), seed)


class TableModel(DecoderOnly):
    """After token i the next has the probabilities table[i], whatever came before; it counts its calls."""

    def __init__(self, table: list[list[float]]) -> None:
        size = len(table)
        super().__init__(
            TokenEmbedding(size, 2, SinusoidalPositions(2)), Decoder(1, 2, 1, cross_attention=False)
        )
        self.table = torch.tensor(table, dtype=torch.float64).log()
        self.calls = 0

    def forward(self, token_ids: Tensor, mask: Tensor | None = None, cache: object = None) -> Tensor:
        self.calls += 1
        return self.table[token_ids]
