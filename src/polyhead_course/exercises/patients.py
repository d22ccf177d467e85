"""The exercise of chapter 13: decoders known by a number alone, each with one planted bug or none."""

import hashlib

from attention_clinic.planted import BUGS, CLASSES, planted_decoder
from attention_clinic.small import SmallDecoder


def _order(name: str) -> str:
    return hashlib.sha256(f"patient 25 {name}".encode()).hexdigest()  # an order that gives nothing away


# Only bugs that need no options, so that all patients have the same parameters.
_BUG_OF_PATIENT = sorted(["none", *(bug for bug in BUGS if not CLASSES[bug].options)], key=_order)
NUM_PATIENTS = len(_BUG_OF_PATIENT)


def patient(number: int) -> SmallDecoder:
    """The decoder of this number, from 1; called as `planted_decoder()` is, and with its weights.

    `checks.patient(number, name)` prints whether a diagnosis is right.

    Example:
        >>> patient(7)
        <patient 7>
    """
    decoder = planted_decoder(bug_of(number))
    names = {"__module__": "patient", "__repr__": lambda _: f"<patient {number}>"}
    decoder.__class__ = type("Patient", (type(decoder),), names)
    return decoder


def bug_of(number: int) -> str:
    """The name of a patient's bug, or "none"; for `checks.patient` alone."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= NUM_PATIENTS:
        raise ValueError(f"number must be from 1 to {NUM_PATIENTS}, got {number!r}")
    return _BUG_OF_PATIENT[number - 1]
