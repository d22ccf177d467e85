"""The exercise about rotary positions: what is right, and what the known mistakes compute."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from polyhead.checks.verdict import Findings, exercise, finding, result_of, samples


@exercise
def rotary_positions(candidate: Callable[[Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(x, positions)` turns half-split pairs by position, and if not, what it does.

    It gets (batch, num_heads, length, head_dim) and (length,), positions that neither begin at 0 nor have no
    gaps, so that none can be guessed.
    """
    (x,) = samples((2, 3, 5, 14))
    positions = torch.tensor([2, 3, 5, 8, 13])
    size, half = 14, 7
    pairs = torch.arange(half, dtype=torch.float64)

    def turned(powers: Tensor = 2 * pairs / size, places: Tensor = positions, sign: float = 1.0) -> Tensor:
        """Half-split pairs, turned by their places at a speed for each pair."""
        return _rotated(x, places.double()[:, None] / 1e4**powers, sign)

    right = turned()
    angles = positions.double()[:, None] / 1e4 ** (2 * pairs / size)
    sin, cos = angles.sin().float(), angles.cos().float()
    interleaved = x.reshape(2, 3, 5, half, 2).mT.flatten(-2)
    by_neighbours = _rotated(interleaved, angles).reshape(2, 3, 5, 2, half).mT.flatten(-2)
    first, second = x.chunk(2, dim=-1)
    speeds = (pairs / size, 4 * pairs / size, 2 * pairs / (size - 2), 0 * pairs)
    mistakes = [
        ("rotary_sign", turned(sign=-1.0)),
        ("rotary_layout", by_neighbours),
        ("rotary_pairs_joined", right.reshape(2, 3, 5, 2, half).mT.flatten(-2)),
        ("rotary_pairs_joined", torch.cat(right.chunk(2, dim=-1)[::-1], dim=-1)),
        *(("rotary_speed", turned(powers)) for powers in speeds),
        ("rotary_first_pair", turned(2 * (pairs + 1) / size)),
        ("rotary_from_one", turned(places=positions + 1)),
        ("rotary_ignored", turned(places=torch.arange(5))),
        ("rotary_cosine_only", torch.cat([first * cos, second * cos], dim=-1)),
        ("rotary_added", x + torch.cat([sin, cos], dim=-1)),
        ("rotary_added", x + torch.cat([cos, sin], dim=-1)),
        ("rotary_added", x + torch.stack([sin, cos], dim=-1).flatten(-2)),
        ("rotary_unturned", x),
    ]
    yield finding(result_of(candidate, x.clone(), positions.clone()), right, mistakes)


def _rotated(x: Tensor, angles: Tensor, sign: float = 1.0) -> Tensor:
    """Both halves of the last dimension, turned against each other by the angles."""
    first, second = x.double().chunk(2, dim=-1)
    sin, cos = sign * angles.sin(), angles.cos()
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).float()
