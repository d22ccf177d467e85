"""The body of a page: marks that change nothing go, and what belongs together stays together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyglot_book.config import Language
from polyhead_course.theme.markup import simplify
from sphinx_polyglot.strings import in_language

MATH = '<math alttext="x"><mi>x</mi></math>'
BLOCK = MATH.replace("<math", '<math display="block"')
KOREAN = Language("ko", "ko", "한국어", "책")
CHINESE = Language("zh-TW", "zh_TW", "繁體中文", "書")


@pytest.fixture(autouse=True)
def language() -> Iterator[None]:
    with in_language(KOREAN):
        yield


def test_names_and_punctuation_of_code_have_no_mark_of_their_own() -> None:
    code = '<pre><span></span><span class="n">a</span><span class="o">=</span><span class="p">(</span></pre>'
    assert simplify(code) == '<pre>a<span class="o">=</span>(</pre>'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{MATH} 는", f"{MATH} 는"),
        (f"a {MATH}.", f'a <span class="polyglot-together">{MATH}.</span>'),
        (f"（{MATH}）。對", f'<span class="polyglot-together">（{MATH}）。</span>對'),
        (f"{MATH}개가", f'<span class="polyglot-together">{MATH}개가</span>'),
        (BLOCK + ".", BLOCK + "."),
        (f"{MATH}, {MATH}", f'<span class="polyglot-together">{MATH},</span> {MATH}'),
    ],
)
def test_no_line_ends_between_a_formula_and_what_belongs_to_it(text: str, kept: str) -> None:
    assert simplify(f"<p>{text}</p>") == f"<p>{kept}</p>"


def test_a_korean_word_is_not_broken_after_a_closing_mark() -> None:
    joined = "(mask)\N{WORD JOINER}는"
    assert simplify("<p>(mask)는</p>") == f"<p>{joined}</p>"


def test_an_apostrophe_is_narrow_in_chinese() -> None:
    assert "Let’s" in simplify("<p>Let’s ‘a’</p>")
    with in_language(CHINESE):
        assert simplify("<p>Let’s ‘a’</p>") == "<p>Let's ‘a’</p>"


def test_input_and_output_of_a_cell_have_names() -> None:
    kinds = ("input", "output")
    cell = "".join(f'<div class="cell_{kind} docutils container"></div>' for kind in kinds)
    assert simplify(cell) == (
        '<div class="cell_input" role="group" aria-label="코드"></div>'
        '<div class="cell_output" role="group" aria-label="출력"></div>'
    )


def test_verdicts_wrap_and_tables_do_not() -> None:
    def output(text: str) -> str:
        kind = "output stream highlight-myst-ansi notranslate"
        return f'<div class="{kind}"><div class="highlight"><pre><span></span>{text}</pre></div></div>'

    for verdict in ("✓ 일치합니다", "✗ 다릅니다", "ValueError: mask", "Bugs: 1 of 1\n✓ 일치합니다"):
        assert "notranslate polyglot-prose" in simplify(output(verdict)), verdict
    assert "polyglot-prose" not in simplify(output("tensor([1, 2])"))
