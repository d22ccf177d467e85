"""Positions: rotary ones, sinusoidal ones, and ALiBi's slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from attention_clinic.arguments import Subject, roles
from attention_clinic.cases import Case, Named, answer, case_finding, choices, examine, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.trial import CallFailed, Trial

ROTARY = roles(
    x="q k query key queries keys t tensor heads states xq inputs",
    positions="position position_ids pos places ids offsets",
)
SINUSOIDAL = roles(
    length="num_tokens max_len n seq_len t l max_length num_positions num_steps",
    embed_dim="d_model dim d num_hiddens size hidden_size e model_dim n_embd",
)
ALIBI = roles(num_heads="heads h n_heads n_head nhead n")


def rotary(
    places: tuple[int, ...], size: int, batch: int = 1, heads: int = 1, digits: int | None = None
) -> Case:
    """Half-split pairs, turned by positions that neither begin at 0 nor have no gaps."""
    (x,) = samples((batch, heads, len(places), size), digits=digits)
    positions = torch.tensor(places)
    angles = positions.double()[:, None] / 1e4 ** _powers(size)
    inputs = {"x": x, "positions": positions}
    return Case(inputs, _rotate(x, angles), lambda: rotary_mistakes(x, positions))


def rotary_mistakes(x: Tensor, positions: Tensor) -> Named:
    """What positions, speeds, directions and pairs give that are mistaken, one or two at once."""
    size = x.shape[-1]
    signs = (("", 1), ("rotary_sign", -1))
    starts = [
        ("", positions), ("rotary_from_one", positions + 1), ("rotary_ignored", torch.arange(len(positions))),
    ]  # fmt: skip
    stages = (starts, signs, _speeds(size), _LAYOUTS)
    for names, (places, sign, powers, layout) in choices(*stages, most=2):
        yield names, layout(x, sign * places.double()[:, None] / 1e4**powers)
    yield ("rotary_unturned",), x


def _powers(size: int) -> Tensor:
    return torch.arange(0, size, 2, dtype=torch.float64) / size


def _speeds(size: int) -> list[tuple[str, Tensor]]:
    right = _powers(size)
    others = [right / 2, 2 * right, right * size / (size - 2 or 1), 0 * right]
    others += [right * math.log(base, 1e4) for base in (1e2, 1e3, 1e5, 5e5, 1e6)]
    wrong = [("rotary_speed", powers) for powers in others]
    return [("", right), *wrong, ("rotary_first_pair", right + 2 / size)]


def _rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Both halves of the last dimension, turned against each other by the angles."""
    first, second = x.double().chunk(2, dim=-1)
    sin, cos = angles.sin(), angles.cos()
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).float()


def _by_neighbours(x: Tensor, angles: Tensor) -> Tensor:
    halves = torch.cat((x[..., ::2], x[..., 1::2]), dim=-1)
    return torch.stack(_rotate(halves, angles).chunk(2, dim=-1), dim=-1).flatten(-2)


def _neighbours_apart(x: Tensor, angles: Tensor) -> Tensor:
    return _rotate(torch.cat((x[..., ::2], x[..., 1::2]), dim=-1), angles)


def _woven(x: Tensor, angles: Tensor) -> Tensor:
    return torch.stack(_rotate(x, angles).chunk(2, dim=-1), dim=-1).flatten(-2)


def _exchanged(x: Tensor, angles: Tensor) -> Tensor:
    return torch.cat(_rotate(x, angles).chunk(2, dim=-1)[::-1], dim=-1)


def _added(x: Tensor, angles: Tensor, order: tuple[int, ...]) -> Tensor:
    """Sines and cosines, or the other way round, or in turns."""
    waves = angles.sin().float(), angles.cos().float()
    if not order:
        return x + torch.stack(waves, dim=-1).flatten(-2)
    return x + torch.cat([waves[i] for i in order], dim=-1)


_LAYOUTS: list[tuple[str, Callable[[Tensor, Tensor], Tensor]]] = [
    ("", _rotate),
    ("rotary_layout", _by_neighbours),
    ("rotary_layout", _neighbours_apart),
    ("rotary_pairs_joined", _woven),
    ("rotary_pairs_joined", _exchanged),
    ("rotary_cosine_only", lambda x, angles: x * torch.cat((angles.cos(), angles.cos()), dim=-1).float()),
    *(("rotary_added", partial(_added, order=order)) for order in ((0, 1), (1, 0), ())),
]


