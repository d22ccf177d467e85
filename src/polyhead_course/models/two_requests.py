"""The task of the chapter on many heads: red from the token before, blue from the district, in many runs."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import one_hot

POSITIONS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)


def draw(chances: Sequence[torch.Generator], size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw sentences of four tokens for each run.

    Returns:
        The tokens, (num_runs, size, 4, 6): position, district, road, red, blue; the vector of the road,
        (num_runs, size, 6); and what it should collect, (num_runs, size, 2).

    >>> tokens, road, target = draw([torch.Generator().manual_seed(0)], size=5)
    >>> tokens.shape, road.shape, target.shape
    (torch.Size([1, 5, 4, 6]), torch.Size([1, 5, 6]), torch.Size([1, 5, 2]))
    """
    places = torch.stack([torch.randint(4, (size,), generator=each) for each in chances])
    steps = torch.stack([torch.randint(1, 3, (size,), generator=each) for each in chances])
    numbers = [torch.randn(size, 4, 2, generator=each, dtype=torch.float64) for each in chances]
    numbered = places, places + steps, places + 3
    road, district, before = (one_hot(each % 4, 4)[..., None] for each in numbered)
    colours = torch.stack(numbers)  # (num_runs, size, 4, 2)
    tokens = torch.cat([POSITIONS.expand_as(colours), district, road, colours], dim=-1)
    red, blue = (before * colours).sum(dim=-2)[..., 0], (district * colours).sum(dim=-2)[..., 1]
    return tokens, (road * tokens).sum(dim=-2), torch.stack([red, blue], dim=-1)


def train(
    seeds: Sequence[int], num_heads: int, head_dim: int, reads_colours: bool = False, steps: int = 200
) -> Tensor:
    """Train attention without biases once for each seed, and return the losses, (num_runs, steps).

    Unless they read the colours, queries and keys get tokens whose red and blue numbers are 0.

    >>> train([0, 1], num_heads=2, head_dim=3, steps=5).shape
    torch.Size([2, 5])
    """
    chances = [torch.Generator().manual_seed(seed) for seed in seeds]
    sizes = (3, num_heads, 6, head_dim), (num_heads, head_dim, 2)
    (W_QKV, W_O) = weights = [
        torch.stack([torch.rand(size, generator=each, dtype=torch.float64) - 0.5 for each in chances])
        .requires_grad_() for size in sizes
    ]  # fmt: skip
    optimizer, losses = torch.optim.Adam(weights, lr=0.05), []
    seen = torch.tensor([1.0] * 4 + [float(reads_colours)] * 2, dtype=torch.float64)
    for _ in range(steps):
        tokens, road, target = draw(chances, 256)
        W_Q, W_K, W_V = W_QKV.unbind(dim=1)  # (num_runs, num_heads, 6, head_dim) each
        Q = torch.einsum("rse,rhed->rhsd", road * seen, W_Q)
        K = torch.einsum("rske,rhed->rhskd", tokens * seen, W_K)
        V = torch.einsum("rske,rhed->rhskd", tokens, W_V)
        A = torch.softmax(torch.einsum("rhsd,rhskd->rhsk", Q, K) / head_dim**0.5, dim=-1)
        output = torch.einsum("rhsk,rhskd,rhdo->rso", A, V, W_O)
        loss = (output - target).square().mean(dim=(1, 2))  # (num_runs,)
        optimizer.zero_grad()
        loss.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses, dim=1)
