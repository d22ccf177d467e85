"""Positions: without them attention treats its tokens as a set."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Positive, Size, check_range, checked, checked_fields


class SinusoidalPositions(nn.Module):
    """x + P with fixed waves: P[p, 2i] = sin(p / base^(2i / embed_dim)), P[p, 2i + 1] = cos of the same.

    Each pair of dimensions has a frequency of its own, from one radian per token down to about 1 / base.
    There are no parameters, and no maximal length.

    Source: Vaswani et al. 2017, section 3.5; our embed_dim is their d_model.

    >>> SinusoidalPositions(2)(torch.zeros(2, 2))
    tensor([[0.0000, 1.0000],
            [0.8415, 0.5403]])
    """

    @checked
    def __init__(self, embed_dim: Size, base: Positive = 10_000.0) -> None:
        """Set the sizes; embed_dim must be even."""
        super().__init__()
        self.embed_dim, self.base = _even("embed_dim", embed_dim), base

    @checked
    def forward(
        self,
        x: Float[Tensor, "*batch length {self.embed_dim}"],
        positions: Integer[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch length {self.embed_dim}"]:
        """Add each token's wave; positions are (length,) or (batch, length), by default 0, 1, 2, …."""
        angles = _angles(_broadcast_positions(positions, x), self.embed_dim, self.base)
        return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(x.dtype)

    def extra_repr(self) -> str:
        """Give the sizes, for `print(module)`."""
        return f"embed_dim={self.embed_dim}, base={self.base:g}"


