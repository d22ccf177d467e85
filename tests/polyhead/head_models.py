"""Models with heads to switch off: random ones of each kind, whose numbers differ clearly."""

from __future__ import annotations

import torch
from torch import nn

from polyhead import Decoder, DecoderOnly, Encoder, EncoderOnly, LearnedPositions, TokenEmbedding, Transformer
from tests.polyhead.models import spread

EMBED_DIM, HEADS, HEAD_DIM, VOCAB, BATCH, LENGTH = 15, 5, 3, 11, 2, 7
IDS = torch.randint(VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
MASK = torch.arange(LENGTH) < torch.tensor([[LENGTH], [4]])
KINDS = ["encoder only", "decoder only", "encoder and decoder"]
SIZES = {"encoder only": 10, "decoder only": 15, "encoder and decoder": 25}  # heads


def embedding() -> TokenEmbedding:
    return TokenEmbedding(VOCAB, EMBED_DIM, LearnedPositions(13, EMBED_DIM))


def model(kind: str, dtype: torch.dtype = torch.float64) -> nn.Module:
    torch.manual_seed(0)
    made: nn.Module
    if kind == "encoder only":
        made = EncoderOnly(embedding(), Encoder(2, EMBED_DIM, HEADS))
    elif kind == "decoder only":
        made = DecoderOnly(embedding(), Decoder(3, EMBED_DIM, HEADS, cross_attention=False, norm_first=True))
    else:
        made = Transformer(VOCAB, None, 20, HEADS, 1, 2)
    made = spread(made) if dtype == torch.float64 else made.eval()
    with torch.no_grad():  # biases that are not 0, so that a lost one shows
        for parameter in made.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn(parameter.shape).mul(0.3))
    return made.to(dtype)


def called(made: nn.Module) -> torch.Tensor:
    if isinstance(made, Transformer):
        return made(IDS, IDS.flip(1), MASK)
    return made(IDS, MASK)[MASK]  # what padding gets means nothing
