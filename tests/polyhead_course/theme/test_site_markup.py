"""The body of a page: marks that change nothing go, and what belongs together stays together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyglot_book.config import Language
from polyhead_course.theme.markup import simplify
from sphinx_polyglot.strings import in_language

MATH = '<math alttext="x"><mi>x</mi></math>'
BLOCK = MATH.replace("<math", '<math display="block"')
CELL = '<div class="cell_{} docutils container"></div>'
KOREAN = Language("ko", "ko", "한국어", "책")
CHINESE = Language("zh-TW", "zh_TW", "繁體中文", "書")


@pytest.fixture(autouse=True)
def language() -> Iterator[None]:
    with in_language(KOREAN):
        yield


def together(text: str) -> str:
    return f'<span class="polyglot-together">{text}</span>'


@pytest.mark.parametrize(
    ("body", "simple"),
    [
        # Names and punctuation of code have no mark of their own.
        ('<span></span><span class="n">a</span><span class="o">=</span>', "a="),
        (
            '<span class="sa">f</span><span class="s2">"{</span>b<span class="si">}</span>'
            '<span class="s2">"</span><span class="ow">in</span><span class="mi">1</span>',
            '<span class="s">f"{</span>b<span class="s">}"</span>'
            '<span class="k">in</span><span class="m">1</span>',
        ),
        ('<span class="p">(</span>', "("),
        # No line ends between a formula and what belongs to it.
        (f"{MATH} 는", f"{MATH} 는"),
        (f"a {MATH}.", f"a {together(f'{MATH}.')}"),
        (f"（{MATH}）。對", f"{together(f'（{MATH}）。')}對"),
        (f"{MATH}개가", together(f"{MATH}개가")),
        (BLOCK + ".", BLOCK + "."),
        (f"{MATH}, {MATH}", f"{together(f'{MATH},')} {MATH}"),
        # A Korean word is not broken after a closing mark.
        ("(mask)는", "(mask)\N{WORD JOINER}는"),
        ("Let’s ‘a’", "Let’s ‘a’"),
        # Input and output of a cell have names.
        (CELL.format("input"), '<div class="cell_input" role="group" aria-label="코드"></div>'),
        (CELL.format("output"), '<div class="cell_output" role="group" aria-label="출력"></div>'),
    ],
)
def test_a_body_is_simplified(body: str, simple: str) -> None:
    assert simplify(body) == simple


def test_an_apostrophe_is_narrow_in_chinese() -> None:
    with in_language(CHINESE):
        assert simplify("<p>Let’s ‘a’</p>") == "<p>Let's ‘a’</p>"


def test_verdicts_wrap_and_tables_do_not() -> None:
    def output(text: str) -> str:
        kind = "output stream highlight-myst-ansi notranslate"
        return f'<div class="{kind}"><div class="highlight"><pre><span></span>{text}</pre></div></div>'

    for verdict in ("✓ 일치합니다", "✗ 다릅니다", "ValueError: mask", "Bugs: 1 of 1\n✓ 일치합니다"):
        assert "notranslate polyglot-prose" in simplify(output(verdict)), verdict
    assert "polyglot-prose" not in simplify(output("tensor([1, 2])"))