def diagnose_rotary(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(x, positions)`."""
    subject = Subject(trial, ROTARY)
    case = rotary((2, 3, 5, 8, 13), 14, batch=2, heads=3)
    small = [rotary(places, size, digits=1) for places, size in (((1,), 4), ((1, 3), 4), ((2, 5), 6))]
    found = [*examine(subject, [case], small)]
    if any(finding.name == "differs" for finding in found) and _is_coarse(case, answer(subject, case)):
        result = answer(subject, case)
        found = [case_finding("positions_low_precision", case, result)]
    elif not found:
        far = rotary((1021, 4093), 6, digits=1)
        result = answer(subject, far)
        if not isinstance(result, CallFailed) and not torch.allclose(result.float(), far.expected, atol=5e-3):
            found = [case_finding("positions_low_precision", far, result)]
    yield from found


def _is_coarse(case: Case, result: Tensor | CallFailed) -> bool:
    """Whether pairs are turned by angles that are right to about two digits, and no other base explains."""
    if isinstance(result, CallFailed) or result.shape != case.expected.shape:
        return False
    x, right, given = (torch.complex(*pairs.double().chunk(2, -1)) for pairs in (
        case.inputs["x"], case.expected, result.detach()
    ))  # fmt: skip
    gap = (given / x / (right / x)).angle().abs()
    angle = case.inputs["positions"].double()[:, None] / 1e4 ** _powers(case.expected.shape[-1])
    turned = ((given / x).abs() - 1).abs().max() < 0.02
    return bool(turned and (gap <= 0.03 * angle.clamp(max=1) * angle.clamp(min=1) + 0.01).all())


def sinusoidal(length: int, embed_dim: int) -> Case:
    """Even dimensions have the sine, odd ones the cosine, pair by pair slower."""
    pairs = torch.arange(0, embed_dim, 2, dtype=torch.float64)
    inputs = {"length": length, "embed_dim": embed_dim}
    right = _waves(length, embed_dim, pairs)
    return Case(inputs, right, lambda: _sinusoidal_mistakes(length, embed_dim, pairs))


def _waves(length: int, embed_dim: int, powers: Tensor, start: int = 0) -> Tensor:
    """A speed for each pair, or for each dimension."""
    dims = torch.arange(embed_dim)
    places = torch.arange(start, length + start, dtype=torch.float64)[:, None]
    angles = places / 1e4 ** (powers.repeat_interleave(embed_dim // len(powers)) / embed_dim)
    return torch.where(dims % 2 == 0, angles.sin(), angles.cos())


def _sinusoidal_mistakes(length: int, embed_dim: int, pairs: Tensor) -> Named:
    dims = torch.arange(embed_dim, dtype=torch.float64)
    others = (pairs / 2, 2 * pairs, pairs * embed_dim / (embed_dim - 2 or 1), dims, 2 * dims)
    speeds = [("", pairs), *(("waves_speed", powers) for powers in others)]
    orders: list[tuple[str, Callable[[Tensor], Tensor]]] = [
        ("", lambda waves: waves),
        ("waves_swapped", lambda waves: torch.stack((waves[:, 1::2], waves[:, ::2]), dim=-1).flatten(1)),
        ("waves_halves", lambda waves: torch.cat((waves[:, ::2], waves[:, 1::2]), dim=1)),
    ]
    for names, (order, start, powers) in choices(orders, (("", 0), ("waves_from_one", 1)), speeds):
        yield names, order(_waves(length, embed_dim, powers, start))


def alibi(num_heads: int) -> Case:
    """2^(-8 i / num_heads) for a power of two; for other numbers some in between (Press et al. 2022)."""

    def mistakes() -> Named:
        wrong = _power_slopes(num_heads, num_heads)
        yield ("alibi_sign",), -right
        yield ("alibi_powers",), wrong
        yield ("alibi_powers", "alibi_sign"), -wrong

    power = 2 ** int(math.log2(num_heads))
    between = _power_slopes(2 * power, 2 * power)[::2][: num_heads - power]
    right = torch.cat((_power_slopes(power, power), between))
    return Case({"num_heads": num_heads}, right, mistakes)


def _power_slopes(num_heads: int, of: int) -> Tensor:
    return 2 ** (-8 * torch.arange(1, num_heads + 1) / of)
