"""Reads the terminology, checks the words of translations: English text, script, forms to avoid, names."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unicodedata import combining, normalize

import opencc
import yaml

from polyglot_book.chapters import Cell, Chapter
from polyglot_book.config import Book, Language, load_schema, named, problems
from polyglot_book.markdown import Prose, parse_cell
from polyglot_book.translations import finished_cells
from polyglot_book.violations import Violation

_LATIN_WORD = re.compile(r"[A-Za-z]{3,}")
# A letter that is neither Latin nor Greek, which formulas and code bring into any text.
_OTHER_LETTER = re.compile(r"[^\W\d_A-Za-z\u00c0-\u024f\u0370-\u03ff]")
_NOT_CHINESE = re.compile(r"[\u3040-\u30ff\uac00-\ud7a3]")
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")
_BIBLIOGRAPHY_WORDS = re.compile(r"et al|arXiv|\bdoi\b", re.IGNORECASE)
# A title or a name may stay as it is; a sentence may not.
_MANY_WORDS = 8
# The frequent characters of Taiwan: OpenCC alone would also change 台 in 台灣 or 面 in 平面.
_BIG5_COMMON = range(0xA440, 0xC67F)
# In use on both sides: the words around them decide.
_BY_WORDS = set("后里于么并")
_TRADITIONAL_IN_GB2312 = set("後於徵麽乾")
# Rare, and right on both sides in a name or a word: 涂先生, 公厘, 昇腾.
_EITHER = set("涂厘熏庄昇瞭")
_HANGUL = "\uac00-\ud7a3"
Findings = Iterator[tuple[str, str]]  # problems and remedies


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
            if _uses(form, self.permitted.get(language, []), text):
                found[form] = term
        for pattern, advice in self.wording.get(language, {}).items():
            if match := re.search(pattern, text):
                found[match.group()] = advice
        return found


def _uses(form: str, terms: list[str], text: str) -> list[int]:
    """Return the ends of a form's uses other than in terms; 查詢|問, a term and a word, is no use of 詢問."""
    spans = _spans([form], text)
    covered = _spans(terms, text) if spans else []
    return [
        end
        for begin, end in spans
        if not any(start < begin < stop or (start == begin and end <= stop) for start, stop in covered)
    ]


