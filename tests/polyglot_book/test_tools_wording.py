from __future__ import annotations

import pytest

from polyglot_book.chapters import parse_chapter
from polyglot_book.markdown import parse_cell
from polyglot_book.wording import check_wording
from tests.polyglot_book.tiny_book import PROSE, TinyBook

SENTENCE = "The query vector asks every key how much attention each value deserves."
ENTRY = (
    "- Vaswani et al. (2017), *Attention is all you need*, Advances in Neural Information Processing Systems"
)


def check(tiny: TinyBook, code: str, text: str, metadata: str = "") -> list[str]:
    """Add a cell to one language; return the problems in it."""
    name = f"chapters/{code}/01-one.md"
    tiny.write(name, tiny.read(name) + f'\n+++ {{"id": "new"{metadata}}}\n\n{text}\n')
    violations = check_wording(tiny.book)
    assert {(each.file, each.cell) for each in violations} <= {(name, "new")}
    return [each.problem for each in violations]


def test_natural_text_passes(tiny: TinyBook) -> None:
    assert check_wording(tiny.book) == []


@pytest.mark.parametrize("code", ["zh-TW", "zh-CN", "ko"])
@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        f"## {SENTENCE}",
        f"- {SENTENCE}",
        f":::{{note}} {SENTENCE}\n:::",
        f"![{SENTENCE}](a.svg)",
        f"```{{figure}} a.svg\n:alt: {SENTENCE}\n```",
        f"| a |\n|---|\n| {SENTENCE} |",
        f"<p>{SENTENCE}</p>",
        f"````{{note}}\n```{{hint}}\n{SENTENCE}\n```\n````",
    ],
)
def test_a_paragraph_left_in_english_is_found(tiny: TinyBook, code: str, text: str) -> None:
    assert check(tiny, code, text) == [
        "not translated: “The query vector asks every key how much attention each valu…”"
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"`{SENTENCE}`",
        f"```\n{SENTENCE}\n```",
        f"```{{code-block}} text\n{SENTENCE}\n```",
        f"```{{math}}\n\\text{{{SENTENCE}}}\n```",
        f'<span lang="en">{SENTENCE}</span>',
        f'<blockquote lang="en">\n\n{SENTENCE}\n\n</blockquote>',
        ENTRY,
        "https://example.org/the/query/vector/asks/every/key/how/much/attention/each/value/deserves",
        "Multi-head attention, MultiHeadAttention, PyTorch",
        f"原文 원문: {SENTENCE}",
    ],
)
def test_what_is_meant_to_be_in_english_is_not(tiny: TinyBook, text: str) -> None:
    assert check(tiny, "ko", text) == []


@pytest.mark.parametrize("text", ["[这个]{lang=zh-CN}", "{lang=zh-CN}\n这个", "{{这个}}"])
def test_syntax_is_what_the_site_understands(tiny: TinyBook, text: str) -> None:
    # With its extensions the site's parser knows these, and without them the page prints them as they are.
    assert check(tiny, "zh-TW", text) == ["Simplified characters 这个"]
    tiny.edit("_config.yml", "[amsmath,", "[attrs_inline, attrs_block, substitution, amsmath,")
    assert "lang" not in str(parse_cell(text, "zh-TW", tiny.book.extensions).prose)
    assert "{" not in str(parse_cell(text, "zh-TW", tiny.book.extensions).prose)


@pytest.mark.parametrize(
    ("code", "old", "new", "what"),
    [
        ("ko", "정사각형", SENTENCE, "not translated: “The query"),
        ("zh-CN", "正方形图", "正方形圖", "Traditional characters 圖"),
    ],
)
def test_alternative_text_is_checked(tiny: TinyBook, code: str, old: str, new: str, what: str) -> None:
    tiny.edit(f"chapters/{code}/01-one.md", f"alt: {old}", f"alt: {new}")
    (violation,) = check_wording(tiny.book)
    assert violation.cell == "draw"
    assert violation.problem.startswith(what)


def test_in_a_language_of_latin_letters_only_the_same_paragraph_is_found(tiny: TinyBook) -> None:
    for name in ("_config.yml", "terms.yml"):
        tiny.write(name, tiny.read(name).replace("ko:", "fr:").replace("locale: ko", "locale: fr"))
    tiny.edit("_config.yml", "한국어", "Français")
    tiny.edit("terms.yml", "    avoid: {zh-TW: [詢問], fr: [질의]}\n    note: {fr: 질의는 쓰지 않는다}\n", "")
    (tiny.root / "chapters/ko").rename(tiny.root / "chapters/fr")
    tiny.edit("chapters/en/01-one.md", "The query asks each key,", SENTENCE)
    requete = "La requête demande à chaque clé combien d'attention porter à chaque valeur."
    tiny.edit("chapters/fr/01-one.md", PROSE["ko"][1], requete)
    assert check_wording(tiny.book) == []
    paragraph = parse_chapter(tiny.read("chapters/en/01-one.md")).by_id["why"].source
    tiny.edit("chapters/fr/01-one.md", requete, paragraph)
    (violation,) = check_wording(tiny.book)
    assert (violation.file, violation.cell) == ("chapters/fr/01-one.md", "why")


