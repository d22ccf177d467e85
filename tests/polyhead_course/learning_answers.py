"""Answers to the exercise about exact match: right ones, and every known mistake."""

from __future__ import annotations

import torch


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
