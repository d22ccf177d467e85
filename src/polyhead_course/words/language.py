"""The reader's language, and words in it: of `terms.yml`, and of `clinic.yml` the clinic's sentences."""

import difflib
import functools
import os
from html import escape
from importlib import resources
from typing import Any

import yaml

from attention_clinic.diagnosis import SENTENCES
from polyhead.checked import checked

_current = "en"


@checked
def set_language(code: str) -> None:
    """Choose the language of figures, checks and the glossary; every chapter's first cell does.

    A language has a label `language.<code>` in `terms.yml`; what it lacks there is English. The choice is one
    for the whole process, in all its threads.

    >>> set_language("ko")
    >>> text("score")
    '점수'
    >>> set_language("en")

    Raises:
        ValueError: there is no such language.
    """
    global _current
    if code not in _languages():
        raise ValueError(f"code must be one of {', '.join(map(repr, _languages()))}, got {code!r}")
    _current = code


def get_language() -> str:
    """Return the code of the chosen language; "en" until `set_language` is called.

    >>> get_language()
    'en'
    """
    return _current


def text(key: str, **values: object) -> str:
    """Look up a label or term of `terms.yml` in the chosen language, with its {placeholders} filled in.

    >>> text("title.head", number=3)
    'head 3'

    Raises:
        ValueError: there is no such key; the message names similar ones.
    """
    terms = _read_terms()
    for section in ("labels", "terms"):  # a label wins over a term
        _record(f"{section}/{key}/{_current}")
        if entry := terms[section].get(key):
            if _current not in entry:
                _record(f"{section}/{key}/en")
            phrase = _phrase(entry, _current)
            return phrase.format(**values) if values else phrase
    _record("")
    near = difflib.get_close_matches(str(key), [*terms["labels"], *terms["terms"]])
    raise ValueError(f"key must be one of terms.yml's labels or terms, got {key!r}; near it: {near}")


def _phrase(entry: dict[str, str], code: str) -> str:
    return entry.get(code, entry["en"])


def sentence() -> list[str]:
    """Return the book's example sentence, 中和有一條永和路 ("Zhonghe has a Yonghe Road"), as four tokens.

    >>> sentence()
    ['Zhonghe', 'has', 'a', 'Yonghe Road']
    """
    return [text(f"token.{key}") for key in ("zhonghe", "has", "one", "yonghe_road")]


def terminology() -> dict[str, dict[str, Any]]:
    """Read `terms.yml`: `terms` and `labels`, each by key; the clinic's sentences are labels, too.

    The dictionaries are the cached ones: do not change them.

    >>> terminology()["terms"]["score"]["ko"]
    '점수'
    """
    _record("")
    return _read_terms()


@functools.cache  # so that each entry is written once
def _record(entry: str) -> None:
    """Write down which entry of `terms.yml` a notebook depends on.

    When a notebook of the book is made, an environment variable names the file for it: if no entry in it has
    changed, the notebook is not executed again. Entries are `section/key/language`, also of a missing key,
    since adding it would change the result; a whole section, `terms` or `labels`; and "" for everything.
    """
    if file := os.environ.get("POLYGLOT_TERMS"):
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(f"{entry}\n")


@functools.cache
def _read_terms() -> dict[str, dict[str, Any]]:
    terms = _read("terms.yml")
    clinic = {key: {"en": SENTENCES[key], **phrases} for key, phrases in _read("clinic.yml").items()}
    return {**terms, "labels": terms["labels"] | clinic}


def _read(name: str) -> dict[str, dict[str, Any]]:
    source = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # not every PyYAML has the fast one
    content: dict[str, dict[str, Any]] = yaml.load(source, loader)
    return content


def _languages() -> list[str]:
    return [key.removeprefix(_NAME) for key in _read_terms()["labels"] if key.startswith(_NAME)]


_NAME = "language."
# Those that every term has; a partial language has some.
LANGUAGES = [code for code in _languages() if all(code in term for term in _read_terms()["terms"].values())]


class Glossary:
    """The terminology as a table: the reader's language first, with what each term means.

    A notebook shows it as a table, a terminal as lines.

    >>> repr(Glossary()).split(" | ")[0]
    'activation function'
    """

    def __init__(self) -> None:
        """Take the language that is chosen now."""
        self.order = (_current, *(code for code in LANGUAGES if code != _current))
        _record("terms")
        terms = _read_terms()["terms"].values()
        self.rows = sorted(terms, key=lambda term: str(term["en"]).casefold())

    def __repr__(self) -> str:
        """The terms alone, one a line, for a terminal."""
        return "\n".join(" | ".join(_phrase(term, code) for code in self.order) for term in self.rows)

    def _repr_markdown_(self) -> str:
        """The table that a notebook and the site show."""
        own, *others = self.order
        _record("labels")
        labels = _read_terms()["labels"]
        keys = (f"language.{own}", "meaning", *(f"language.{code}" for code in others))
        lines = [[_phrase(labels[key], own) for key in keys], ["---"] * len(keys)]
        for term in self.rows:
            # The language of each word, for fonts: the same character has two forms in zh-TW and zh-CN.
            foreign = [f'<span lang="{code}">{_cell(term[code])}</span>' for code in others]
            lines.append([f"**{_cell(_phrase(term, own))}**", _cell(_phrase(term["means"], own)), *foreign])
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(phrase: object) -> str:
    return escape(str(phrase), quote=False).replace("|", "\\|")
