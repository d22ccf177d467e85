"""Small layers and stacks of them, no weight at its start, and what they take."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from polyhead import Decoder, DecoderLayer, Encoder
from tests.polyhead.torch_twins import stirred

BATCH, LENGTH, MEMORY, HEADS, EMBED_DIM, FFN_DIM, LAYERS = 4, 5, 7, 2, 22, 13, 3
NAN = math.nan
EXACT = {"rtol": 1e-10, "atol": 1e-10}
OPTIONS = {
    "post-norm": {},
    "pre-norm": {"norm_first": True},
    "post-norm, gelu": {"activation": "gelu"},
    "pre-norm, gelu": {"activation": "gelu", "norm_first": True},
    "gelu_tanh": {"activation": "gelu_tanh"},
    "silu, large eps": {"activation": "silu", "layer_norm_eps": 0.3},
    "pre-norm, large eps": {"norm_first": True, "layer_norm_eps": 0.3},
}
every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
both_norms = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])

TOKENS = torch.arange(LENGTH) < torch.tensor([[5], [3], [1], [4]])  # padding right
MEMORY_TOKENS = torch.arange(MEMORY) >= torch.tensor([[0], [3], [6], [1]])  # padding left


def tokens(length: int = LENGTH) -> torch.Tensor:
    return torch.randn(BATCH, length, EMBED_DIM).double()


def make(kind: type, dropout: float = 0.0, **options) -> nn.Module:
    """A layer or a stack of them, in double precision, with no weight at its start."""
    sizes = (LAYERS, EMBED_DIM, HEADS) if kind in (Encoder, Decoder) else (EMBED_DIM, HEADS)
    return stirred(kind(*sizes, ffn_dim=FFN_DIM, dropout=dropout, **options))


def arguments_of(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What the module takes: with an encoder's output where it asks one."""
    crosses = isinstance(module, Decoder | DecoderLayer)
    return (x, torch.randn(BATCH, MEMORY, EMBED_DIM, dtype=x.dtype)) if crosses else (x,)
