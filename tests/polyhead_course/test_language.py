"""The chosen language, the words of `terms.yml`, and the glossary."""

from __future__ import annotations

import ast
import re
import string
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import polyhead_course
from polyglot_book.config import Book
from polyhead_course.words import Glossary, get_language, language, sentence, set_language
from polyhead_course.words.language import LANGUAGES, terminology, text

PACKAGE = Path(polyhead_course.__file__).parent
LABELS, TERMS = terminology()["labels"], terminology()["terms"]
EVERY_LANGUAGE = pytest.mark.parametrize("code", LANGUAGES)


# ---- the chosen language


def test_english_until_another_is_chosen():
    assert get_language() == "en"
    for code in LANGUAGES:
        set_language(code)
        assert get_language() == code


@pytest.mark.parametrize(
    ("code", "error"),
    [("xx", ValueError), ("zh_TW", ValueError), ("EN", ValueError), ("", ValueError), (7, TypeError)],
)
def test_another_code_is_refused_and_leaves_the_language_alone(code, error):
    set_language("ko")
    with pytest.raises(error, match=r"code must be (one of 'en', 'zh-TW'|a str).*got") as caught:
        set_language(code)
    assert repr(code) in str(caught.value)
    assert get_language() == "ko"


def test_what_a_partial_language_lacks_is_english(monkeypatch, tmp_path):
    some = {"language.xx": {"en": "X"}, "point.value": {"en": "value", "xx": "ξ"}}
    begun = {"terms": TERMS, "labels": {**LABELS, **some}}
    monkeypatch.setattr(language, "_read_terms", lambda: begun)
    monkeypatch.setenv("POLYGLOT_TERMS", str(tmp_path / "read"))
    language._record.cache_clear()
    set_language("xx")
    assert [text("point.value"), text("key")] == ["ξ", "key"]
    entries = ["labels/point.value/xx", "labels/key/xx", "terms/key/xx", "terms/key/en"]
    assert (tmp_path / "read").read_text(encoding="utf-8").split() == entries
    head, _, first = (line.split(" | ") for line in Glossary()._repr_markdown_().splitlines()[:3])
    assert (head[0], first[0]) == ("| X", "| **activation function**")
    assert len(first) == 2 + len(LANGUAGES)
    monkeypatch.delenv("POLYGLOT_TERMS")
    language._record.cache_clear()


def test_sentence():
    expected = {
        "en": ["Zhonghe", "has", "a", "Yonghe Road"],
        "zh-TW": ["中和", "有", "一條", "永和路"],
        "zh-CN": ["中和", "有", "一条", "永和路"],
    }
    for code, tokens in expected.items():
        set_language(code)
        assert sentence() == tokens
    set_language("ko")
    assert len(sentence()) == 4


# ---- text


@EVERY_LANGUAGE
def test_text_fills_placeholders(code):
    set_language(code)
    filled = text("check.shape", expected=(2, 3), actual=(5,))
    assert filled == LABELS["check.shape"][code].replace("{expected}", "(2, 3)").replace("{actual}", "(5,)")


def test_text_takes_values_with_braces_literally():
    assert "{'a': 1}" in text("check.raises", error="KeyError: {'a': 1}")


def test_text_finds_terms_too():
    set_language("zh-TW")
    assert text("row") == "列"
    set_language("zh-CN")
    assert text("row") == "行"


@pytest.mark.parametrize(("key", "near"), [("title.wieghts", "title.weights"), ("qqqqqqqq", "")])
def test_an_unknown_key_is_refused_and_near_ones_named(key, near):
    with pytest.raises(ValueError, match=f"key .*got {key!r}.*{near}"):
        text(key)


# ---- terms.yml


def test_every_entry_has_every_language_and_nothing_else():
    assert not set(LABELS) & set(TERMS)
    book = Book.load(".").languages
    assert [code for code, each in book.items() if not each.partial] == LANGUAGES
    for label in LABELS.values():
        assert set(LANGUAGES) <= set(label) <= set(book)
    for term in TERMS.values():
        assert {*LANGUAGES, "means"} <= set(term) <= {*book, "means", "avoid", "note", "gloss"}
        assert set(LANGUAGES) <= set(term["means"]) <= set(book) >= set(term.get("avoid", {}))
    separators = {"clinic.comma", "clinic.space"}  # which end in a blank, or are empty in Chinese
    for name, entry in {**LABELS, **TERMS}.items():
        for code in LANGUAGES if name not in separators else ():
            assert isinstance(entry[code], str)
            assert entry[code] == entry[code].strip() != ""


