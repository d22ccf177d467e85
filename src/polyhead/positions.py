"""Positions: what tells attention, which treats tokens as a set, where each one stands."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Positive, Size, checked, within


class SinusoidalPositions(nn.Module):
    """x + P with fixed waves: P[p, 2i] = sin(p / base^(2i / embed_dim)), P[p, 2i + 1] = cos of the same.

    Each pair of dimensions turns at its own speed, from one radian a token down to 1 / base. There is nothing
    to learn and no longest sequence.

    Source: Vaswani et al. 2017, section 3.5; our embed_dim is their d_model.
    """

    @checked
    def __init__(self, embed_dim: Size, base: Positive = 10_000.0) -> None:
        """Remember the sizes; embed_dim is even, and the last pair would turn `base` times slower."""
        super().__init__()
        self.embed_dim, self.base = _even("embed_dim", embed_dim), base

    @checked
    def forward(
        self, x: Float[Tensor, "*batch length embed_dim"], positions: Integer[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch length embed_dim"]:
        """Add each token's wave; positions are (length,) or (batch, length), 0, 1, 2, … if not given."""
        angles = _angles(_placed(positions, x), self.embed_dim, self.base)
        return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(x.dtype)

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, base={self.base:g}"


class LearnedPositions(nn.Module):
    """x + P with a `table` P that is learned like any other weight: one row for each of max_length positions.

    Source: Gehring et al. 2017, section 3.1; BERT, GPT-2 and BART have one.
    """

    @checked
    def __init__(self, max_length: Size, embed_dim: Size) -> None:
        """Make the table."""
        super().__init__()
        self.max_length, self.embed_dim = max_length, embed_dim
        self.table = nn.Embedding(max_length, embed_dim)

    @checked
    def forward(
        self, x: Float[Tensor, "*batch length embed_dim"], positions: Integer[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch length embed_dim"]:
        """Add each token's row; positions are (length,) or (batch, length), 0, 1, 2, … if not given."""
        positions = _placed(positions, x)
        within("positions", positions, self.max_length, "max_length")
        return x + self.table(positions.long())


class RotaryPositions(nn.Module):
    """Turns each pair of numbers of a query or key by an angle that grows with its position.

    The pair i at position p is turned by p / base^(2i / head_dim). A query at p and a key at p' are turned
    apart by p - p', and a dot product depends on nothing else: scores see distances only. Apply it to queries
    and keys, after the projection and the split into heads; never to values.

    Source: Su et al. 2021, section 3.2; their pairs are neighbours. `pairs="halves"`, which pairs number i
    with number i + head_dim / 2, is the form of Llama's public weights.
    """

    @checked
    def __init__(
        self, head_dim: Size, base: Positive = 10_000.0, pairs: Literal["neighbours", "halves"] = "neighbours"
    ) -> None:
        """Remember the sizes; head_dim is even, and the last pair would turn `base` times slower."""
        super().__init__()
        self.head_dim, self.base, self.pairs = _even("head_dim", head_dim), base, pairs

    @checked
    def forward(
        self, x: Float[Tensor, "*batch length head_dim"], positions: Integer[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch length head_dim"]:
        """Turn queries or keys, (batch, num_heads, length, head_dim) or without the first ones.

        Positions are (length,), or (batch, length), which serves every head alike, or what broadcasts to
        (…, length); 0, 1, 2, … if not given.
        """
        angles = _angles(_placed(positions, x), self.head_dim, self.base)
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        if self.pairs == "halves":
            first, second = x.chunk(2, dim=-1)
            return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        first, second = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
        return turned.flatten(-2)

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        return f"head_dim={self.head_dim}, base={self.base:g}, pairs={self.pairs!r}"


def _even(name: str, size: int) -> int:
    if size % 2:
        raise ValueError(f"{name} must be even, got {size}")
    return size


def _placed(positions: Tensor | None, x: Tensor) -> Tensor:
    """The positions to use: (length,), or what broadcasts to (…, length)."""
    if positions is None:
        return torch.arange(x.shape[-2], device=x.device)
    came = tuple(positions.shape)
    if positions.ndim == 2 and x.ndim == 4:  # (batch, length): between them are the heads
        positions = positions.unsqueeze(1)
    try:
        positions.expand(x.shape[:-1])
    except RuntimeError:
        raise ValueError(
            f"positions must broadcast to (…, length) = {tuple(x.shape[:-1])}, got shape {came}"
        ) from None
    return positions


def _angles(positions: Tensor, size: int, base: float) -> Tensor:
    """P / base^(2i / size), (…, length, size / 2), exact enough for long sequences in any dtype."""
    exact = torch.float32 if positions.device.type == "mps" else torch.float64  # mps has no float64
    pairs = torch.arange(0, size, 2, dtype=exact, device=positions.device)
    return positions.to(exact).unsqueeze(-1) * base ** (-pairs / size)
