"""What `diagnose` returns: the bugs that were found, each with a small input that shows it, in words."""

import math
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor


def tables(file: str) -> dict[str, dict[str, Any]]:
    """The tables of a TOML file of this package."""
    return tomllib.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))


_TABLES = tables("sentences.toml")
# By the name of a finding, the public issue about it, "owner/repository#number"; by a kind, its formula.
_ISSUES, FORMULAS = _TABLES.pop("issue"), _TABLES.pop("formula")
NAMES = (*_TABLES["check"],)  # of all findings
FINDINGS = tables("findings.toml")  # which of them are notes and doubts, and how badly they fit
SENTENCES: dict[str, str] = {
    f"{table}.{name}": sentence
    for table, sentences in _TABLES.items()
    for name, sentence in sentences.items()
}


@dataclass(frozen=True)
class Wording:
    """English sentences, and addresses of sections that explain a bug, by the bug's name.

    A subclass that overrides `sentence` makes reports speak another language.

    Attributes:
        sections: The addresses; notebooks, such as "guide.ipynb#view", are pages of a site.
        site: What the addresses begin with; without it they stay as they are.

    Example:
        >>> Wording({"view": "guide.ipynb#view"}, site="https://example.org/").section("view")
        'https://example.org/guide.html#view'
    """

    sections: Mapping[str, str] = field(default_factory=dict)
    site: str = ""

    def sentence(self, key: str, **details: object) -> str:
        """The sentence of a key of `SENTENCES`, with its {placeholders} filled in."""
        return SENTENCES[key].format(**details)

    def section(self, bug: str) -> str | None:
        """The address of the text that explains a bug."""
        address = self.sections.get(bug)
        return f"{self.site}{address.replace('.ipynb', '.html')}" if address and self.site else address

    def issue(self, bug: str) -> str | None:
        """The address of a public issue about a bug."""
        address = _ISSUES.get(bug)
        return address and f"https://github.com/{address.replace('#', '/issues/')}"


ENGLISH = Wording()
_OUTPUTS = ("expected", "actual")
_PRINTED = 60  # numbers


class Call(NamedTuple):
    """One call of a candidate.

    Attributes:
        args: Its arguments by position.
        options: Its arguments by name.
        pick: Python that picks what was looked at from the output, such as "[0]".
    """

    args: tuple[Any, ...]
    options: Mapping[str, Any]
    pick: str = ""