class LearnedPositions(nn.Module):
    """x + P with a learned `table` P: one row for each of max_length positions.

    Source: Gehring et al. 2017, section 3.1; also in BERT, GPT-2 and BART.

    >>> LearnedPositions(max_length=7, embed_dim=6)(torch.zeros(2, 5, 6)).shape
    torch.Size([2, 5, 6])
    """

    @checked
    def __init__(self, max_length: Size, embed_dim: Size) -> None:
        """Make the table."""
        super().__init__()
        self.max_length, self.embed_dim = max_length, embed_dim
        self.table = nn.Embedding(max_length, embed_dim)

    @checked
    def forward(
        self,
        x: Float[Tensor, "*batch length {self.embed_dim}"],
        positions: Integer[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch length {self.embed_dim}"]:
        """Add each token's row; positions are (length,) or (batch, length), by default 0, 1, 2, …."""
        positions = _broadcast_positions(positions, x)
        check_range("positions", positions, self.max_length, "max_length")
        return x + self.table(positions.long())


@checked_fields
@dataclass(frozen=True)
class Llama3Scaling:
    """Lower frequencies for texts longer than those of the training, as in Llama 3.1.

    A pair of frequency f, in radians a token, has the wavelength 2π / f. Pairs with a wavelength above
    original_length / low get the frequency f / factor, those below original_length / high keep f; between the
    two it is ((1 - s) / factor + s) · f, with s = (original_length / wavelength - low) / (high - low).

    Source: Grattafiori et al. 2024 (Llama 3); the formula, transformers' `modeling_rope_utils.py`, whose
    low_freq_factor is our low, high_freq_factor our high, and original_max_position_embeddings our
    original_length.

    >>> Llama3Scaling(factor=8.0).share(torch.tensor([1.0, 1e-4]))
    tensor([1.0000, 0.1250])
    """

    factor: Positive = 8.0
    low: Positive = 1.0
    high: Positive = 4.0
    original_length: Size = 8192

    def __post_init__(self) -> None:
        """Compare the two limits."""
        if self.high <= self.low:
            raise ValueError(f"high must be above low = {self.low}, got {self.high}")

    def share(self, frequencies: Tensor) -> Tensor:
        """Compute what the frequencies, in radians a token, are multiplied by: from 1 / factor to 1."""
        ratio = self.original_length * frequencies / (2 * math.pi)  # original_length / wavelength
        s = ((ratio - self.low) / (self.high - self.low)).clamp(0, 1)
        return (1 - s) / self.factor + s


_Rotation = tuple[Tensor, Tensor]
_ROTATIONS: ContextVar[dict[Any, _Rotation] | None] = ContextVar("rotations", default=None)


def share_rotations() -> AbstractContextManager[None]:
    """Let all layers of a model share the sines and cosines of the same positions.

    In a decoder of 30 layers they would otherwise take a sixth of the time of a token. Within a compiled
    model nothing is shared: there the compiler does it.

    >>> with share_rotations():
    ...     rotated = RotaryPositions(head_dim=2)(torch.ones(3, 2), torch.arange(3))
    """
    return nullcontext() if torch.compiler.is_compiling() else _share_rotations()


@contextmanager
def _share_rotations() -> Iterator[None]:
    token = _ROTATIONS.set({})
    try:
        yield
    finally:
        _ROTATIONS.reset(token)


class RotaryPositions(nn.Module):
    """Rotates each pair of numbers of a query or key by an angle that grows with its position.

    Pair i at position p is rotated by p / base^(2i / head_dim) radians. Of a query at p and a key at p', the
    dot product depends on p - p' alone. Apply it to queries and keys, after the projection and the split into
    heads; never to values.

    Source: Su et al. 2021, section 3.2; their pairs are neighbours. `pairs="halves"`, which pairs number i
    with number i + head_dim / 2, is the form of Llama's public weights. `scaling` is for longer texts.

    >>> rotary = RotaryPositions(head_dim=2)
    >>> rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """

    @checked
    def __init__(
        self,
        head_dim: Size,
        base: Positive = 10_000.0,
        pairs: Literal["neighbours", "halves"] = "neighbours",
        scaling: Llama3Scaling | None = None,
    ) -> None:
        """Set the sizes; head_dim must be even."""
        super().__init__()
        self.head_dim, self.base, self.pairs = _even("head_dim", head_dim), base, pairs
        self.scaling = scaling

    @checked
    def forward(
        self,
        x: Float[Tensor, "*batch length {self.head_dim}"],
        positions: Integer[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch length {self.head_dim}"]:
        """Rotate queries or keys, (batch, num_heads, length, head_dim) or with fewer dimensions.

        Positions are (length,), or (batch, length) for all heads alike, or what broadcasts to (…, length); by
        default 0, 1, 2, ….
        """
        sin, cos = self._sin_and_cos(x, positions)
        if self.pairs == "halves":
            first, second = x.chunk(2, dim=-1)
            return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        first, second = x[..., 0::2], x[..., 1::2]
        rotated = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
        return rotated.flatten(-2)

    def _sin_and_cos(self, x: Tensor, positions: Tensor | None) -> _Rotation:
        """Give sine and cosine of each pair's angle, (…, length, head_dim / 2): shared ones, or new ones."""
        shared = None if torch.compiler.is_compiling() else _ROTATIONS.get()
        if shared is None or positions is None:
            return self._compute(x, positions)
        key = self, positions, x.shape, x.dtype  # a tensor is equal, as a key, to itself alone
        if key not in shared:
            shared[key] = self._compute(x, positions)
        return shared[key]

    def _compute(self, x: Tensor, positions: Tensor | None) -> _Rotation:
        angles = _angles(_broadcast_positions(positions, x), self.head_dim, self.base)
        if self.scaling is not None:
            one = torch.ones(1, device=x.device)  # at position 1 the angles are the frequencies
            angles = angles * self.scaling.share(_angles(one, self.head_dim, self.base))
        return angles.sin().to(x.dtype), angles.cos().to(x.dtype)

    def extra_repr(self) -> str:
        """Give the sizes, for `print(module)`."""
        scaling = "" if self.scaling is None else f", scaling={self.scaling}"
        return f"head_dim={self.head_dim}, base={self.base:g}, pairs={self.pairs!r}{scaling}"


def _even(name: str, size: int) -> int:
    if size % 2:
        raise ValueError(f"{name} must be even, got {size}")
    return size


def _broadcast_positions(positions: Tensor | None, x: Tensor) -> Tensor:
    """Give the positions, 0, 1, 2, … by default: (length,), or what broadcasts to (…, length)."""
    if positions is None:
        return torch.arange(x.shape[-2], device=x.device)
    shape = tuple(positions.shape)
    if positions.ndim == 2 and x.ndim == 4:  # (batch, length): between them are the heads
        positions = positions.unsqueeze(1)
    try:
        positions.expand(x.shape[:-1])
    except RuntimeError:
        raise ValueError(
            f"positions must broadcast to (…, length) = {tuple(x.shape[:-1])}, got shape {shape}"
        ) from None
    return positions


def _angles(positions: Tensor, size: int, base: float) -> Tensor:
    """Compute p / base^(2i / size), (…, length, size / 2), exact enough for long sequences in any dtype."""
    exact = torch.float32 if positions.device.type == "mps" else torch.float64  # mps has no float64
    pairs = torch.arange(0, size, 2, dtype=exact, device=positions.device)
    return positions.to(exact).unsqueeze(-1) * base ** (-pairs / size)
