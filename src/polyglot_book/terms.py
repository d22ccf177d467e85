"""Reads the terminology: one term per language, and the forms to avoid."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from polyglot_book.config import Book
from polyglot_book.files import read_text
from polyglot_book.schema import load_schema, problems
from polyglot_book.violations import Violation

_HANGUL = "\uac00-\ud7a3"


@dataclass
class Terms:
    """The terminology of a book.

    Attributes:
        permitted: Every term, by language.
        avoid: By language, each form to avoid and the term to write instead.
        gloss: By language, each term that chapters gloss, and its name in the reference's language.
        wording: By language, patterns that no chapter may use, and what to write instead.
    """

    permitted: dict[str, list[str]] = field(default_factory=dict)
    avoid: dict[str, dict[str, str]] = field(default_factory=dict)
    gloss: dict[str, dict[str, str]] = field(default_factory=dict)
    wording: dict[str, dict[str, str]] = field(default_factory=dict)

    def avoided_in(self, language: str, text: str) -> dict[str, str]:
        """Find the forms to avoid in a text, each with the term to write instead.

        >>> Terms(avoid={"en": {"autoattention": "self-attention"}}).avoided_in("en", "with autoattention")
        {'autoattention': 'self-attention'}
        """
        found = {}
        for form, term in self.avoid.get(language, {}).items():
            spans = _spans([form], text)
            allowed = _spans(self.permitted.get(language, []), text) if spans else []
            # Part of a longer term, or a term's end and the next word's beginning: 查詢|問 is not 詢問.
            if any(
                not any(first < start < last or (first == start and stop <= last) for first, last in allowed)
                for start, stop in spans
            ):
                found[form] = term
        for pattern, advice in self.wording.get(language, {}).items():
            if match := re.search(pattern, text):
                found[match.group()] = advice
        return found

    def first_use(self, language: str, term: str, text: str) -> int | None:
        """Return the end of the first use of a term in a text, other than as a part of a longer term."""
        longer = [each for each in self.permitted.get(language, []) if term in each and each != term]
        covered = _spans(longer, text)
        for first, last in _spans([term], text):
            if not any(start <= first < stop for start, stop in covered):
                return last
        return None


def _spans(forms: Iterable[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for form in forms for match in _pattern(form).finditer(text)]


@functools.cache
def _pattern(form: str) -> re.Pattern[str]:
    """Match a form as a word of its script: 질의 is not in 성질의, and "bias" not in "biased"."""
    words = r"\s+".join(map(re.escape, form.split()))
    before = (
        r"(?<![A-Za-z0-9_])" if form[0].isascii() else rf"(?<![{_HANGUL}])" if "가" <= form[0] <= "힣" else ""
    )
    after = r"(?![A-Za-z0-9_])" if form[-1].isascii() else ""
    return re.compile(before + words + after, re.IGNORECASE)


def _schema(codes: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a terminology in these languages."""
    schema = load_schema("terms")
    for name, key in (("language", "enum"), ("texts", "required"), ("term", "required")):
        schema["$defs"][name][key] = [*codes]
    return schema


def read_terms(book: Book) -> tuple[Terms, list[Violation]]:
    """Read and check the terminology file.

    Returns:
        The terms, none where something is wrong with the file, and what is wrong.
    """
    terms = Terms()
    if book.terms is None:
        return terms, []
    try:
        document = yaml.safe_load(read_text(book.terms))
        wrong = problems(document, _schema(book.languages))
    except FileNotFoundError:
        wrong = ["no such file"]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        wrong = [f"not valid YAML: {' '.join(str(error).split())}"]
    if not wrong:
        wrong = [
            f"terms: {key}: {entry[code]!r} is to be written and to be avoided"
            for key, entry in document.get("terms", {}).items()
            for code, forms in entry.get("avoid", {}).items()
            if entry[code] in forms
        ]
    if wrong:
        return terms, [Violation(book.relative(book.terms), "", each, "correct it") for each in wrong]
    terms.wording = document.get("wording", {})
    for entry in document.get("terms", {}).values():
        name = entry[book.reference.code]
        for code in book.languages:
            terms.permitted.setdefault(code, []).append(entry[code])
            forms = entry.get("avoid", {}).get(code, [])
            terms.avoid.setdefault(code, {}).update(dict.fromkeys(forms, entry[code]))
            # One character is a word only in its sentence, which a machine does not read.
            if (
                entry.get("gloss", True)
                and entry[code].casefold() != name.casefold()
                and len(entry[code]) > 1
            ):
                terms.gloss.setdefault(code, {})[entry[code]] = name
    return terms, []
