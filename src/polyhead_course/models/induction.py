"""A model of two heads that copies: letters, a part of them again, and attention without anything else."""

import string
from importlib import resources
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from polyhead.checkpoint import load
from polyhead.decoder import Decoder, DecoderLayer
from polyhead.embedding import TokenEmbedding
from polyhead.positions import LearnedPositions
from polyhead.transformer import DecoderOnly

LETTERS, LENGTH, AGAIN = string.ascii_lowercase, 12, 6


class Zeros(nn.Module):
    """A feed-forward network that adds nothing.

    >>> Zeros()(torch.ones(2))
    tensor([0., 0.])
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros of the same shape."""
        return torch.zeros_like(x)


def attention_only(num_layers: int, num_heads: int, dropout: float = 0.0) -> DecoderOnly:
    """Make a decoder without feed-forward networks, norms and biases: embedding, attention, output.

    >>> sum(p.numel() for p in attention_only(num_layers=2, num_heads=1).parameters())
    10432
    """
    options = {"ffn_dim": 1, "norm_first": True, "attention_bias": False, "dropout": dropout}
    decoder = Decoder(num_layers, 32, num_heads, cross_attention=False, **options)  # type: ignore[arg-type]
    for layer in cast(list[DecoderLayer], decoder.layers):
        layer.feed_forward = Zeros()  # type: ignore[assignment]
        layer.self_residual.norm = layer.feed_forward_residual.norm = nn.Identity()  # type: ignore[assignment]
    decoder.norm = nn.Identity()  # type: ignore[assignment]
    embedding = TokenEmbedding(len(LETTERS), 32, LearnedPositions(LENGTH + AGAIN, 32))
    return DecoderOnly(embedding, decoder, nn.Linear(32, len(LETTERS), bias=False))


def texts(number: int, generator: torch.Generator) -> Int[Tensor, "number 18"]:
    """Draw texts: twelve different letters, then six of them again, in the same order.

    >>> [row] = texts(1, torch.Generator().manual_seed(0)).tolist()
    >>> "".join(LETTERS[each] for each in row)
    'mcdsntoekwlycdsnto'
    """
    first = torch.rand(number, len(LETTERS), generator=generator).argsort(dim=1)[:, :LENGTH]
    start = torch.randint(LENGTH - AGAIN + 1, (number, 1), generator=generator)
    return torch.cat((first, first.gather(1, start + torch.arange(AGAIN))), dim=1)


def train(model: DecoderOnly, seed: int, steps: int = 400) -> list[float]:
    """Train to predict the last five letters, 64 new texts a step; return the loss of each step.

    >>> len(train(attention_only(1, 2), seed=0, steps=2))
    2
    """
    generator, losses = torch.Generator().manual_seed(seed), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(steps):
        rows = texts(64, generator)
        loss = F.cross_entropy(model(rows)[:, LENGTH:-1].mT, rows[:, LENGTH + 1 :])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def accuracy(model: DecoderOnly, rows: Int[Tensor, "number 18"]) -> float:
    """Measure the share of the last five letters that the model finds most probable.

    >>> round(accuracy(load_copier(), texts(100, torch.Generator().manual_seed(1))), 1)
    1.0
    """
    right = model(rows)[:, LENGTH:-1].argmax(dim=-1) == rows[:, LENGTH + 1 :]
    return right.double().mean().item()


def load_copier() -> DecoderOnly:
    """Load the model of two layers with one head each, which `experiments/induction.py` trained with seed 0.

    >>> len(load_copier().decoder.layers)
    2
    """
    model = attention_only(num_layers=2, num_heads=1).eval()
    with resources.as_file(resources.files(__package__) / "checkpoints/copier.safetensors") as path:
        model.load_state_dict(load(path)[0])
    return model
