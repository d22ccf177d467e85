from __future__ import annotations

import pytest

from polyglot_book.wording import Terms, read_terms
from tests.polyglot_book.tiny_book import TinyBook


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("    ko: 쿼리\n", "", "terms: query: 'ko' is a required property"),
        ("    ko: 쿼리\n", "    ko: ''\n", "terms: query: ko: expected text in quotes, got ''"),
        ("    ko: 쿼리\n", "    ko: 쿼리\n    ja: クエリ\n", "terms: query: expected a language of"),
        ("ko: [질의]", "ko: [쿼리]", "terms: query: '쿼리' is to be written and to be avoided"),
        ("ko: [질의]", "ko: 질의", "terms: query: avoid: ko: '질의' is not of type 'array'"),
        ("ko: [질의]", "ja: [질의]", "terms: query: avoid: expected a language of the book, got 'ja'"),
        ("note: {ko: 질의는", "note: {ja: 질의는", "terms: query: note: expected a text, or"),
        ("note: {ko: 질의는 쓰지 않는다}", "means: {en: a, ko: b, zh-TW: c}", "terms: query: means: 'zh-CN'"),
        (", ko: 위치}", "}", "labels: position: 'ko' is a required property"),
        ("zh-TW: 位置", "zh-TW: 位置, avoid: {}", "labels: position: expected a language of"),
        ("labels:", "lables:", "Additional properties are not allowed ('lables'"),
        ("labels:", "wording: {ko: [수]}\nlabels:", "wording: ko: ['수'] is not of type 'object'"),
        ("labels:", "wording: {ko: {'(수': 값}}\nlabels:", "wording: ko: expected a regular expression"),
        ("    ko: 쿼리\n", "    ko: 쿼리\n    gloss: perhaps\n", "terms: query: gloss: 'perhaps' is not"),
        ("  query:\n", "  query: 5\n  other:\n", "terms: query: 5 is not of type 'object'"),
        ("labels:\n", "labels: [\n", "not valid YAML"),
        ("  position:", "  a/b:", "labels: expected a key without a slash, got 'a/b'"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_file_is_named(tiny: TinyBook, old: str, new: str, what: str) -> None:
    assert read_terms(tiny.book)[1] == []
    tiny.edit("terms.yml", old, new)
    (first, *_) = [str(each) for each in read_terms(tiny.book)[1] if each.problem.startswith(what)]
    assert first.startswith("terms.yml: ")


def test_a_missing_file_is_a_violation_and_no_file_is_none(tiny: TinyBook) -> None:
    (tiny.root / "terms.yml").unlink()
    assert [each.problem for each in read_terms(tiny.book)[1]] == ["no such file"]
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


def test_a_partial_language_may_lack_words_and_still_has_only_those_of_the_book(tiny: TinyBook) -> None:
    tiny.edit("_config.yml", "title: 작은 책}", "title: 작은 책, partial: true}")
    tiny.edit("terms.yml", "    ko: 쿼리\n", "")
    tiny.edit("terms.yml", ", ko: 위치}", "}")
    terms, wrong = read_terms(tiny.book)
    assert (wrong, terms.permitted) == ([], {"en": ["query"], "zh-TW": ["查詢"], "zh-CN": ["查询"]})
    assert terms.gloss == {"zh-TW": {"查詢": "query"}, "zh-CN": {"查询": "query"}}
    assert terms.avoid == {"en": {}, "zh-TW": {"詢問": "查詢"}, "zh-CN": {}}
    tiny.edit("terms.yml", "    zh-CN: 查询\n", "")
    assert [str(each) for each in read_terms(tiny.book)[1]] == [
        "terms.yml: terms: query: 'zh-CN' is a required property; correct it"
    ]
