"""Decoders behind a number, each with one planted bug or none: neither name nor class says which."""

from __future__ import annotations

import hashlib

from attention_clinic.planted import BUGS, CLASSES, planted_decoder
from attention_clinic.small import SmallDecoder


def _order(name: str) -> str:
    return hashlib.sha256(f"patient 25 {name}".encode()).hexdigest()


# Bugs whose right form has no parameters of its own: all patients look alike.
_ILL = sorted(["none", *(bug for bug in BUGS if not CLASSES[bug].options)], key=_order)
NUM_PATIENTS = len(_ILL)


def patient(number: int) -> SmallDecoder:
    """The decoder of this number, from 1; called as `planted_decoder()` is, and with its weights.

    `checks.patient(number, name)` prints whether a diagnosis is right.

    Example:
        >>> patient(7)
        <patient 7>
    """
    decoder = planted_decoder(answer(number))
    names = {"__module__": "patient", "__repr__": lambda _: f"<patient {number}>"}
    decoder.__class__ = type("Patient", (type(decoder),), names)
    return decoder


def answer(number: int) -> str:
    """What a patient has, for `checks.patient` alone."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= NUM_PATIENTS:
        raise ValueError(f"number must be from 1 to {NUM_PATIENTS}, got {number!r}")
    return _ILL[number - 1]
