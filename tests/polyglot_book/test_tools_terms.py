from __future__ import annotations

import pytest

from polyglot_book.terms import Terms, read_terms
from tests.polyglot_book.tiny_book import TinyBook


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("    ko: 쿼리\n", "", "terms: query: no text in ko"),
        ("    ko: 쿼리\n", "    ko: ''\n", "terms: query: no text in ko"),
        ("    ko: 쿼리\n", "    ko: 쿼리\n    ja: クエリ\n", "terms: query: unknown key 'ja'"),
        ("ko: [질의]", "ko: [쿼리]", "terms: query: '쿼리' is to be written and to be avoided"),
        ("ko: [질의]", "ko: 질의", "terms: query: avoid: ko is not a list of texts"),
        ("ko: [질의]", "ja: [질의]", "terms: query: avoid is not by language"),
        ("note: {ko: 질의는", "note: {ja: 질의는", "terms: query: note is not by language"),
        ("note: {ko: 질의는 쓰지 않는다}", "means: {en: a, ko: b, zh-TW: c}", "terms: query: means: no"),
        (", ko: 위치}", "}", "labels: position: no text in ko"),
        ("zh-TW: 位置", "zh-TW: 位置, avoid: {}", "labels: position: unknown key 'avoid'"),
        ("labels:", "lables:", "unknown key 'lables'"),
        ("labels:", "wording: {ko: [수]}\nlabels:", "wording: ko: "),
        ("labels:", "wording: {ko: {'(수': 값}}\nlabels:", "wording: ko: "),
        ("    ko: 쿼리\n", "    ko: 쿼리\n    gloss: perhaps\n", "terms: query: gloss is not by language"),
        ("  query:\n", "  query: 5\n  other:\n", "terms: query is not a mapping"),
        ("labels:\n", "labels: [\n", "not valid YAML"),
        ("  position:", "  a/b:", "labels: a/b: a key with a slash"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_file_is_named(tiny: TinyBook, old: str, new: str, what: str) -> None:
    assert read_terms(tiny.book)[1] == []
    tiny.edit("terms.yml", old, new)
    violations = [each for each in read_terms(tiny.book)[1] if each.what.startswith(what)]
    assert [each.where for each in violations] == ["terms.yml"], read_terms(tiny.book)[1]


def test_a_missing_file_is_a_violation_and_no_file_is_none(tiny: TinyBook) -> None:
    (tiny.root / "terms.yml").unlink()
    assert [each.what for each in read_terms(tiny.book)[1]] == ["no such file"]
    tiny.edit("_config.yml", "    polyglot_terms: terms.yml\n", "")
    assert read_terms(tiny.book)[1] == []


@pytest.mark.parametrize(
    ("form", "text", "found"),
    [
        ("注意", "注意力很重要", False),
        ("注意", "请注意这里", True),
        ("注意", "注意力与注意", True),
        ("自我注意力", "自我注意力", True),
        ("head", "the heads", False),
        ("head", "a Head is", True),
        ("head", "multi-head attention", False),
        ("two words", "two\nwords", True),
        ("주의", "자기 주의를", True),
        ("q벡터", "새 q벡터", True),
        ("q벡터", "faq벡터", False),
    ],
)
def test_a_form_inside_a_term_is_no_alarm(form: str, text: str, found: bool) -> None:
    terms = Terms({"x": ["注意力", "multi-head attention"]}, {"x": {form: "…"}})
    assert bool(terms.avoided_in("x", text)) is found
