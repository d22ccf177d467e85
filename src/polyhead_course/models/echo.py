"""A model that repeats the letter before, with four kinds of positions, beyond its training, too."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from polyhead.positions import LearnedPositions, RotaryPositions, SinusoidalPositions

LETTERS, TRAINED, WIDTH, HEADS = 16, 20, 32, 4
METHODS = "learned", "sinusoidal", "rotary", "ALiBi"


class Echo(nn.Module):
    """Causal layers of four heads, and an output: what was the letter before?

    >>> Echo("rotary")(torch.zeros(2, 5, dtype=torch.long)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, method: str, num_layers: int = 1) -> None:
        """Make the layers; `method` is one of METHODS."""
        super().__init__()
        self.method, self.embedding = method, nn.Embedding(LETTERS, WIDTH)
        added = {"learned": LearnedPositions(TRAINED, WIDTH), "sinusoidal": SinusoidalPositions(WIDTH)}
        self.add = added.get(method, nn.Identity())
        self.turn = RotaryPositions(WIDTH // HEADS) if method == "rotary" else nn.Identity()
        self.project = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(num_layers))
        self.mix = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(num_layers))
        self.output = nn.Linear(WIDTH, LETTERS)

    def forward(self, ids: Int[Tensor, "batch length"]) -> Tensor:
        """Compute the logits, (batch, length, 16)."""
        x, places = self.add(self.embedding(ids)), torch.arange(ids.shape[1])
        distance = places[:, None] - places  # (length, length)
        slopes = 2.0 ** (-8 * torch.arange(1, HEADS + 1) / HEADS)  # (4,)
        bias = -slopes[:, None, None] * distance * (self.method == "ALiBi")  # (4, length, length)
        bias = bias.masked_fill(distance < 0, float("-inf"))
        for project, mix in zip(self.project, self.mix, strict=True):
            parts = project(x).unflatten(-1, (3 * HEADS, -1)).transpose(1, 2)
            q, k, v = parts.chunk(3, dim=1)  # (batch, 4, length, 8) each
            heads = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, attn_mask=bias)
            x = x + mix(heads.transpose(1, 2).flatten(2))
        return self.output(x)


def train(method: str, seed: int, num_layers: int = 1, steps: int = 300) -> Echo:
    """Train on random letters, 16 new texts a step.

    >>> train("ALiBi", seed=0, steps=1).method
    'ALiBi'
    """
    torch.manual_seed(seed)
    model = Echo(method, num_layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        ids = torch.randint(LETTERS, (16, TRAINED))
        loss = F.cross_entropy(model(ids)[:, 1:].mT, ids[:, :-1])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


@torch.no_grad()
def accuracy(model: Echo, length: int = 80) -> Tensor:
    """Measure the share of right letters at positions 1, 2, …, (length - 1,), on 200 texts.

    >>> accuracy(Echo("learned"), length=20).shape
    torch.Size([19])
    """
    ids = torch.randint(LETTERS, (200, length), generator=torch.Generator().manual_seed(1))
    return (model(ids)[:, 1:].argmax(dim=-1) == ids[:, :-1]).double().mean(dim=0)