@pytest.mark.parametrize(
    ("code", "text", "what"),
    [
        ("zh-TW", "这個矩陣", "Simplified characters 这"),
        ("zh-CN", "这个矩陣", "Traditional characters 陣"),
        ("zh-TW", "見[这裡](#why)", "Simplified characters 这"),
        ("zh-CN", ":::{note} 說明\n文字\n:::", "Traditional characters 說"),
        ("zh-TW", "查詢쿼리與クエリ", "characters of another script 쿼리クエリ"),
    ],
)
def test_the_other_script_is_found(tiny: TinyBook, code: str, text: str, what: str) -> None:
    assert check(tiny, code, text) == [what]


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        ("`这個`", ""),
        ("$\\text{这個}$", ""),
        ("```\n这個\n```", ""),
        ('<span lang="zh-CN">这个</span>', ""),
        ('<div lang="zh-CN">\n\n这个\n\n</div>', ""),
        ('<div lang="zh-CN"><br>这个<img src="a" alt="这个"></div>', ""),
        ("简体中文：查询；쿼리；詢問", ', "script": "any"'),
    ],
)
def test_code_and_words_marked_as_another_language_may_be_in_the_other_script(
    tiny: TinyBook, text: str, metadata: str
) -> None:
    assert check(tiny, "zh-TW", text, metadata) == []


@pytest.mark.parametrize(
    "text",
    ['<span lang="zh-CN">這</span> 这', '<div lang="zh-CN">\n\n这\n\n</div>\n\n这', '<b lang="zh-TW">这</b>'],
)
def test_the_mark_ends_where_its_element_ends(tiny: TinyBook, text: str) -> None:
    assert check(tiny, "zh-TW", text) == ["Simplified characters 这"]


@pytest.mark.parametrize(
    ("code", "text", "what"),
    [
        ("zh-TW", "詢問鍵", ["the wording '詢問' is to be avoided"]),
        ("zh-TW", "詢\n問鍵", ["the wording '詢問' is to be avoided"]),
        ("zh-TW", "**詢**問", ["the wording '詢問' is to be avoided"]),
        ("zh-TW", "查詢問鍵", []),
        ("zh-TW", "`詢問`", []),
        ("ko", "질의를 본다", ["the wording '질의' is to be avoided"]),
        ("ko", "성질의 예", []),
        ("en", "질의", []),
    ],
)
def test_forms_to_avoid_are_found(tiny: TinyBook, code: str, text: str, what: list[str]) -> None:
    assert check(tiny, code, text) == what


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("두 수를 더합니다.", ["the wording '수를' is to be avoided"]),
        ("더할 수 있고, 함수의 개수는 둘입니다.", []),
        ("`두 수를` $수를$", []),
    ],
)
def test_a_pattern_that_a_language_avoids_is_found_in_its_prose(
    tiny: TinyBook, text: str, found: list[str]
) -> None:
    pattern = r"(?<=\\s)수(?:를|는)?(?=[\\s.,])(?!\\s*있)"
    tiny.edit("terms.yml", "labels:", f'wording: {{ko: {{"{pattern}": 값}}}}\nlabels:')
    assert check(tiny, "ko", text) == found


def glossed(tiny: TinyBook, text: str) -> list[str]:
    """Give the cells of a chapter, with this one before the others, that use a term without its name."""
    name = "chapters/ko/01-one.md"
    cell = f'+++ {{"id": "new"}}\n\n{text}\n\n+++ {{"id": "title"'
    tiny.edit(name, "description: tiny\n", "description: tiny\nneeds: []\n")
    tiny.edit(name, '+++ {"id": "title"', cell)
    return [each.cell for each in check_wording(tiny.book) if "the first use of" in each.problem]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("쿼리(query)는 묻습니다.", []),
        ("**쿼리**(query, 질문)", []),
        ("쿼리（Query）", []),
        ("쿼리는 묻습니다. 쿼리(query)", ["new"]),
        ("쿼리(key)", ["new"]),
        ("## 쿼리\n\n쿼리(query)", []),
        (":::{note} 쿼리\n쿼리(query)\n:::", []),
        ("`쿼리`", ["why"]),
        ("묻는 벡터", ["why"]),
    ],
)
def test_a_term_has_its_english_name_where_a_chapter_first_uses_it(
    tiny: TinyBook, text: str, cells: list[str]
) -> None:
    assert glossed(tiny, text) == cells


def test_a_term_of_everyday_words_and_part_of_a_longer_one_needs_no_name(tiny: TinyBook) -> None:
    tiny.edit(
        "terms.yml",
        "labels:",
        "  long: {en: query matrix, zh-TW: 查詢矩陣, zh-CN: 查询矩阵, ko: 쿼리 행렬}\nlabels:",
    )
    assert glossed(tiny, "쿼리 행렬(query matrix)") == ["why"]
    tiny.edit("terms.yml", "    ko: 쿼리\n", "    ko: 쿼리\n    gloss: false\n")
    assert [each for each in check_wording(tiny.book) if "the first use of" in each.problem] == []


def test_all_that_is_wrong_with_words(tiny: TinyBook) -> None:
    english = "one two three four five six seven eight"
    tiny.edit(
        "chapters/zh-TW/01-one.md", "查詢問每個鍵", f"查询쿼리詢問\n\n{english}\n\n{english[:-6]}\n\n查詢"
    )
    for code in ("zh-TW", "ko"):
        tiny.edit(f"chapters/{code}/01-one.md", "html_meta:", "needs: []\nhtml_meta:")
    quote = 'translate it, or mark a quotation as <span lang="en">…</span>'
    script = "replace them, or mark the words with the lang that they are in"
    assert [str(each).removeprefix("chapters/") for each in check_wording(tiny.book)] == [
        f"zh-TW/01-one.md#why: Simplified characters 询; {script}",
        f"zh-TW/01-one.md#why: characters of another script 쿼리; {script}",
        "zh-TW/01-one.md#why: the wording '詢問' is to be avoided; write '查詢'",
        f"zh-TW/01-one.md#why: not translated: “{english}…”; {quote}",
        "zh-TW/01-one.md#why: the first use of 查詢, without its name; write 查詢（query）",
        "ko/01-one.md#why: the first use of 쿼리, without its name; write 쿼리（query）",
    ]
