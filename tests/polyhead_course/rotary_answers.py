"""Answers to the exercise on rotary positions, by complex numbers: right ones, and each known mistake."""

from __future__ import annotations

import torch

import polyhead


def rotary(speed=lambda i, size: 2 * i / size, sign=1, start=0, own=False, layout="halves", into="halves"):
    """One pair after another as a complex number: it is read from `layout`, and written to `into`."""

    def candidate(x, positions):
        size = x.shape[-1]
        places = torch.arange(len(positions)) if own else positions + start
        result = torch.empty_like(x)
        for i in range(size // 2):
            where = {
                "halves": (i, i + size // 2),
                "neighbours": (2 * i, 2 * i + 1),
                "exchanged": (i + size // 2, i),
            }
            first, second = where[layout]
            angles = sign * places / 10_000 ** speed(i, size)
            turned = torch.complex(x[..., first], x[..., second]) * torch.polar(
                torch.ones(len(places)), angles
            )
            first, second = where[into]
            result[..., first], result[..., second] = turned.real, turned.imag
        return result

    return candidate


def adding(*order):
    def candidate(x, positions):
        size = x.shape[-1]
        angles = positions[:, None] / 10_000 ** (2 * torch.arange(size // 2) / size)
        waves = angles.sin(), angles.cos()
        if not order:
            return x + torch.stack(waves, dim=-1).flatten(1)
        return x + torch.cat([waves[number] for number in order], dim=-1)

    return candidate


def cosine_only(x, positions):
    size = x.shape[-1]
    cosines = (positions[:, None] / 10_000 ** (2 * torch.arange(size // 2) / size)).cos()
    return x * cosines.repeat(1, 2)


RIGHT = [rotary(), lambda x, positions: polyhead.RotaryPositions(x.shape[-1], pairs="halves")(x, positions)]
WRONG = [
    ("rotary_sign", rotary(sign=-1)),
    ("rotary_layout", rotary(layout="neighbours", into="neighbours")),
    ("rotary_layout", lambda x, positions: polyhead.RotaryPositions(x.shape[-1])(x, positions)),
    ("rotary_pairs_joined", rotary(into="neighbours")),
    ("rotary_pairs_joined", rotary(into="exchanged")),
    ("rotary_speed", rotary(lambda i, size: i / size)),
    ("rotary_speed", rotary(lambda i, size: 4 * i / size)),
    ("rotary_speed", rotary(lambda i, size: 2 * i / (size - 2))),
    ("rotary_speed", rotary(lambda i, size: 0)),
    ("rotary_first_pair", rotary(lambda i, size: 2 * (i + 1) / size)),
    ("rotary_from_one", rotary(start=1)),
    ("rotary_ignored", rotary(own=True)),
    ("rotary_cosine_only", cosine_only),
    ("rotary_added", adding(0, 1)),
    ("rotary_added", adding(1, 0)),
    ("rotary_added", adding()),
    ("rotary_unturned", lambda x, positions: x),
]