def test_placeholders_are_the_same_in_every_language():
    for label in LABELS.values():
        fields = [
            sorted(field for _, field, _, _ in string.Formatter().parse(label[code]) if field is not None)
            for code in LANGUAGES
        ]
        assert fields == [fields[0]] * len(LANGUAGES)
        assert all(fields[0])


@EVERY_LANGUAGE
def test_the_package_uses_no_form_that_it_tells_others_to_avoid(code):
    avoided = {form for term in TERMS.values() for form in term.get("avoid", {}).get(code, [])}
    own = [entry[code] for entry in (*LABELS.values(), *TERMS.values())]
    own += [term["means"][code] for term in TERMS.values()]
    wrong = [(form, phrase) for form in sorted(avoided) for phrase in own if form in phrase]
    assert not wrong


@EVERY_LANGUAGE
def test_each_language_is_written_in_its_own_letters(code):
    hangul, hanzi = "ㄱ-ㆎ가-힣", "一-鿿"
    foreign = {
        "en": f"[{hangul}{hanzi}]",
        "zh-TW": f"[{hangul}个头词权码组测对应为这书]",
        "zh-CN": f"[{hangul}個頭詞權碼組測對應為這裡書]",
        "ko": f"[{hanzi}]",
    }
    phrases = [entry[code] for entry in (*LABELS.values(), *TERMS.values())]
    phrases += [term["means"][code] for term in TERMS.values()]
    assert not [phrase for phrase in phrases if re.search(foreign[code], phrase)]


def asked_for(path: Path) -> list[str]:
    """The keys of `text(…)` calls, as patterns: what an f-string fills in can be any word."""
    patterns = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "text"):
            continue
        key = node.args[0]
        if isinstance(key, ast.Constant):
            patterns.append(re.escape(str(key.value)))
        elif isinstance(key, ast.JoinedStr):
            parts = [
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in key.values
            ]
            patterns.append("".join(parts))
    return patterns


def test_the_code_asks_for_no_key_that_is_not_there():
    asked = [(path.name, pattern) for path in PACKAGE.rglob("*.py") for pattern in asked_for(path)]
    assert len(asked) > 10
    missing = [
        (name, key) for name, key in asked if not any(re.fullmatch(key, known) for known in (*LABELS, *TERMS))
    ]
    assert not missing


# ---- the glossary


def table(glossary: Glossary) -> ET.Element:
    """Rendered, then parsed as XML, which forgives nothing."""
    return ET.fromstring(MarkdownIt("commonmark").enable("table").render(glossary._repr_markdown_()))


@EVERY_LANGUAGE
def test_glossary_is_a_table_of_every_term(code):
    set_language(code)
    root = table(Glossary())
    others = [other for other in LANGUAGES if other != code]
    keys = [f"language.{code}", "meaning", *(f"language.{other}" for other in others)]
    assert [heading.text for heading in root.findall("thead/tr/th")] == [LABELS[key][code] for key in keys]
    rows = root.findall("tbody/tr")
    assert len(rows) == len(TERMS)
    by_term = {term[code]: term for term in TERMS.values()}
    for row in rows:
        own, meaning, *cells = row
        term = by_term[own[0].text]
        assert own[0].tag == "strong"
        assert "".join(meaning.itertext()) == term["means"][code].replace("`", "")
        assert [(cell[0].get("lang"), cell[0].text) for cell in cells] == [
            (other, term[other]) for other in others
        ]


@EVERY_LANGUAGE
def test_glossary_in_a_terminal(code):
    set_language(code)
    lines = repr(Glossary()).splitlines()
    assert len(lines) == len(TERMS)
    assert all(line.count(" | ") == 3 for line in lines)
    assert lines[0].split(" | ")[0] in {term[code] for term in TERMS.values()}


def test_glossary_has_the_order_of_the_english_terms():
    english = [term["en"] for term in Glossary().rows]
    assert english == sorted(english, key=str.casefold)
    set_language("ko")
    assert [term["en"] for term in Glossary().rows] == english


def test_glossary_keeps_the_language_it_was_made_in():
    set_language("zh-TW")
    glossary = Glossary()
    before = glossary._repr_markdown_(), repr(glossary)
    set_language("ko")
    assert (glossary._repr_markdown_(), repr(glossary)) == before


def test_glossary_escapes(monkeypatch):
    nasty = "<b>\"Q\" & 'K' | V</b>"
    entry = {**dict.fromkeys(LANGUAGES, nasty), "means": dict.fromkeys(LANGUAGES, nasty)}
    monkeypatch.setattr(language, "_read_terms", lambda: {"terms": {"nasty": entry}, "labels": LABELS})
    cells = table(Glossary()).findall("tbody/tr/*")
    assert ["".join(cell.itertext()) for cell in cells] == [nasty] * 5
