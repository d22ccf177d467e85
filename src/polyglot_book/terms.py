"""Reads the terminology: one term per language, and the forms to avoid."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

import yaml

from polyglot_book.config import Book
from polyglot_book.files import read_text
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
        for pattern, advice in self.wording.get(language, {}).items():
            if match := re.search(pattern, text):
                found[match.group()] = advice
        return found

    def first_use(self, language: str, term: str, text: str) -> int | None:
        """Find where a text first uses a term, and not a longer one that it is a part of."""
        longer = [each for each in self.permitted.get(language, []) if term in each and each != term]
        covered = [match.span() for each in longer for match in _pattern(each).finditer(text)]
        for match in _pattern(term).finditer(text):
            if not any(start <= match.start() < stop for start, stop in covered):
                return match.end()
        return None

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
        return terms, [Violation(where, "", "no such file", "write it, or drop polyglot_terms")]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return terms, [Violation(where, "", f"not valid YAML: {' '.join(str(error).split())}", "mend it")]
    if not isinstance(document, Mapping) or not isinstance(document.get("terms", {}), Mapping):
        return terms, [Violation(where, "", "not a mapping with the key terms", "write terms: {…}")]
    violations = [
        Violation(where, "", f"unknown key {key!r}", "only terms, labels and wording belong here")
        for key in document.keys() - {"terms", "labels", "wording"}
    ]
    for code, patterns in (document.get("wording") or {}).items():
        try:
            terms.wording[code] = {pattern: str(advice) for pattern, advice in patterns.items()}
            [re.compile(pattern) for pattern in patterns]
        except (AttributeError, TypeError, re.error) as error:
            violations.append(Violation(where, "", f"wording: {code}: {error}", "write {pattern: advice}"))
    for section, others in (("terms", {"avoid", "means", "note", "gloss"}), ("labels", set[str]())):
        entries = document.get(section) or {}
        if not isinstance(entries, Mapping):
            violations.append(Violation(where, "", f"{section} is not a mapping", "write key: {en: …}"))
            continue
        for key, entry in entries.items():
            problems = list(_problems(entry, book.languages.keys(), others))
            if "/" in str(key):  # it separates the keys in what a run of a notebook read
                problems.append((": a key with a slash", "rename it"))
            violations += [Violation(where, "", f"{section}: {key}{what}", do) for what, do in problems]
            if section == "terms" and not problems:
                for code in book.languages:
                    terms.permitted.setdefault(code, []).append(entry[code])
                    forms = entry.get("avoid", {}).get(code, [])
                    terms.avoid.setdefault(code, {}).update(dict.fromkeys(forms, entry[code]))
                    foreign = entry[code].casefold() != entry[book.reference.code].casefold()
                    # One character is a word only in its sentence, which a machine does not read.
                    if entry.get("gloss", True) and foreign and len(entry[code]) > 1:
                        terms.gloss.setdefault(code, {})[entry[code]] = entry[book.reference.code]
    return terms, violations


def _problems(entry: object, codes: Set[str], others: Set[str]) -> Iterator[tuple[str, str]]:
    """Say what is wrong with an entry, and what to do."""
    if not isinstance(entry, Mapping):
        yield " is not a mapping", "write one text per language"
        return
    for key in sorted(map(str, entry.keys() - codes - others)):
        yield f": unknown key {key!r}", "write a language of the book"
    yield from _missing(entry, codes, "")
    for key in sorted(others & entry.keys()):
        value = entry[key]
        if (key == "note" and isinstance(value, str)) or (key == "gloss" and isinstance(value, bool)):
            continue
        if not isinstance(value, Mapping) or not value.keys() <= codes:
            yield f": {key} is not by language", "write it as {en: …}"
        elif key == "means":
            yield from _missing(value, codes, "means: ")
        elif key == "avoid":
            for code, forms in value.items():
                if not isinstance(forms, list) or not all(map(_is_text, forms)):
                    yield f": avoid: {code} is not a list of texts", "write [form, …]"
                elif entry.get(code) in forms:
                    yield f": {entry[code]!r} is to be written and to be avoided", "decide"


def _missing(texts: Mapping[str, object], codes: Set[str], name: str) -> Iterator[tuple[str, str]]:
    for code in codes:
        if not _is_text(texts.get(code)):
            yield f": {name}no text in {code}", "write it"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
