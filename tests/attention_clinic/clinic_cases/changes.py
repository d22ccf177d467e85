"""Right code with one small change, and the name of the bug that comes of it: a table, in changes.txt."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.attention_clinic.clinic_cases import bases

PAIR = re.compile("`([^`]*)` → `([^`]*)`")
SAID = {"True": True, "False": False}


@dataclass(frozen=True)
class Change:
    """One base with one change.

    Attributes:
        name: The bug; "" where it is right.
        base: What is changed, a name in `bases`.
        kind: What it is meant to be.
        pairs: What stands in the source, and what takes its place.
        also: What may be said beside it, because it is true as well.
        reason: Why the clinic does not name it yet.
        options: What its owner would say.
    """

    name: str
    base: str
    kind: str
    pairs: tuple[tuple[str, str], ...] = ()
    also: frozenset[str] = frozenset()
    reason: str = ""
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.base}-{self.name or 'right'}"

    @property
    def original(self) -> Any:
        return getattr(bases, self.base)

    def candidate(self) -> Any:
        """A function, or a module with the same parameters each time."""
        source = inspect.getsource(self.original)
        for before, after in self.pairs:
            assert before in source, before
            source = source.replace(before, after)
        space = dict(vars(bases))
        exec(source, space)
        made = space[self.base]
        torch.manual_seed(0)
        if isinstance(made, type) and issubclass(made, bases.SmallDecoder):
            return bases.build(made, **made.options)
        return made() if isinstance(made, type) and issubclass(made, nn.Module) else made


def _said(texts: list[str]) -> dict[str, Any]:
    pairs = (text.split("=") for text in texts if "=" in text)
    return {name: SAID.get(value, value) for name, value in pairs}


def _read(table: str) -> list[Change]:
    found: list[Change] = []
    for section in table.split("\n# ")[1:]:
        (base, kind, *said), *lines = section.splitlines()[0].split(), *section.splitlines()[1:]
        found.append(Change("", base, kind, options=_said(said)))
        for line in filter(None, lines):
            name, _, rest = line.partition(": ")
            *pairs, tail = PAIR.split(rest)
            marks = [mark.strip() for mark in tail.split("|")]
            also = [mark.removeprefix("also ").split() for mark in marks if mark.startswith("also ")]
            reasons = [mark.removeprefix("unnamed: ") for mark in marks if mark.startswith("unnamed: ")]
            changed = [each.replace("⏎", "\n") for number, each in enumerate(pairs) if number % 3]
            found.append(
                Change(
                    name.rstrip(":").removesuffix("right"),
                    base,
                    kind,
                    (*zip(changed[::2], changed[1::2], strict=True),),
                    frozenset().union(*also),
                    "".join(reasons),
                    _said(said) | _said(marks if not reasons else []),
                )
            )
    return found


EVERY = _read(Path(__file__).with_name("changes.txt").read_text(encoding="utf-8"))
TABLE, RIGHT = [each for each in EVERY if each.name], [each for each in EVERY if not each.name]
