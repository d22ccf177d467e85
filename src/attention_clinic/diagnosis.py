"""What `diagnose` gives: the bugs that were found, each with the smallest input that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from attention_clinic.bugs import BUGS
from polyhead_course.words.language import text


@dataclass(frozen=True, eq=False)
class Finding:
    """One bug: its name, and what shows it.

    `input` are the arguments by name; `expected` is what the right form gives for them, `actual` what the
    candidate gave. `details` fill the {placeholders} of the explanation.
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    actual: Any = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def explanation(self) -> str:
        """What is wrong, in the reader's language."""
        return text(f"check.{self.name}", **self.details)

    @property
    def section(self) -> str | None:
        """The notebook and the cell that teach it: "02-masks.ipynb#polarity"."""
        return BUGS[self.name].section if self.name in BUGS else None

    @property
    def thread(self) -> str | None:
        """Where it happened in public."""
        return BUGS[self.name].thread if self.name in BUGS else None

    def __str__(self) -> str:
        """The explanation, and below it what shows the bug, where it is taught, and where it happened."""
        lines = [*self.evidence(), *self.references("{0}".format, "{0}".format)]
        return "\n".join([self.explanation, *(f"  {line}" for line in lines)])

    def evidence(self) -> list[str]:
        """The input, what is expected for it, and what comes, as Python."""
        shown = {**self.input, text("clinic.expected"): self.expected, text("clinic.actual"): self.actual}
        return [f"{name} = {_short(value)}" for name, value in shown.items() if value is not None]

    def references(self, section: Callable[[str], str], thread: Callable[[str], str]) -> list[str]:
        """The section and the thread, each as a function writes them."""
        return [
            *([text("clinic.section", section=section(self.section))] if self.section else []),
            *([text("clinic.thread", thread=thread(self.thread))] if self.thread else []),
        ]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with a candidate: true if nothing is.

    `kind` says what it was taken for. `bugs` make it ill; `notes` are weaknesses that PyTorch's own functions
    have, too. In a condition a diagnosis is the answer to "is it healthy": `assert diagnose(my_function)`.
    """

    kind: str
    bugs: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether no bug was found; notes do not count."""
        return not self.bugs

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bugs, then of the notes."""
        return tuple(each.name for each in (*self.bugs, *self.notes))

    def __bool__(self) -> bool:
        """`healthy`."""
        return self.healthy

    def __repr__(self) -> str:
        """The findings, one below another, in the reader's language."""
        head = [text("clinic.healthy")] if self.healthy else [*map(str, self.bugs)]
        return "\n".join([*head, *(_as_note(str(note)) for note in self.notes)])

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the same with the evidence as code, and with links."""
        parts = [text("clinic.healthy")] if self.healthy else []
        for each in (*self.bugs, *self.notes):
            parts.append(_as_note(each.explanation) if each in self.notes else each.explanation)
            parts += ["\n".join(["```python", *each.evidence(), "```"])] if each.evidence() else []
            parts.append("  \n".join(each.references("[{0}]({0})".format, "<{0}>".format)))
        return "\n\n".join(filter(None, parts))


def _as_note(said: str) -> str:
    return text("clinic.note", note=said.removeprefix("✗ "))


def _short(value: Any) -> str:
    """A small tensor as nested lists, anything else as it prints."""
    if isinstance(value, Tensor):
        value = value.detach()
        if value.numel() > 60:
            return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
        if value.is_floating_point():
            return _rounded(value.tolist())
        return str(value.tolist())
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


def _rounded(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_rounded, value))}]"
    return f"{value:.4g}"
