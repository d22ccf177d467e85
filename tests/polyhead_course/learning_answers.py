"""Answers to the exercises about learning rates and exact match: right ones, and every known mistake."""

from __future__ import annotations

import torch


def rates(rise=None, fall=None, join=min, scaled=True):
    """The rates one by one, in plain Python; both lines are functions of step, steps and warmup."""
    rise = rise or (lambda step, steps, warmup: (step + 1) / (warmup + 1))
    fall = fall or (lambda step, steps, warmup: (steps - step) / (steps - warmup))

    def candidate(steps, warmup, highest):
        lines = [(rise(step, steps, warmup), fall(step, steps, warmup)) for step in range(steps)]
        return torch.tensor([join(*pair) * (highest if scaled else 1.0) for pair in lines])

    return candidate


def by_ranges(steps, warmup, highest):
    up, down = torch.arange(1, warmup + 1), torch.arange(steps - warmup, 0, -1)
    return highest * torch.cat((up / (warmup + 1), down / (steps - warmup)))


def from_zero(step, steps, warmup):
    return step / warmup


def to_zero(step, steps, warmup):
    return (steps - 1 - step) / (steps - 1 - warmup)


def root(step, steps, warmup):
    return ((warmup + 1) / (step + 1)) ** 0.5


def highest(step, steps, warmup):
    return 1.0


RATES_RIGHT = [rates(), by_ranges, lambda *sizes: rates()(*sizes).double()]
RATES_WRONG = [
    ("rates_first", rates(from_zero)),
    ("rates_first", rates(from_zero, to_zero)),
    ("rates_last", rates(fall=to_zero)),
    ("rates_no_fall", rates(fall=highest)),
    ("rates_no_rise", rates(rise=highest)),
    ("rates_larger", rates(join=max)),
    ("rates_product", rates(join=lambda one, other: one * other)),
    ("rates_root", rates(fall=root)),
    ("rates_highest", rates(scaled=False)),
]


def exact(whole=torch.all, divided=True, free=lambda written, target, pad: target == pad):
    """A loop over the sequences; `free` says where anything may be written."""

    def candidate(written, target, pad_id):
        right = (written == target) | free(written, target, pad_id)
        found = torch.stack([whole(row).double() for row in right]).sum()
        return found / len(target) if divided else found

    return candidate


def cut(written, target, pad_id):
    """The real tokens alone, row by row; the share is a number of Python."""
    pairs = [(w[t != pad_id], t[t != pad_id]) for w, t in zip(written, target, strict=True)]
    return sum(torch.equal(w, t) for w, t in pairs) / len(pairs)


def nowhere(written, target, pad):
    return torch.zeros_like(target, dtype=torch.bool)


def mean(right):
    return right.double().mean()


EXACT_RIGHT = [exact(), cut, lambda *inputs: exact()(*inputs).float()]
EXACT_WRONG = [
    ("exact_padding", exact(free=nowhere)),
    ("exact_tokens", exact(whole=mean)),
    ("exact_tokens", exact(whole=mean, free=nowhere)),
    ("exact_tokens", lambda w, t, pad: (w == t)[t != pad].float().mean()),
    ("exact_any", exact(whole=torch.any)),
    ("exact_any", exact(whole=torch.any, free=nowhere)),
    ("exact_written", exact(free=lambda written, target, pad: written == pad)),
    ("exact_count", exact(divided=False)),
    ("exact_count", lambda *inputs: int(exact(divided=False)(*inputs))),
]