@dataclass(frozen=True, eq=False)
class Finding:
    """What was found: a bug, a doubt or a note; its name, and what shows it.

    Attributes:
        name: Its key in the table [check] of sentences.toml, such as "unscaled".
        input: The arguments that show it, by name.
        expected: What the right form returns for them.
        actual: What the candidate returns.
        details: Values for the {placeholders} of the explanation; "formula", the one that is expected;
            "nearest", known forms with the largest difference from the output.
        wording: The words in which the finding prints.
        made: Python for what was called, made of `candidate`; empty if that is not so simple.
        call: The call that gave `actual`, if it was a single one.

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
    made: str = "candidate"
    call: Call | None = None

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
    def issue(self) -> str | None:
        """The address of a public issue about the bug, if there is one."""
        return self.wording.issue(self.name)

    def __str__(self) -> str:
        """The explanation, and below it the evidence, the section and the issue."""
        lines = [*self.evidence(), *self.references("{0}", "{0}")]
        return "\n  ".join([self.explanation, *lines])

    def evidence(self) -> list[str]:
        """What is called, the input, the expected and the actual output, as Python.

        Of outputs too large to print, the first numbers that differ.
        """
        outputs = {self.wording.sentence(f"clinic.{each}"): getattr(self, each) for each in _OUTPUTS}
        values = {name: value for name, value in {**self.input, **outputs}.items() if value is not None}
        lines = [f"module = {self.made}"] if values and self.made not in ("", "candidate") else []
        lines += [f"{name} = {_short(value)}" for name, value in values.items()]
        if (index := first_difference(self.expected, self.actual)) and self.expected.numel() > _PRINTED:
            at = ", ".join(map(str, index))
            lines += [f"{name}[{at}] = {_short(value[index])}" for name, value in outputs.items()]
        lines += [f"# {formula}"] if (formula := self.details.get("formula")) else []
        return [*lines, *([f"nearest = {near}"] if (near := self.details.get("nearest")) else [])]

    def references(self, section: str, issue: str) -> list[str]:
        """The section and the issue, each in a format for its address."""
        found = {"section": (section, self.section), "issue": (issue, self.issue)}
        addresses = {key: text.format(address) for key, (text, address) in found.items() if address}
        return [self.wording.sentence(f"clinic.{key}", **{key: each}) for key, each in addresses.items()]


Verdict = Literal["healthy", "ill", "undecided"]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with a candidate, and how far that was looked for.

    It is true if the verdict is "healthy", so that `assert diagnose(my_function)` is a test.

    Attributes:
        kind: The kind of code that the candidate was examined as.
        bugs: What makes the candidate ill.
        notes: Conventions that were found out, and weaknesses that PyTorch's own functions have, too.
        wording: The words in which the diagnosis prints.
        doubts: What leaves open whether it is right; with bugs the verdict is "ill" all the same.
        examined: What was examined, keys of the table [part] of the sentences.
        skipped: What was not, though such code may have it.
        tried: The calls that were tried, where none could be made.
        question: What the owner of the code could say, as an argument: "causal=True".
        candidate: What was examined.
        options: What `diagnose` was told besides, by the names of its arguments.

    Example:
        >>> Diagnosis("softmax", examined=("numbers", "mask"), skipped=("gradients",))
        ✓ Nothing wrong was found.
          Examined: the numbers, masks. Not examined: gradients.
    """

    kind: str
    bugs: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    wording: Wording = ENGLISH
    doubts: tuple[Finding, ...] = ()
    examined: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    question: str | None = None
    candidate: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Whether the candidate is healthy, as far as it was examined, or ill, or cannot be compared."""
        return "ill" if self.bugs else "undecided" if self.doubts else "healthy"

    @property
    def healthy(self) -> bool:
        """Whether the verdict is "healthy"; notes do not count."""
        return self.verdict == "healthy"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bugs, then of the doubts and the notes."""
        return tuple(each.name for each in (*self.bugs, *self.doubts, *self.notes))

    def __bool__(self) -> bool:
        """`healthy`."""
        return self.healthy

    def __repr__(self) -> str:
        """The findings, one below another, and how far the candidate was examined."""
        head = [self.wording.sentence("clinic.healthy")] if self.healthy else []
        scope = [f"  {line}" for line in self.scope()]
        notes = [self._note(str(note)) for note in self.notes]
        return "\n".join([*head, *map(str, (*self.bugs, *self.doubts)), *scope, *notes])

    def scope(self) -> list[str]:
        """What was examined, what was not, which calls were tried, and what the owner could say."""
        say = self.wording.sentence
        parts = {"examined": self.examined, "skipped": self.skipped}
        named = [
            say(f"clinic.{key}", parts=say("clinic.comma").join(say(f"examined.{part}") for part in found))
            for key, found in parts.items()
            if found and not self.bugs
        ]
        lines = [say("clinic.space").join(named)] if named else []
        lines += [say("clinic.tried", call=call) for call in self.tried]
        if self.question:
            # Another candidate takes the place of the first argument, what else is said comes after it.
            other = self.question.removeprefix("candidate=")
            call = other if other != self.question else f"…, {self.question}"
            lines.append(say("clinic.question", call=call))
        return lines

    def as_test(self, build: str | None = None) -> str:
        """The text of a Python file with a test for each bug, which fails until the bug is mended.

        Args:
            build: lines of Python that end with `candidate = …`, where what was diagnosed is no function or
                class that can be imported by its name.

        Raises:
            ValueError: there is no bug; or `build` is needed.

        Example:
            >>> from attention_clinic import diagnose
            >>> diagnosis = diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value)
            >>> "def test_unscaled():" in diagnosis.as_test("from my_code import candidate")
            True
        """
        if not self.bugs:
            raise ValueError(f"there is no bug to test for: the candidate is {self.verdict}")
        build = import_lines(self.candidate) if build is None else build
        tests = "\n\n\n".join(_test(self, bug) for bug in self.bugs)
        imports = [] if "import torch" in build.splitlines() else ["import torch"]
        imports += [f"from {place} import {name}" for name, place in _IMPORTS.items() if name in tests]
        head = "# Each of these tests fails until the bug that it is named after is mended."
        return "\n\n".join([head, *(["\n".join(imports)] if imports else []), f"{build}\n", tests]) + "\n"

    def report(self) -> dict[str, Any]:
        """The same as what JSON can hold, for other programs.

        Example:
            >>> Diagnosis("softmax", examined=("numbers",)).report()["verdict"]
            'healthy'
        """
        names = ("verdict", "kind", "examined", "skipped", "tried", "question")
        parts = ("bugs", "doubts", "notes")
        texts = {part: {each.name: str(each) for each in getattr(self, part)} for part in parts}
        return {name: getattr(self, name) for name in names} | texts | {"text": str(self)}

    def _repr_markdown_(self) -> str:
        """The same for a notebook, with the evidence as code, and with links."""
        parts = [self.wording.sentence("clinic.healthy")] if self.healthy else []
        for each in (*self.bugs, *self.doubts, *self.notes):
            parts.append(self._note(each.explanation) if each in self.notes else each.explanation)
            parts += ["\n".join(["```python", *each.evidence(), "```"])] if each.evidence() else []
            parts.append("  \n".join(each.references("[{0}]({0})", "<{0}>")))
        return "\n\n".join(filter(None, [*parts, "  \n".join(self.scope())]))

    def _note(self, explanation: str) -> str:
        return self.wording.sentence("clinic.note", note=explanation.lstrip("✗? "))


