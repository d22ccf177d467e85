"""Mutants that no test can notice, and why: `equivalent.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("equivalent.txt")


@dataclass(frozen=True)
class Entry:
    """A mutant by the words of its line and of its change, which stay when other lines come and go."""

    path: str
    line: str
    change: str
    reason: str

    @property
    def name(self) -> tuple[str, str, str]:
        """What it is found by."""
        return self.path, self.line, self.change


def read_equivalent() -> list[Entry]:
    """Read blocks of `module:`, `line:`, one or more `change:` and `why:`."""
    entries = []
    for block in LIST.read_text(encoding="utf-8").split("\n\n"):
        fields = [line.split(": ", 1) for line in block.strip().splitlines() if not line.startswith("#")]
        words = dict(fields)
        changes = [value for name, value in fields if name == "change"]
        entries += [Entry(words["module"], words["line"], each, words["why"]) for each in changes]
    return entries
