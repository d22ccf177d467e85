"""What `diagnose` returns: the bugs that were found, each with the smallest input that shows it, in words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from torch import Tensor

_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    resources.files(__package__).joinpath("sentences.toml").read_text(encoding="utf-8")
)
_THREADS = _TABLES.pop("thread")
SENTENCES: dict[str, str] = {
    f"{table}.{name}": sentence
    for table, sentences in _TABLES.items()
    for name, sentence in sentences.items()
}


@dataclass(frozen=True)
class Wording:
    """English sentences, and addresses of sections that explain a bug, by the bug's name.

    A subclass that overrides `sentence` makes reports speak another language.

    Example:
        >>> Wording({"view": "guide.html#view"}).section("view")
        'guide.html#view'
    """

    sections: Mapping[str, str] = field(default_factory=dict)

    def sentence(self, key: str, **details: object) -> str:
        """The sentence of a key of `SENTENCES`, with its {placeholders} filled in."""
        return SENTENCES[key].format(**details)

    def section(self, bug: str) -> str | None:
        """The address of the text that explains a bug."""
        return self.sections.get(bug)

    def thread(self, bug: str) -> str | None:
        """The address of a public issue about a bug."""
        if bug not in _THREADS:
            return None
        repository, _, number = _THREADS[bug].partition("#")
        return f"https://github.com/{repository}/issues/{number}"


ENGLISH = Wording()


@dataclass(frozen=True, eq=False)
class Finding:
    """One bug: its name, and what shows it.

    Attributes:
        name: The bug's key, such as "unscaled".
        input: Arguments that show the bug, by name.
        expected: What the right form returns for them.
        actual: What the candidate returns.
        details: Values for the {placeholders} of the explanation.
        wording: The words in which the finding prints.

    Example:
        >>> print(Finding("shape", details={"expected": (2, 3), "actual": (3, 2)}))
        ✗ The output must have shape (2, 3); yours has (3, 2).
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    actual: Any = None
    details: Mapping[str, Any] = field(default_factory=dict)
    wording: Wording = ENGLISH

    @property
    def explanation(self) -> str:
        """What is wrong, in one sentence: of a decoder without a known bug, the law that it breaks."""
        lawless = self.name == "differs" and "law" in self.details
        key = f"says.{self.details['law']}" if lawless else f"check.{self.name}"
        return self.wording.sentence(key, **self.details)

    @property
    def section(self) -> str | None:
        """The address of the section that explains the bug, if the wording has one."""
        return self.wording.section(self.name)

    @property
    def thread(self) -> str | None:
        """The address of a public issue about the bug, if there is one."""
        return self.wording.thread(self.name)

    def __str__(self) -> str:
        """The explanation, and below it the evidence, the section and the thread."""
        lines = [*self.evidence(), *self.references("{0}".format, "{0}".format)]
        return "\n".join([self.explanation, *(f"  {line}" for line in lines)])

    def evidence(self) -> list[str]:
        """The input, the expected and the actual output, as Python."""
        expected, actual = (self.wording.sentence(f"clinic.{each}") for each in ("expected", "actual"))
        values = {**self.input, expected: self.expected, actual: self.actual}
        return [f"{name} = {_short(value)}" for name, value in values.items() if value is not None]

    def references(self, section: Callable[[str], str], thread: Callable[[str], str]) -> list[str]:
        """The section and the thread, each formatted by a function."""
        sentence = self.wording.sentence
        return [
            *([sentence("clinic.section", section=section(self.section))] if self.section else []),
            *([sentence("clinic.thread", thread=thread(self.thread))] if self.thread else []),
        ]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with a candidate; true if nothing is, so that `assert diagnose(my_function)` is a test.

    Attributes:
        kind: The kind of code that the candidate was examined as.
        bugs: What makes the candidate ill.
        notes: Weaknesses that PyTorch's own functions have, too.
        wording: The words in which the diagnosis prints.

    Example:
        >>> Diagnosis("softmax")
        ✓ Nothing wrong was found.
    """

    kind: str
    bugs: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    wording: Wording = ENGLISH

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
        """The findings, one below another."""
        head = [self.wording.sentence("clinic.healthy")] if self.healthy else [*map(str, self.bugs)]
        return "\n".join([*head, *(self._note(str(note)) for note in self.notes)])

    def _repr_markdown_(self) -> str:
        """The same for a notebook, with the evidence as code, and with links."""
        parts = [self.wording.sentence("clinic.healthy")] if self.healthy else []
        for each in (*self.bugs, *self.notes):
            parts.append(self._note(each.explanation) if each in self.notes else each.explanation)
            parts += ["\n".join(["```python", *each.evidence(), "```"])] if each.evidence() else []
            parts.append("  \n".join(each.references("[{0}]({0})".format, "<{0}>".format)))
        return "\n\n".join(filter(None, parts))

    def _note(self, explanation: str) -> str:
        return self.wording.sentence("clinic.note", note=explanation.removeprefix("✗ "))


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