def first_difference(expected: Any, actual: Any) -> tuple[int, ...] | None:
    """The first position at which two tensors of one shape differ by more than rounding.

    Example:
        >>> first_difference(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.5]]))
        (0, 1)
    """
    if not isinstance(expected, Tensor) or not isinstance(actual, Tensor) or expected.shape != actual.shape:
        return None
    one, other = expected.detach().double(), actual.detach().double()
    apart = ~torch.isclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
    return next(map(tuple, apart.nonzero().tolist()), None)


def _short(value: Any) -> str:
    """A small tensor as nested lists, anything else as it prints."""
    if not isinstance(value, Tensor):
        text = repr(value)
        return text if len(text) <= 200 else f"{text[:200]}…"
    if value.numel() > _PRINTED:
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return _rounded(value.tolist())


def _rounded(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_rounded, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


# ---- tests that fail on the owner's code: the same module and inputs, and what is right for them

_IMPORTS = {
    "diagnose": "attention_clinic", "laws": "attention_clinic", "seeded_copy": "attention_clinic",
    "awakened": "attention_clinic.adapter", "SmallConfig": "attention_clinic.kinds.modules",
}  # fmt: skip


def import_lines(candidate: Any) -> str:
    """Lines of Python that import a function or a class as `candidate`.

    Raises:
        ValueError: it cannot be imported by a name.

    Example:
        >>> print(import_lines(math.hypot))
        from math import hypot
        <BLANKLINE>
        candidate = hypot
    """
    name = getattr(candidate, "__qualname__", "<unknown>")
    module = getattr(candidate, "__module__", None) or "__main__"
    if "<" in name or module == "__main__":
        raise ValueError("say how the candidate is made: lines of Python that end with candidate = …")
    return f"from {module} import {name.partition('.')[0]}\n\ncandidate = {name}"


def _test(diagnosis: Diagnosis, bug: Finding) -> str:
    explanation = bug.explanation.removeprefix("✗ ").replace("\\", "\\\\").replace('"', "'")
    name, lines = "candidate", list[str]()
    if bug.made not in ("", "candidate"):
        name, lines = "made", ["torch.manual_seed(0)", f"made = {bug.made}"]
    try:
        lines += _called(bug, name)
    except TypeError:  # it cannot be written down
        lines = _diagnosed(diagnosis, bug)
    return "\n".join([f"def test_{bug.name}():", *map(_folded, [f'"""{explanation}"""', *lines])])


def _called(bug: Finding, name: str) -> list[str]:
    """The very call and what is right for it, or the law that a decoder breaks.

    Raises:
        TypeError: there is neither.
    """
    law, ids, expected = bug.details.get("law", "parity"), bug.input.get("token_ids"), bug.expected
    if law != "parity" and isinstance(ids, Tensor):
        return [f"assert not laws.{law}({name}, batch={ids.shape[0]}, length={ids.shape[1]})"]
    call = bug.call if bug.made and bug.name != "not_deterministic" else None
    if call is None or not isinstance(expected, Tensor) or expected.shape != bug.actual.shape:
        raise TypeError("no single call")
    slack = 1e-5 * max([1.0, *expected[expected.isfinite()].double().abs().tolist()])
    args = "".join(f"{_literal(each)}, " for each in call.args)
    inputs = [f"    {key!r}: {_literal(value)}," for key, value in call.options.items()]
    tolerance = f"rtol=0, atol={slack:.2g}, equal_nan=True, check_dtype={expected.dtype == torch.bool}"
    lines = ["inputs = {", *inputs, "}", f"expected = {_literal(expected)}"]
    lines += [f"actual = {name}({args}**inputs){call.pick}"]
    return [*lines, f"torch.testing.assert_close(actual, expected, {tolerance})"]


def _diagnosed(diagnosis: Diagnosis, bug: Finding) -> list[str]:
    """The diagnosis as a whole."""
    options = "".join(f", {name}={value!r}" for name, value in diagnosis.options.items())
    found = f"found = diagnose(candidate, {diagnosis.kind!r}{options})"
    return [found, f"assert {bug.name!r} not in {{bug.name for bug in found.bugs}}, found"]


def _folded(line: str) -> str:
    indent = " " * (4 + len(line) - len(line.lstrip()))
    deeper = indent if line.startswith('"') else f"{indent}    "  # a docstring's lines begin alike
    return textwrap.fill(
        line.lstrip(), 100, initial_indent=indent, subsequent_indent=deeper, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _literal(value: Any, dtype: torch.dtype | None = None) -> str:
    """Python for a value; a tensor has the same numbers again, in as few digits as its dtype needs.

    Raises:
        TypeError: there is none.
    """
    if isinstance(value, Tensor):
        return f"torch.tensor({_literal(value.detach().tolist(), value.dtype)}, dtype={value.dtype})"
    if isinstance(value, list):
        return f"[{', '.join(_literal(each, dtype) for each in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, float) and dtype is not None:
        texts = (f"{value:.{digits}g}" for digits in range(1, 18))
        return next(text for text in texts if torch.tensor(float(text), dtype=dtype).item() == value)
    if value is None or isinstance(value, bool | int | float | complex | str):
        return repr(value)
    raise TypeError(f"no Python for {type(value).__name__}")