def _spans(forms: Iterable[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for form in forms for match in _pattern(form).finditer(text)]


@functools.cache
def _pattern(form: str) -> re.Pattern[str]:
    """Match a form as a word of its script: 질의 is not in 성질의, and "bias" not in "biased"."""
    words = r"\s+".join(map(re.escape, form.split()))
    before = rf"(?<![{_HANGUL}])" if "가" <= form[0] <= "힣" else ""
    before = r"(?<![A-Za-z0-9_])" if form[0].isascii() else before
    after = r"(?![A-Za-z0-9_])" if form[-1].isascii() else ""
    return re.compile(before + words + after, re.IGNORECASE)


def _schema(book: Book) -> dict[str, Any]:
    """Return the schema of a terminology in the book's languages."""
    schema = load_schema("terms")
    complete = [code for code, language in book.languages.items() if not language.partial]
    for name, key in (("language", "enum"), ("texts", "required"), ("term", "required")):
        schema["$defs"][name][key] = complete if key == "required" else [*book.languages]
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
        document = named(yaml.safe_load(book.terms.read_text(encoding="utf-8")))
        wrong = problems(document, _schema(book))
    except FileNotFoundError:
        wrong = ["no such file"]
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        wrong = [f"not valid YAML: {' '.join(str(error).split())}"]
    if not wrong:
        wrong = [
            f"terms: {key}: {entry[code]!r} is to be written and to be avoided"
            for key, entry in document.get("terms", {}).items()
            for code, forms in entry.get("avoid", {}).items()
            if entry.get(code) in forms
        ]
    if wrong:
        return terms, [Violation(book.relative(book.terms), "", each, "correct it") for each in wrong]
    terms.wording = document.get("wording", {})
    for entry in document.get("terms", {}).values():
        name = entry[book.reference.code]
        for code in book.languages.keys() & entry:
            terms.permitted.setdefault(code, []).append(entry[code])
            forms = entry.get("avoid", {}).get(code, [])
            terms.avoid.setdefault(code, {}).update(dict.fromkeys(forms, entry[code]))
            # One character is a word only in its sentence, which a machine does not read.
            glossed = entry.get("gloss", True) and len(entry[code]) > 1
            if glossed and _letters(entry[code]) != _letters(name):
                terms.gloss.setdefault(code, {})[entry[code]] = name
    return terms, []


def _letters(word: str) -> str:
    """Return a word without accents and capitals: température needs no English name."""
    return "".join(char for char in normalize("NFKD", word.casefold()) if not combining(char))


def check_wording(book: Book) -> list[Violation]:
    """Check the prose and the alternative texts of every chapter, and the terminology file itself."""
    terms, violations = read_terms(book)
    texts: dict[tuple[str, Chapter], dict[str, str]] = {}
    for code, chapter, cell, other in finished_cells(book):
        prose = _prose(cell, code, book)
        if cell.metadata.get("script") != "any":
            findings = [*_script(code, prose), *_avoided(code, prose, terms)]
            if code != book.reference.code:
                original = _prose(other, book.reference.code, book) if other else []
                findings += _untranslated(book.languages[code], prose, original)
            violations += [Violation(chapter.file, cell.id, *finding) for finding in findings]
        if "needs" in chapter.metadata and cell.kind == "markdown":
            words = "\n\n".join(each.text for each in prose if not each.heading)
            texts.setdefault((code, chapter), {})[cell.id] = words
    for (code, chapter), cells in texts.items():
        violations += [Violation(chapter.file, *finding) for finding in _unglossed(code, cells, terms)]
    return violations


def _prose(cell: Cell, language: str, book: Book) -> list[Prose]:
    """Return the words of a cell that readers read."""
    if cell.kind == "code":
        return [Prose(cell.alt)] if cell.alt else []
    return parse_cell(cell.source, language, book.extensions).prose


def _untranslated(language: Language, prose: list[Prose], original: list[Prose]) -> Findings:
    # A language that is written in Latin letters too is like English but for equal paragraphs.
    latin, same = _LATIN_WORD.search(language.name), {each.text for each in original}
    for each in prose:
        foreign = each.text in same if latin else not _OTHER_LETTER.search(each.text)
        source = each.has_link_or_emphasis or _BIBLIOGRAPHY_WORDS.search(each.text)
        source = source and _YEAR.search(each.text)
        if foreign and not source and len(_LATIN_WORD.findall(each.text)) >= _MANY_WORDS:
            start = " ".join(each.text.split())[:60]
            remedy = 'translate it, or mark a quotation as <span lang="en">…</span>'
            yield f"not translated: “{start}…”", remedy


def _script(code: str, prose: list[Prose]) -> Findings:
    script = script_of(code)
    find, name = (simplified_in, "Simplified") if script == "Hant" else (traditional_in, "Traditional")
    searches: dict[str, Callable[[str], list[str]]]
    searches = {f"{name} characters": find, "characters of another script": _NOT_CHINESE.findall}
    for problem, search in searches.items() if script else ():
        if characters := dict.fromkeys(char for each in prose for char in search(each.text)):
            remedy = "replace them, or mark the words with the lang that they are in"
            yield f"{problem} {''.join(characters)}", remedy


def _avoided(code: str, prose: list[Prose], terms: Terms) -> Findings:
    # A line break between two Han characters is no space for readers.
    text = "\n\n".join(re.sub(r"(?<=[\u3400-\u9fff])\n(?=[\u3400-\u9fff])", "", each.text) for each in prose)
    for form, term in terms.avoided_in(code, text).items():
        yield f"the wording {form!r} is to be avoided", f"write {term!r}"


def _unglossed(code: str, texts: dict[str, str], terms: Terms) -> Iterator[tuple[str, str, str]]:
    """Find the terms whose first use in a chapter, headings and figures aside, lacks the English name."""
    for term, name in terms.gloss.get(code, {}).items():
        longer = [each for each in terms.permitted.get(code, []) if term in each and each != term]
        for cell_id, text in texts.items():
            if not (ends := _uses(term, longer, text)):
                continue
            if not re.match(rf"\s?[（(][^（）()]*{re.escape(name)}", text[ends[0] :], re.IGNORECASE):
                yield cell_id, f"the first use of {term}, without its name", f"write {term}（{name}）"
            break


_converter = functools.cache(opencc.OpenCC)


def _convert(name: str, text: str) -> str:
    """Convert a text, unless its length changes."""
    converted = str(_converter(name).convert(text))
    return converted if len(converted) == len(text) else text


def _number(char: str, encoding: str) -> int:
    """Return a character's number in an encoding, 0 if it has none."""
    return int.from_bytes(char.encode(encoding, "ignore"), "big")


def simplified_in(text: str) -> list[str]:
    """Find the characters that Traditional Chinese text must not have, in order and without repeats.

    >>> simplified_in("这個矩阵")
    ['这', '阵']
    """
    simplified = _convert("t2s", text)
    characters = [
        char
        for char, same, traditional in zip(text, simplified, _convert("s2t", simplified), strict=True)
        if char == same != traditional and (char in _BY_WORDS or _number(char, "big5") not in _BIG5_COMMON)
    ]
    return [char for char in dict.fromkeys(characters) if char not in _EITHER]


def traditional_in(text: str) -> list[str]:
    """Find the characters that Simplified Chinese text must not have, in order and without repeats.

    >>> traditional_in("这個矩阵")
    ['個']
    """
    characters = [
        char
        for char, simplified in zip(text, _convert("t2s", text), strict=True)
        if char != simplified and (char in _TRADITIONAL_IN_GB2312 or not _number(char, "gb2312"))
    ]
    return [char for char in dict.fromkeys(characters) if char not in _EITHER]


def script_of(code: str) -> str:
    """Return the Chinese script of a language: "Hant", "Hans", or "" for another language.

    >>> script_of("zh-TW"), script_of("zh-CN"), script_of("ko")
    ('Hant', 'Hans', '')
    """
    parts = code.split("-")
    if parts[0] != "zh":
        return ""
    return "Hant" if {"Hant", "TW", "HK", "MO"}.intersection(parts) and "Hans" not in parts else "Hans"
