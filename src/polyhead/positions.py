"""Positions: what tells attention, which treats tokens as a set, where each one stands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int64, Integer
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


@dataclass(frozen=True)
class Llama3Scaling:
    """Slower turns for texts longer than those of the training, as in Llama 3.1.

    Of a pair that turns by f a token, a whole turn takes the wavelength 2π / f. Pairs with a wavelength above
    original_length / low turn `factor` times slower, those below original_length / high as before; between
    the two by ((1 - s) / factor + s) · f, with s = (original_length / wavelength - low) / (high - low).

    Source: Grattafiori et al. 2024 (Llama 3); the formula, transformers' `modeling_rope_utils.py`, whose
    low_freq_factor is our low, high_freq_factor our high, and original_max_position_embeddings our
    original_length.
    """

    factor: Positive = 8.0
    low: Positive = 1.0
    high: Positive = 4.0
    original_length: Size = 8192

    def __post_init__(self) -> None:
        """Refuse what gives no formula."""
        for name, number in vars(self).items():
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise TypeError(f"{name} must be a number, got {type(number).__name__} {number!r}")
            if not 0 < number < math.inf:
                raise ValueError(f"{name} must be above 0, and finite, got {number}")
        if self.high <= self.low:
            raise ValueError(f"high must be above low = {self.low}, got {self.high}")

    def share(self, frequencies: Tensor) -> Tensor:
        """What is left of the turns a token, f: from 1 / factor to 1."""
        turns = self.original_length * frequencies / (2 * math.pi)  # original_length / wavelength
        s = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return (1 - s) / self.factor + s


class RotaryPositions(nn.Module):
    """Turns each pair of numbers of a query or key by an angle that grows with its position.

    The pair i at position p is turned by p / base^(2i / head_dim). A query at p and a key at p' are turned
    apart by p - p', and a dot product depends on nothing else: scores see distances only. Apply it to queries
    and keys, after the projection and the split into heads; never to values.

    Source: Su et al. 2021, section 3.2; their pairs are neighbours. `pairs="halves"`, which pairs number i
    with number i + head_dim / 2, is the form of Llama's public weights. `scaling` is for longer texts.
    """

    @checked
    def __init__(
        self,
        head_dim: Size,
        base: Positive = 10_000.0,
        pairs: Literal["neighbours", "halves"] = "neighbours",
        scaling: Llama3Scaling | None = None,
    ) -> None:
        """Remember the sizes; head_dim is even, and the last pair would turn `base` times slower."""
        super().__init__()
        self.head_dim, self.base, self.pairs = _even("head_dim", head_dim), base, pairs
        self.scaling = scaling

    @checked
    def forward(
        self, x: Float[Tensor, "*batch length head_dim"], positions: Integer[Tensor, "..."] | None = None
    ) -> Float[Tensor, "*batch length head_dim"]:
        """Turn queries or keys, (batch, num_heads, length, head_dim) or without the first ones.

        Positions are (length,), or (batch, length), which serves every head alike, or what broadcasts to
        (…, length); 0, 1, 2, … if not given.
        """
        angles = _angles(_placed(positions, x), self.head_dim, self.base)
        if self.scaling is not None:
            one = torch.ones(1, device=x.device)  # there the angles are the turns a token
            angles = angles * self.scaling.share(_angles(one, self.head_dim, self.base))
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        if self.pairs == "halves":
            first, second = x.chunk(2, dim=-1)
            return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        first, second = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
        return turned.flatten(-2)

    def extra_repr(self) -> str:
        """The sizes, for `print(module)`."""
        scaling = "" if self.scaling is None else f", scaling={self.scaling}"
        return f"head_dim={self.head_dim}, base={self.base:g}, pairs={self.pairs!r}{scaling}"


@checked
def alibi_slopes(num_heads: Size) -> Float[Tensor, "num_heads"]:
    """How much a head's scores fall with each token of distance: 2^(-8 i / num_heads) of head i = 1, 2, ….

    Of a number of heads that is no power of two, the first ones have the slopes of the power of two below;
    the others take every second slope of the power of two above.

    Source: Press et al. 2022, section 3; for other numbers, the authors' code (attention_with_linear_biases).
    """
    below = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * i / below) for i in range(1, below + 1)]
    between = [2 ** (-4 * i / below) for i in range(1, 2 * below + 1, 2)]
    return torch.tensor((slopes + between)[:num_heads])


@checked
def alibi_bias(
    num_heads: Size, num_queries: Size, num_keys: Size | None = None
) -> Float[Tensor, "num_heads num_queries num_keys"]:
    """-slope · distance, to be added to the scores: the only thing that tells such a model an order.

    With more keys than queries the queries are the last ones, as in `causal_mask`; there are as many keys if
    `num_keys` is not given. Source: see `alibi_slopes`.
    """
    distances = _distances(num_queries, num_keys).abs()
    return -alibi_slopes(num_heads)[:, None, None] * distances


@checked
def t5_buckets(
    num_queries: Size,
    num_keys: Size | None = None,
    bidirectional: bool = False,
    num_buckets: Size = 32,
    max_distance: Size = 128,
) -> Int64[Tensor, "num_queries num_keys"]:
    """Which row of T5's table stands for each distance of a key from a query.

    Half of the buckets mean one distance each, 0, 1, 2, …; the other half wider and wider ranges, on a
    logarithmic scale, and the last one all from `max_distance` on. A decoder (not `bidirectional`) looks back
    only: what comes later is in the bucket of distance 0. An encoder spends one half of them on what comes
    later. Queries and keys are aligned as in `causal_mask`.

    Source: Raffel et al. 2020, section 2.1; transformers' `modeling_t5.py`.
    """
    distances = _distances(num_queries, num_keys)
    later = torch.zeros_like(distances)
    if bidirectional:
        num_buckets //= 2
        later, distances = (distances > 0) * num_buckets, distances.abs()
    else:
        distances = (-distances).clamp(min=0)
    exact = num_buckets // 2
    if exact < 1 or max_distance <= exact:
        raise ValueError(
            f"max_distance must be above the {exact} exact buckets of {num_buckets}, at least one"
        )
    growth = (distances.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    wide = (exact + (growth * (num_buckets - exact)).long()).clamp(max=num_buckets - 1)
    return later + torch.where(distances < exact, distances, wide)


@checked
def t5_bias(
    table: Float[Tensor, "num_buckets num_heads"],
    num_queries: Size,
    num_keys: Size | None = None,
    bidirectional: bool = False,
    max_distance: Size = 128,
) -> Float[Tensor, "num_heads num_queries num_keys"]:
    """Each head's learned number for each bucket of distances, to be added to scores without 1 / √head_dim.

    One table serves all layers of an encoder, another those of a decoder; cross-attention has none. For the
    buckets, and the source, see `t5_buckets`.
    """
    buckets = t5_buckets(num_queries, num_keys, bidirectional, len(table), max_distance)
    return table[buckets.to(table.device)].movedim(-1, 0)


def _distances(num_queries: int, num_keys: int | None) -> Tensor:
    """How far each key stands behind each query, (num_queries, num_keys); the queries are the last ones."""
    num_keys = num_queries if num_keys is None else num_keys
    if num_keys < num_queries:
        raise ValueError(f"num_keys must be at least num_queries = {num_queries}, got {num_keys}")
    return torch.arange(num_keys) - torch.arange(num_keys - num_queries, num_keys).unsqueeze(-1)


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
