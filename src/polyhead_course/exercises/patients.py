"""Opaque decoders: each has one planted bug or none, and nothing but calls tells which."""

from __future__ import annotations

import hashlib
import inspect
import types
from typing import Any

from attention_clinic import small, small_bugs
from attention_clinic.planted import BUGS, CLASSES, planted
from attention_clinic.small import SmallDecoder

_METHODS = [name for name, value in vars(SmallDecoder).items() if callable(value) and name != "__init__"]


def _order(name: str) -> str:
    return hashlib.sha256(f"patient 25 {name}".encode()).hexdigest()


# Bugs whose right form has no parameters of its own: all patients look alike.
_ILL = sorted(["none", *(bug for bug in BUGS if not CLASSES[bug].options)], key=_order)
NUM_PATIENTS = len(_ILL)


def patient(number: int) -> SmallDecoder:
    """The decoder of this number, from 1; it is called as `planted("none")` is, and has the same weights.

    Its code was compiled from a source that is not there to read. `checks.patient(number, name)` says whether
    a diagnosis is right.
    """
    decoder = planted("none")
    decoder.__class__ = _compiled(answer(number), number)
    return decoder


def answer(number: int) -> str:
    """What a patient has, for `checks.patient` alone."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= NUM_PATIENTS:
        raise ValueError(f"number must be from 1 to {NUM_PATIENTS}, got {number!r}")
    return _ILL[number - 1]


def _compiled(bug: str, number: int) -> type[SmallDecoder]:
    """A class with every method of its own, the right ones too, so that none stands out."""
    source: type[SmallDecoder] = SmallDecoder if bug == "none" else CLASSES[bug]
    methods: dict[str, Any] = {name: _opaque(getattr(source, name)) for name in _METHODS}
    methods |= {"__module__": "patient", "__doc__": None, "__repr__": lambda _: f"<patient {number}>"}
    return type("Patient", (SmallDecoder,), methods)


def _opaque(method: Any) -> types.FunctionType:
    """The same code without its file, lines and docstring."""
    method = inspect.unwrap(method)
    code = method.__code__
    constants = code.co_consts
    if method.__doc__ is not None:
        constants = (None, *constants[1:])
    code = code.replace(
        co_filename="<patient>", co_firstlineno=1, co_qualname=code.co_name, co_consts=constants
    )
    names = {**vars(small), **vars(small_bugs), "__name__": "patient"}
    made = types.FunctionType(code, names, code.co_name, method.__defaults__, method.__closure__)
    made.__kwdefaults__, made.__annotations__ = method.__kwdefaults__, dict(method.__annotations__)
    return made
