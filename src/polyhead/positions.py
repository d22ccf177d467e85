"""Positions: what tells attention, which treats tokens as a set, where each one stands."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from polyhead import _validate


class SinusoidalPositions(nn.Module):
    """x + P with fixed waves: P[p, 2i] = sin(p / base^(2i / embed_dim)), P[p, 2i + 1] = cos of the same.

    Each pair of dimensions turns at its own speed, from one radian a token down to 1 / base. There is nothing
    to learn and no longest sequence.

    Source: Vaswani et al. 2017, section 3.5; our embed_dim is their d_model.
    """

    def __init__(self, embed_dim: int, base: float = 10_000.0) -> None:
        """Remember the sizes; nothing is stored.

        Args:
            embed_dim: size of each vector, even.
            base: how many times slower the last pair would turn than the first.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: embed_dim is odd or below 2, or base is not above 0.
        """
        super().__init__()
        self.embed_dim = _even("embed_dim", embed_dim)
        self.base = _validate.positive("base", base)

    def forward(
        self,
        x: Float[Tensor, "*batch length {self.embed_dim}"],
        positions: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch length {self.embed_dim}"]:
        """Add each token's wave.

        Args:
            x: (…, length, embed_dim).
            positions: integers, (length,) or (…, length); 0, 1, 2, … if not given.

        Returns:
            A new tensor of the shape and dtype of `x`.

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a position is negative.
        """
        _vectors(x, self.embed_dim)
        angles = _angles(_positions(positions, x), self.embed_dim, self.base)
        return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(x.dtype)

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, base={self.base:g}"


class LearnedPositions(nn.Module):
    """x + P with a table P that is learned like any other weight: one row for each position.

    Attributes:
        table: `nn.Embedding(max_length, embed_dim)`.

    Source: Gehring et al. 2017, section 3.1; BERT, GPT-2 and BART have one.
    """

    def __init__(self, max_length: int, embed_dim: int) -> None:
        """Make the table.

        Args:
            max_length: how many positions there are; there is no row for a later one.
            embed_dim: size of each vector.

        Raises:
            TypeError: an argument is no int.
            ValueError: an argument is below 1.
        """
        super().__init__()
        self.max_length = _validate.at_least("max_length", max_length)
        self.embed_dim = _validate.at_least("embed_dim", embed_dim)
        self.table = nn.Embedding(max_length, embed_dim)

    def forward(
        self,
        x: Float[Tensor, "*batch length {self.embed_dim}"],
        positions: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch length {self.embed_dim}"]:
        """Add each token's row.

        Args:
            x: (…, length, embed_dim).
            positions: integers below `max_length`, (length,) or (…, length); 0, 1, 2, … if not given.

        Returns:
            A new tensor of the shape of `x`.

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a position lies outside the table.
        """
        _vectors(x, self.embed_dim)
        _validate.same_kind("x", x, "the table", self.table.weight)
        rows: Tensor = self.table(_positions(positions, x, self.max_length).long())
        return x + rows


class RotaryPositions(nn.Module):
    """Turns each pair of numbers of a query or key by an angle that grows with its position.

    The pair i at position p is turned by p / base^(2i / head_dim). A query at p and a key at p' are turned
    apart by p - p', and a dot product depends on nothing else: scores see distances only. Apply it to queries
    and keys, after the projection and the split into heads; never to values.

    Source: Su et al. 2021, section 3.2; their pairs are neighbours. `pairs="halves"`, which pairs number i
    with number i + head_dim / 2, is the form of Llama's public weights.
    """

    def __init__(
        self, head_dim: int, base: float = 10_000.0, pairs: Literal["neighbours", "halves"] = "neighbours"
    ) -> None:
        """Remember the sizes; nothing is stored.

        Args:
            head_dim: size of each query and key, even.
            base: how many times slower the last pair would turn than the first.
            pairs: which numbers are turned together: "neighbours" or "halves".

        Raises:
            TypeError: a size is of the wrong type.
            ValueError: head_dim is odd or below 2, base is not above 0, or there are no such pairs.
        """
        super().__init__()
        self.head_dim = _even("head_dim", head_dim)
        self.base = _validate.positive("base", base)
        if pairs not in ("neighbours", "halves"):
            raise ValueError(f'pairs must be "neighbours" or "halves", got {pairs!r}')
        self.pairs = pairs

    def forward(
        self,
        x: Float[Tensor, "*batch length {self.head_dim}"],
        positions: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch length {self.head_dim}"]:
        """Turn queries or keys.

        Args:
            x: (…, length, head_dim).
            positions: integers, (length,) or what broadcasts to (…, length); 0, 1, 2, … if not given.

        Returns:
            A new tensor of the shape and dtype of `x`; every vector keeps its length.

        Raises:
            TypeError: an argument has the wrong type or dtype.
            ValueError: a shape does not fit, or a position is negative.
        """
        _vectors(x, self.head_dim)
        angles = _angles(_positions(positions, x), self.head_dim, self.base)
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


def _even(name: str, size: object) -> int:
    checked = _validate.at_least(name, size, minimum=2)
    if checked % 2:
        raise ValueError(f"{name} must be even, got {checked}")
    return checked


def _vectors(x: object, size: int) -> None:
    checked = _validate.floating("x", x)
    if checked.shape[-1] != size:
        raise ValueError(f"x must have shape (…, length, {size}), got {_validate.shape(checked)}")


def _positions(positions: object, x: Tensor, limit: int | None = None) -> Tensor:
    """The positions to use, checked: (length,) or what broadcasts to (…, length)."""
    length = x.shape[-2]
    if positions is None:
        positions = torch.arange(length, device=x.device)
    checked = _validate.integers("positions", positions)
    if checked.device != x.device:
        raise ValueError(f"positions must be on the device of x, {x.device}, got {checked.device}")
    try:
        checked.expand(x.shape[:-1])
    except RuntimeError:
        raise ValueError(
            f"positions must broadcast to (…, length) = {_validate.shape(x)[:-1]}, "
            f"got shape {_validate.shape(checked)}"
        ) from None
    _validate.within("positions", checked, limit, "max_length")
    return checked


def _angles(positions: Tensor, size: int, base: float) -> Tensor:
    """P / base^(2i / size), (…, length, size / 2), exact enough for long sequences in any dtype."""
    exact = torch.float32 if positions.device.type == "mps" else torch.float64  # mps has no float64
    pairs = torch.arange(0, size, 2, dtype=exact, device=positions.device)
    return positions.to(exact).unsqueeze(-1) * base ** (-pairs / size)
