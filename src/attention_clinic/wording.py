"""The words of a report: plain English and public threads; whoever embeds the clinic may give others."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

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
