"""Positions: rotary ones, sinusoidal ones, ALiBi's slopes, and T5's buckets of distances."""

import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic import cases
from attention_clinic.arguments import ROLES, Roles, Subject, named_parameters, plain, roles, signature
from attention_clinic.cases import Case, Named, choices, distance, examine, has_right_shape, same, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.trial import CallFailed, Trial, first_output

ROTARY, _PAIR = ROLES["rotary"], ROLES["rotary_pair"]
_TABLES, _FREQS = ROLES["rotary_tables"], ROLES["rotary_freqs"]
_X = {"x": ROTARY["x"] - _PAIR["key"]}
# Other signatures of the kind: of both, or of one, with tables made in advance, or with positions 0, 1, 2, …
ROTARY_FORMS: tuple[Roles, ...] = (
    {**_PAIR, **_TABLES}, {**_PAIR, **_TABLES, "positions": ROTARY["positions"]}, {**_X, **_TABLES},
    {**_PAIR, **_FREQS}, {**_X, **_FREQS}, {**_PAIR, "positions": ROTARY["positions"]}, _PAIR,
)  # fmt: skip


def rotary(
    places: tuple[int, ...], size: int, batch: int = 1, heads: int = 1, digits: int | None = None
) -> Case:
    """Half-split pairs, turned by positions that neither begin at 0 nor have no gaps."""
    (x,) = samples((batch, heads, len(places), size), digits=digits)
    positions, signs = torch.tensor(places), (("", 1), ("rotary_sign", -1))
    starts = [
        ("", positions), ("rotary_from_one", positions + 1), ("rotary_ignored", torch.arange(len(positions))),
    ]  # fmt: skip
    # A cache of angles that forgets how far it was; at 0 nothing is turned.
    starts += [("rotary_ignored", positions[:1].expand(len(positions)))] if places[0] else []

    def turned(start: Tensor, sign: int, powers: Tensor, turn: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        return turn(x, sign * start.double()[:, None] / 1e4**powers)

    inputs = {"x": x, "positions": positions}
    return cases.staged(inputs, turned, starts, signs, _speeds(size), _LAYOUTS, most=2)


def powers_of(size: int) -> Tensor:
    """The exponents of the speeds of pairs."""
    return torch.arange(0, size, 2, dtype=torch.float64) / size


def angles_of(positions: Tensor, size: int, base: float = 1e4) -> Tensor:
    """The angle of each pair at each position."""
    return positions.double()[:, None] / base ** powers_of(size)


def _speeds(size: int) -> list[tuple[str, Tensor]]:
    right = powers_of(size)
    others = [right / 2, 2 * right, right * size / (size - 2 or 1), 0 * right]
    wrong = [("rotary_speed", powers) for powers in others]
    wrong += [("rotary_base", right * math.log(base, 1e4)) for base in _BASES]
    return [("", right), *wrong, ("rotary_first_pair", right + 2 / size), ("rotary_speeds_inverted", -right)]


_BASES = (1e3, 1e5, 5e5, 1e6, 1e7)


def _halves(x: Tensor) -> tuple[Tensor, ...]:
    return x.chunk(2, dim=-1)


def _neighbours(x: Tensor) -> tuple[Tensor, ...]:
    return x[..., ::2], x[..., 1::2]


def _joined(pair: Sequence[Tensor]) -> Tensor:
    return torch.cat((*pair,), dim=-1)


def _woven(pair: Sequence[Tensor]) -> Tensor:
    return torch.stack((*pair,), dim=-1).flatten(-2)


def _rotate(x: Tensor, angles: Tensor, split: Any = _halves, join: Any = _joined, sign: int = 1) -> Tensor:
    """Pairs of numbers, turned by the angles."""
    (first, second), sin, cos = split(x.double()), angles.sin(), angles.cos()
    turned: Tensor = join((first * cos - second * sin, second * cos + sign * first * sin))
    return turned.float()


def _mixed(x: Tensor, angles: Tensor, split: Any, join: Any, spread: Any) -> Tensor:
    """Each number beside the other of its pair, with angles that may be those of other pairs."""
    (first, second), angles = split(x.double()), spread((angles, angles))
    return (x * angles.cos() + join((-second, first)) * angles.sin()).float()


def _added(x: Tensor, angles: Tensor, join: Any) -> Tensor:
    return x + join((angles.sin().float(), angles.cos().float()))


_LAYOUTS: list[tuple[str, Callable[[Tensor, Tensor], Tensor]]] = [
    ("", _rotate),
    ("rotary_layout", partial(_rotate, split=_neighbours, join=_woven)),
    ("rotary_layout", partial(_rotate, split=_neighbours)),
    ("rotary_pairs_joined", partial(_rotate, join=_woven)),
    ("rotary_pairs_joined", partial(_rotate, join=lambda pair: _joined(pair[::-1]))),
    ("rotary_pairs_joined", partial(_mixed, split=_neighbours, join=_joined, spread=_joined)),
    ("rotary_mixed", partial(_mixed, split=_neighbours, join=_woven, spread=_joined)),
    ("rotary_mixed", partial(_mixed, split=_halves, join=_joined, spread=_woven)),
    ("rotary_mirrored", partial(_rotate, sign=-1)),
    ("rotary_mirrored", partial(_rotate, split=_neighbours, join=_woven, sign=-1)),
    ("rotary_unturned", lambda x, angles: x),
    ("rotary_cosine_only", lambda x, angles: x * _joined((angles.cos(), angles.cos())).float()),
    *(("rotary_added", partial(_added, join=join)) for join in (_joined, _woven, lambda p: _joined(p[::-1]))),
]
PAIRS = {"halves": _LAYOUTS[0][1], "neighbours": _LAYOUTS[1][1]}
_CONVENTIONS = {"rotary_layout", "rotary_sign"}
_FACTOR = 1.25  # YaRN's, which is in both tables
_ANY_FORM: Roles = {**ROTARY, **_PAIR, **_X, **_TABLES, **_FREQS}


@dataclass(frozen=True)
class _Turn:
    """A candidate of another form as a function of x and positions; `part` of its output is the turned x."""

    candidate: Any
    names: dict[str, str]
    turned: Sequence[str]  # the arguments that are x
    layout: str  # one of `_ORDERS`
    asked: Set[str]  # the roles of tables
    table: int  # which of the tables of these roles it is given
    part: int = 0

    def __call__(self, x: Tensor, positions: Tensor, factor: float = 1.0) -> Tensor:
        order = _ORDERS[self.layout]
        x = x.permute(order)
        table = tables_of(self.asked, angles_of(positions, x.shape[-1]))[self.table]
        named = {self.names[role]: factor * value for role, value in table.items()}
        if "positions" in self.names:
            named[self.names["positions"]] = positions
        output = self.candidate(**{name: x.clone() for name in self.turned}, **named)
        result: Tensor = output[self.part] if len(self.turned) > 1 else first_output(output)
        return result.permute([order.index(axis) for axis in range(4)]) if result.ndim == 4 else result


# Of (batch, heads, num_tokens, size), the axes of what a candidate takes.
_ORDERS = {"heads": (0, 1, 2, 3), "tokens": (0, 2, 1, 3), "sequence_first": (2, 0, 1, 3)}


def _turns(candidate: Any) -> list[_Turn]:
    """The ways to call a candidate of another form than (x, positions) with heads before tokens."""
    required = {role: p for role, p in named_parameters(candidate, _ANY_FORM).items() if p.default is p.empty}
    names = {role: parameter.name for role, parameter in required.items()}
    turned = [names[role] for role in ("query", "x", "key") if role in names][:2]
    if isinstance(candidate, nn.Module):
        turned = turned or [parameter.name for parameter in signature(candidate) or []][:1]
    asked = {"cos", "sin", "freqs"} & {*names}
    tables = range(len(tables_of(asked, torch.zeros(1, 1))))
    ways = itertools.product(_ORDERS if turned else (), [asked], tables)
    return [_Turn(candidate, names, turned, *way) for way in ways]


def tables_of(roles: Set[str], angles: Tensor) -> list[dict[str, Any]]:
    """The usual tables of angles, (num_tokens, size), for arguments of these roles."""
    every: list[dict[str, Any]] = [{}, *_tables(angles)]
    every += [{"position_embeddings": (*each.values(),)} for each in every if "cos" in each]
    return [each for each in every if each.keys() == roles]


def _tables(angles: Tensor) -> Iterator[dict[str, Any]]:
    """Cosines and sines, or complex numbers, or both in a last dimension; for batch and heads, too."""
    turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    for each in (_joined((angles, angles)), angles, _woven((angles, angles))):
        for index in _LEADING:
            yield {"cos": each.cos().float()[index], "sin": each.sin().float()[index]}
    for each in (turns, torch.view_as_real(turns), _joined((angles, angles)).float(), angles.float()):
        yield from ({"freqs": each[index]} for index in _LEADING)


# From (num_tokens, size): that, and with more dimensions of size 1.
_LEADING: tuple[tuple[Any, ...], ...] = (
    (), (None,), (None, None), (None, slice(None), None), (slice(None), None, None),
)  # fmt: skip


def diagnose_rotary(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(x, positions)`, or about one of the other forms of the kind."""
    turns, direct = _turns(trial.candidate), Subject(trial, ROTARY)
    is_plain = bool(turns) and turns[0].names.keys() == {"x", "positions"}
    if not turns or (is_plain and has_right_shape(direct, _case(True))):
        yield from _of_one(trial, direct)
        return
    anywhere = bool({"positions", "cos", "freqs"} & {*turns[0].names})
    case, known = _case(anywhere), {**ROTARY, **roles(factor="")}

    def far(turn: _Turn) -> int:
        return distance(Subject(trial, known, turn).answer(case.inputs), case, _CONVENTIONS)

    best = min(turns, key=far)
    subject = Subject(trial, known, best)
    found = [*_of_one(trial, subject, anywhere)]
    yield from found
    if best.layout == "sequence_first":
        yield Finding("sequence_first")
    names = {finding.name for finding in found}
    if len(best.turned) > 1 and not names - _CONVENTIONS:
        for finding in _of_one(trial, Subject(trial, known, replace(best, part=1)), anywhere):
            if finding.name not in names:
                yield replace(finding, name=finding.name.replace("_unturned", "_queries_only"))
    larger = replace(case, inputs={**case.inputs, "factor": _FACTOR})
    result, more = subject.answer(case.inputs), subject.answer(larger.inputs)
    for name, factor in (("yarn_factor_lost", 1.0), ("yarn_factor_squared", _FACTOR**2)):
        if {"cos", "freqs"} & {*best.names} and isinstance(result, Tensor) and same(more, factor * result):
            yield larger.finding(name, more)


def _case(anywhere: bool) -> Case:
    return rotary((2, 3, 5, 8, 13) if anywhere else (0, 1, 2, 3, 4), 14, batch=2, heads=3)


def _of_one(trial: Trial, subject: Subject, anywhere: bool = True) -> Iterator[Finding]:
    """Findings about a function of x and positions, which are 0, 1, 2, … if they are not `anywhere`."""
    case = _case(anywhere)
    shown = (((1,), 4), ((1, 3), 4), ((2, 5), 6)) if anywhere else (((0, 1), 4), ((0, 1, 2), 6))
    small = [rotary(places, size, digits=1) for places, size in shown]
    found = _steep("rotary_speeds_inverted", subject, small[0], [*examine(subject, [case], small)])
    trial.examined += ["numbers", "positions"]
    result = subject.answer(case.inputs)
    if any(finding.name == "differs" for finding in found) and _is_coarse(case, result):
        found = [case.finding("positions_low_precision", result)]
    elif not found and anywhere:
        far = rotary((1021, 4093), 6, digits=1)
        result = subject.answer(far.inputs)
        if not isinstance(result, CallFailed) and not torch.allclose(result.float(), far.expected, atol=5e-3):
            found = [far.finding("positions_low_precision", result)]
    yield from found
    by_neighbours = any(finding.name == "rotary_layout" for finding in found)
    if trial.meant.rope not in (None, "neighbours" if by_neighbours else "halves"):
        yield Finding("rotary_not_meant", details={"rope": trial.meant.rope})


def _is_coarse(case: Case, result: Tensor | CallFailed) -> bool:
    """Whether pairs are turned by angles that are right to about two digits, and no other base explains."""
    if not cases.fits(result, case):
        return False
    x, right, given = (torch.complex(*pairs.double().chunk(2, -1)) for pairs in (
        case.inputs["x"], case.expected, result.detach()
    ))  # fmt: skip
    gap = (given / x / (right / x)).angle().abs()
    angle = angles_of(case.inputs["positions"], case.expected.shape[-1])
    turned = ((given / x).abs() - 1).abs().max() < 0.02
    return bool(turned and (gap <= 0.03 * angle.clamp(max=1) * angle.clamp(min=1) + 0.01).all())


def sinusoidal(length: int, embed_dim: int) -> Case:
    """Even dimensions have the sine, odd ones the cosine, pair by pair slower."""
    pairs = torch.arange(0, embed_dim, 2, dtype=torch.float64)
    dims = torch.arange(embed_dim, dtype=torch.float64)
    speeds: list[tuple[str, Tensor]] = [
        ("", pairs), ("waves_speed", pairs / 2), ("waves_speed", 2 * pairs), ("waves_speed", 2 * dims),
        ("waves_to_the_end", pairs * embed_dim / (embed_dim - 2 or 1)), ("waves_odd", dims),
        ("waves_constant", 0 * pairs), ("waves_constant", 0 * pairs + embed_dim), ("waves_inverted", -pairs),
        ("waves_floor", pairs * embed_dim / math.log(1e4)),
        *(("waves_base", pairs * math.log(base, 1e4)) for base in _BASES),
    ]  # fmt: skip
    orders: list[tuple[str, Callable[[Tensor], Tensor]]] = [
        ("", lambda waves: waves),
        ("waves_swapped", lambda waves: torch.stack((waves[:, 1::2], waves[:, ::2]), dim=-1).flatten(1)),
        ("waves_halves", lambda waves: torch.cat((waves[:, ::2], waves[:, 1::2]), dim=1)),
        ("waves_sines", lambda waves: waves[:, ::2].repeat_interleave(2, dim=1)),
    ]
    starts, floors = (("", 0), ("waves_from_one", 1)), (("", False), ("waves_floor", True))

    def mistakes() -> Named:
        for names, (order, start, powers, floor) in choices(orders, starts, speeds, floors):
            waves = order(_waves(length, embed_dim, powers, start, floor))
            if waves.any():  # what adds nothing has none
                yield names, waves

    return Case({"length": length, "embed_dim": embed_dim}, _waves(length, embed_dim, pairs), mistakes)


def _waves(length: int, embed_dim: int, powers: Tensor, start: int = 0, floor: bool = False) -> Tensor:
    """A speed for each pair, or for each dimension."""
    places = torch.arange(start, length + start, dtype=torch.float64)[:, None]
    angles = places / 1e4 ** (powers.repeat_interleave(embed_dim // len(powers)) / embed_dim)
    angles = angles.floor() if floor else angles
    return torch.where(torch.arange(embed_dim) % 2 == 0, angles.sin(), angles.cos())


def diagnose_sinusoidal(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(length, embed_dim)`, or about what adds the waves to tokens, or takes ids."""
    subject, sizes = Subject(trial, ROLES["sinusoidal"]), [(7, 12), (1, 2), (2, 4), (2, 2), (3, 4)]
    own, is_module = trial.candidate, isinstance(trial.candidate, nn.Module)
    if is_module or sum(each.default is each.empty for each in signature(own) or []) == 1:
        tables = (*own.eval().buffers(), *own.parameters()) if is_module else ()
        make, take = _ADDED[2]
        with contextlib.suppress(CallFailed, RuntimeError):
            tables = tables or (trial.call(lambda ids: take(first_output(own(ids))), make(7, 0)),)
        width = next((each.shape[-1] for each in tables if each.ndim and each.shape[-1] % 2 == 0), 10)
        subjects = [Subject(trial, ROLES["sinusoidal"], partial(_added_by, own, form=way)) for way in _ADDED]
        case = sinusoidal(7, width)
        distances = [distance(each.answer(case.inputs), case) for each in subjects]
        subject, sizes = subjects[distances.index(min(distances))], [(7, width), (1, width), (2, width)]
        if subject is subjects[1] and min(distances) < cases.UNKNOWN:
            yield Finding("sequence_first")
    trial.examined += ["numbers", "positions"]
    case, *small = (sinusoidal(*size) for size in sizes)
    yield from _steep("waves_inverted", subject, small[1], [*examine(subject, [case], small)])


def _steep(name: str, subject: Subject, case: Case, found: list[Finding]) -> list[Finding]:
    """Speeds that grow, where angles are so large in a larger case that float32 rounds them differently."""
    if [each.name for each in found] == ["differs"]:
        result = subject.answer(case.inputs)
        found = [case.finding(name, result)] if case.names(result) == (name,) else found
    return found


# What a module is given for a number of tokens, and where in its output their waves are.
_ADDED: tuple[tuple[Callable[[int, int], Tensor], Callable[[Tensor], Tensor]], ...] = (
    (lambda n, d: torch.zeros(2, n, d), lambda y: y[-1]),
    (lambda n, d: torch.zeros(n, 2, d), lambda y: y[:, -1]),
    (lambda n, d: torch.zeros(2, n, dtype=torch.long), lambda y: y[-1] if y.ndim == 3 else y),
)


def _added_by(candidate: Callable[..., Any], length: int, embed_dim: int, form: Any) -> Tensor:
    make, take = form
    output: Tensor = take(first_output(candidate(make(length, embed_dim))))
    return output


def alibi(num_heads: int) -> Case:
    """2^(-8 i / num_heads) for a power of two; for other numbers some in between (Press et al. 2022)."""
    power = 2 ** int(math.log2(num_heads))
    between = _power_slopes(2 * power, 2 * power)[::2][: num_heads - power]
    right = torch.cat((_power_slopes(power, power), between))
    wrong = _power_slopes(num_heads, num_heads)
    slopes = [("", right), ("alibi_powers", wrong), ("alibi_from_zero", 2 ** (8 / num_heads) * wrong)]
    return cases.staged({"num_heads": num_heads}, operator.mul, slopes, [("", 1), ("alibi_sign", -1)])


def _power_slopes(num_heads: int, of: int) -> Tensor:
    return 2 ** (-8 * torch.arange(1, num_heads + 1) / of)


def kinds_of_module(module: nn.Module) -> list[str]:
    """The kinds of a module without matrices, as its class is called."""
    name, embeds = type(module).__name__.lower(), ("position", "sinus", "embed")
    parameters = signature(module) or []
    is_pair = {plain(each.name) for each in parameters} <= frozenset().union(*_PAIR.values())
    if any(isinstance(part, nn.Linear) for part in module.modules()) or (len(parameters) > 1 and not is_pair):
        return []
    if any(word in name for word in ("rotary", "rope")):
        return ["rotary"]
    return ["sinusoidal"] if any(word in name for word in embeds) else []


def is_learned(module: object) -> bool:
    """Whether a module has parameters that are trained."""
    return isinstance(module, nn.Module) and any(each.requires_grad for each in module.parameters())
