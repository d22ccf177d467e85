from __future__ import annotations

import ast
import re
import string
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

import polyhead
from polyhead import Glossary, checks, get_language, language, sentence, set_language
from polyhead.language import LANGUAGES, terminology, text
from tests.polyhead import (
    test_chapter_cross_attention,
    test_chapter_decoder,
    test_chapter_encoder,
    test_many_heads,
    test_masked_attention,
    test_transpose_exercise,
)
from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.figures import FIGURES

PACKAGE = Path(polyhead.__file__).parent
LABELS, TERMS = terminology()["labels"], terminology()["terms"]
EVERY_LANGUAGE = pytest.mark.parametrize("code", LANGUAGES)


# ---- the chosen language


def test_english_until_another_is_chosen():
    assert get_language() == "en"
    for code in LANGUAGES:
        set_language(code)
        assert get_language() == code


def test_a_wrong_code_leaves_the_language_alone():
    set_language("ko")
    with pytest.raises(ValueError, match="got 'fr'"):
        language.set_language("fr")
    assert get_language() == "ko"


def test_sentence():
    expected = {
        "en": ["Zhonghe", "has", "a", "Yonghe Road"],
        "zh-TW": ["中和", "有", "一個", "永和路"],
        "zh-CN": ["中和", "有", "一个", "永和路"],
    }
    for code, tokens in expected.items():
        set_language(code)
        assert sentence() == tokens
    set_language("ko")
    assert len(sentence()) == 4


# ---- text


def test_text_fills_placeholders():
    assert (
        text("check.shape", expected=(2, 3), actual=(5,))
        == "✗ The output must have shape (2, 3); yours has (5,)."
    )
    for code in LANGUAGES:
        set_language(code)
        filled = text("check.shape", expected=(2, 3), actual=(5,))
        assert "(2, 3)" in filled
        assert "(5,)" in filled


def test_text_takes_values_with_braces_literally():
    assert "{'a': 1}" in text("check.raises", error="KeyError: {'a': 1}")


def test_text_finds_terms_too():
    set_language("zh-TW")
    assert text("row") == "列"
    set_language("zh-CN")
    assert text("row") == "行"


def test_unknown_key_suggests_near_ones():
    with pytest.raises(ValueError, match=r"got 'title\.wieghts'; near it: title\.weights"):
        text("title.wieghts")
    with pytest.raises(ValueError, match=r"got 'qqqqqqqq'$"):
        text("qqqqqqqq")


# ---- terms.yml


@pytest.mark.parametrize("key", [*LABELS, *TERMS])
def test_every_entry_has_every_language(key):
    for entries in (LABELS, TERMS):
        if key in entries:
            for code in LANGUAGES:
                assert isinstance(entries[key][code], str)
                assert entries[key][code] == entries[key][code].strip() != ""


@pytest.mark.parametrize("key", TERMS)
def test_every_term_says_what_it_means_and_nothing_else(key):
    assert set(TERMS[key]) <= {*LANGUAGES, "means", "avoid", "note"}
    assert set(TERMS[key]["means"]) == set(LANGUAGES)
    assert set(TERMS[key].get("avoid", {})) <= set(LANGUAGES)


def test_labels_and_terms_share_no_key():
    assert not set(LABELS) & set(TERMS)
    assert all(set(label) == set(LANGUAGES) for label in LABELS.values())


@pytest.mark.parametrize("key", LABELS)
def test_placeholders_are_the_same_in_every_language(key):
    placeholders = [
        sorted(field for _, field, _, _ in string.Formatter().parse(LABELS[key][code]) if field is not None)
        for code in LANGUAGES
    ]
    assert placeholders.count(placeholders[0]) == len(LANGUAGES)
    assert all(placeholders[0])


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


def test_every_label_is_used(monkeypatch, capsys):
    """Draws every figure, runs every kind of check and shows the glossary, and notes what they ask for."""
    used: set[str] = set()

    class Noting(dict):
        def __getitem__(self, key):
            used.add(key)
            return super().__getitem__(key)

        def get(self, key, default=None):
            used.add(key)
            return super().get(key, default)

    noting = {"labels": Noting(LABELS), "terms": TERMS}
    monkeypatch.setattr(language, "terminology", lambda: noting)
    sentence()
    Glossary()._repr_markdown_()
    for draw in FIGURES.values():
        draw()
    for name in checks._MISTAKES:
        checks.attention(lambda q, k, v, name=name: checks._MISTAKES[name](q @ k.mT, 7) @ v)
    for candidate in (
        lambda q, k, v: None,
        lambda q, k, v: v,
        lambda q, k, v: 1 / 0,
        lambda q, k, v: (q @ k.mT / 7**0.5).softmax(-1) @ v,
        lambda q, k, v: q @ k.mT @ v * 0,
    ):
        checks.attention(candidate)
    for masked in test_masked_attention.WRONG.values():
        checks.masked_attention(masked[1])
    for _, several in test_many_heads.WRONG.values():
        checks.multi_head(several)
    for several in test_transpose_exercise.WRONG.values():
        checks.transpose_qkv(several)
    for candidate, _ in test_chapter_encoder.LAYERS:
        checks.encoder_layer(candidate)
    for candidate, _ in test_chapter_encoder.POSITIONS:
        checks.sinusoidal_positions(candidate)
    for mask in (*test_chapter_decoder.WRONG.values(), *(other[0] for other in test_chapter_decoder.OTHER)):
        checks.cached_mask(mask)
    for cross in test_chapter_cross_attention.WRONG.values():
        checks.cross_attention(cross)
    test_chapter_cross_attention.test_figure_names_both_masks_where_the_target_has_padding()
    chapters = [path.read_text(encoding="utf-8") for path in Path("chapters").glob("en/*.md")]
    assert chapters
    unused = [
        key for key in LABELS if key not in used and not any(f'"{key}"' in chapter for chapter in chapters)
    ]
    assert not unused


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
    monkeypatch.setattr(language, "terminology", lambda: {"terms": {"nasty": entry}, "labels": LABELS})
    cells = table(Glossary()).findall("tbody/tr/*")
    assert ["".join(cell.itertext()) for cell in cells] == [nasty] * 5


# ---- bad input

CODES = "language must be one of en, zh-TW, zh-CN, ko"
BAD = [
    bad("unknown", lambda: set_language("fr"), ValueError, CODES, "'fr'"),
    bad("other spelling", lambda: set_language("zh_TW"), ValueError, CODES, "'zh_TW'"),
    bad("other case", lambda: set_language("EN"), ValueError, CODES, "'EN'"),
    bad("empty", lambda: set_language(""), ValueError, CODES, "''"),
    bad("None", lambda: set_language(None), ValueError, CODES, "None"),
    bad("int", lambda: set_language(0), ValueError, CODES, "0"),
    bad("bool", lambda: set_language(True), ValueError, CODES, "True"),
    bad("list", lambda: set_language(["en"]), ValueError, CODES, "['en']"),
    bad("array", lambda: set_language(np.array(["en", "ko"])), ValueError, CODES, "array(['en', 'ko']"),
    bad("text, unknown", lambda: text("nothing"), ValueError, "key must be one of terms.yml's", "'nothing'"),
    bad("text, None", lambda: text(None), ValueError, "key must be one of terms.yml's", "None"),
    bad("text, int", lambda: text(3), ValueError, "key must be one of terms.yml's", "3"),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)


@pytest.mark.parametrize("call", [get_language, sentence, Glossary], ids=lambda call: call.__name__)
def test_takes_no_argument(call):
    with pytest.raises(TypeError, match=r"1 was given|2 were given|too many positional"):
        call("en")
