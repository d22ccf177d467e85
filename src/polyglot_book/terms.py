"""Reads the terminology: one term per language, and the forms to avoid."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from polyglot_book.chapters import read_text
from polyglot_book.config import Book
from polyglot_book.violations import Violation

_HANGUL = "\uac00-\ud7a3"


@dataclass
class Terms:
    """The terminology of a book.

    Attributes:
        permitted: Every term, by language.
        avoid: By language, each form to avoid and the term to write instead.
    """

    permitted: dict[str, list[str]] = field(default_factory=dict)
    avoid: dict[str, dict[str, str]] = field(default_factory=dict)

    def avoided_in(self, language: str, text: str) -> dict[str, str]:
        """Find the forms to avoid in a text, each with the term to write instead."""
        found = {}
        for form, term in self.avoid.get(language, {}).items():
            spans = [match.span() for match in _pattern(form).finditer(text)]
            allowed = self._permitted_in(language, text) if spans else []
            # Part of a longer term, or a term's end and the next word's beginning: 查詢|問 is not 詢問.
            if any(
                not any(first < start < last or (first == start and stop <= last) for first, last in allowed)
                for start, stop in spans
            ):
                found[form] = term
        return found

    def _permitted_in(self, language: str, text: str) -> list[tuple[int, int]]:
        terms = self.permitted.get(language, [])
        return [match.span() for term in terms for match in _pattern(term).finditer(text)]


@functools.cache
def _pattern(form: str) -> re.Pattern[str]:
    """Match a form as a word of its script: 질의 is not in 성질의, and "bias" not in "biased"."""
    words = r"\s+".join(map(re.escape, form.split()))
    before = (
        r"(?<![A-Za-z0-9_])" if form[0].isascii() else rf"(?<![{_HANGUL}])" if "가" <= form[0] <= "힣" else ""
    )
    after = r"(?![A-Za-z0-9_])" if form[-1].isascii() else ""
    return re.compile(before + words + after, re.IGNORECASE)


def read_terms(book: Book) -> tuple[Terms, list[Violation]]:
    """Read and check the terminology file.

    Returns:
        The terms that can be used, and what is wrong with the file.
    """
    terms = Terms()
    if book.terms is None:
        return terms, []
    where = book.relative(book.terms)
    try:
        document = yaml.safe_load(read_text(book.terms))
    except FileNotFoundError:
        return terms, [
            Violation(where, "", "no such file", "write it, or remove polyglot_terms from _config.yml")
        ]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return terms, [Violation(where, "", f"not valid YAML: {' '.join(str(error).split())}", "mend it")]
    if not isinstance(document, Mapping) or not isinstance(document.get("terms", {}), Mapping):
        return terms, [Violation(where, "", "not a mapping with the key terms", "write terms: {…}")]
    violations = [
        Violation(where, "", f"unknown key {key!r}", "only terms and labels belong here")
        for key in document
        if key not in ("terms", "labels")
    ]
    for section in ("terms", "labels"):
        entries = document.get(section) or {}
        if not isinstance(entries, Mapping):
            violations.append(Violation(where, "", f"{section} is not a mapping", "write key: {en: …}"))
            continue
        for key, entry in entries.items():
            violations += _check_entry(book, where, f"{section}: {key}", entry, section == "terms")
            if section == "terms" and isinstance(entry, Mapping):
                _add(book, terms, entry)
    return terms, violations


def _forms(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    avoid = entry.get("avoid") or {}
    if not isinstance(avoid, Mapping):
        return {}
    return {
        code: [f for f in forms if isinstance(f, str) and f.strip()]
        for code, forms in avoid.items()
        if isinstance(forms, list)
    }


def _add(book: Book, terms: Terms, entry: Mapping[str, Any]) -> None:
    for code in book.languages:
        term = entry.get(code)
        if isinstance(term, str) and term.strip():
            terms.permitted.setdefault(code, []).append(term)
            for form in _forms(entry).get(code, []):
                terms.avoid.setdefault(code, {})[form] = term


def _check_entry(book: Book, where: str, name: str, entry: object, is_term: bool) -> list[Violation]:
    if not isinstance(entry, Mapping):
        return [Violation(where, "", f"{name} is not a mapping", "write one text per language")]
    found = []
    extra = {"avoid", "means", "note"} if is_term else set()
    for key in entry:
        if key not in book.languages and key not in extra:
            found.append(Violation(where, "", f"{name}: unknown key {key!r}", "write a language of the book"))
    for code in book.languages:
        if not isinstance(entry.get(code), str) or not entry[code].strip():
            found.append(Violation(where, "", f"{name}: no text in {code}", "write it"))
    for extra_key in sorted(extra & set(entry)):
        value = entry[extra_key]
        codes = set(value) if isinstance(value, Mapping) else None
        if extra_key == "note" and isinstance(value, str):
            continue
        if codes is None or not codes <= set(book.languages):
            found.append(
                Violation(where, "", f"{name}: {extra_key} is not by language", "write it as {en: …}")
            )
        elif extra_key == "means":
            for code in book.languages:
                if not isinstance(value.get(code), str) or not value[code].strip():
                    found.append(Violation(where, "", f"{name}: means: no text in {code}", "write it"))
        elif extra_key == "avoid":
            well = _forms(entry)
            for code in sorted(codes):
                if code not in well or len(well[code]) != len(value[code]):
                    what = f"{name}: avoid: {code} is not a list of texts"
                    found.append(Violation(where, "", what, "write [form, …]"))
                elif entry.get(code) in well[code]:
                    what = f"{name}: {entry[code]!r} is to be written and to be avoided"
                    found.append(Violation(where, "", what, "decide"))
    return found
