from __future__ import annotations

import pytest

from polyglot_book.checks import check_parity
from polyglot_book.translations import check_translations
from tests.polyglot_book.tiny_book import PROSE, TinyBook

KO = "chapters/ko/01-one.md"
ENGLISH = """\
## Part

```{math}
:label: soft
a = \\text{if so}
```

$$ b
= c $$

:::{admonition} Try $t$
:class: exercise
Use `f` and {ref}`this <that>` {cite}`one,two`.
:::

````{dropdown} Solution
```{code-block} python
f()
```
````

```python
g()
```

![alt](a.svg) <a href="b.html">b</a> [c][d] {eq}`soft`

[d]: e.html

\\begin{align}
x &= y
\\end{align}
"""
KOREAN = (
    ENGLISH.replace("if so", "이면")
    .replace("Part", "부분")
    .replace("$$ b\n= c $$", "$$b = c$$")
    .replace("Try", "해 보기")
    .replace("Use `f` and {ref}`this <that>`", "{ref}`이것 <that>` 과 `f` 를 쓰라")
    .replace("Solution", "풀이")
    .replace("![alt]", "![그림]")
    .replace("f()\n", "f()  # 함수\n")
)


@pytest.fixture
def parts(tiny: TinyBook) -> TinyBook:
    for code in PROSE:
        text = KOREAN if code == "ko" else ENGLISH
        tiny.write(f"chapters/{code}/01-one.md", f'+++ {{"id": "all"}}\n\n{text}')
    return tiny


def test_a_good_translation_passes(parts: TinyBook) -> None:
    assert check_parity(parts.book) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("## 부분", "### 부분", "headings of levels [3] where the reference has [2]"),
        ("a = \\text", "a < \\text", "formulas: lacks 'a = \\\\text{}' and adds 'a < \\\\text{}'"),
        ("$$b = c$$", "$$b = d$$", "formulas: lacks 'b = c' and adds 'b = d'"),
        ("$t$", "$u$", "formulas: lacks 't' and adds 'u'"),
        ("x &= y", "x &= z", "formulas: lacks"),
        ("`f` 를", "`g` 를", "code: lacks 'f' and adds 'g'"),
        ("`f` 를", "`f` `f` 를", "code: adds 'f'"),
        ("<that>", "<other>", "links: lacks 'that' and adds 'other'"),
        ("one,two", "one", "links: lacks 'two'"),
        ("a.svg", "b.svg", "links: lacks 'a.svg'"),
        ("e.html", "f.html", "links: lacks 'e.html' and adds 'f.html'"),
        ("b.html", "c.html", "links: lacks 'b.html' and adds 'c.html'"),
        ("{eq}", "{ref}", "directives: lacks '{eq}`' and adds '{ref}`'"),
        ("{dropdown}", "{note}", "directives: lacks '{dropdown}' and adds '{note}'"),
        (":class: exercise", ":class: tip", "directives: lacks '{admonition} class=exercise'"),
        ("```python\n", "```\n", "directives: lacks '```python' and adds '```'"),
    ],
)
def test_every_difference_is_named_with_its_cell(parts: TinyBook, old: str, new: str, what: str) -> None:
    parts.edit(KO, old, new)
    (violation,) = check_parity(parts.book)
    assert (violation.file, violation.cell) == (KO, "all")
    assert violation.problem.startswith(what)


@pytest.fixture
def more_links(parts: TinyBook) -> TinyBook:
    """A cell whose header has `"links": "more"`, with a link of its own in Korean."""
    for code in PROSE:
        parts.edit(f"chapters/{code}/01-one.md", '{"id": "all"}', '{"id": "all", "links": "more"}')
    parts.edit(KO, "[c][d]", "[c][d] [k](k.html)")
    return parts


def test_a_translation_may_add_links_where_the_reference_says_so(more_links: TinyBook) -> None:
    assert check_parity(more_links.book) == []


def test_and_there_it_still_has_those_of_the_reference(more_links: TinyBook) -> None:
    more_links.edit(KO, "b.html", "c.html")
    (violation,) = check_parity(more_links.book)
    assert violation.problem == "links: lacks 'b.html'"


def test_elsewhere_no_link_is_added(more_links: TinyBook) -> None:
    more_links.edit("chapters/en/01-one.md", '{"id": "all", "links": "more"}', '{"id": "all"}')
    (violation,) = check_parity(more_links.book)
    assert violation.problem == "links: adds 'k.html'"


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        (r"$\bar x_1 = \widetilde{R}$", r"$\overline{x}_{1}=\tilde R$"),
        (r"$$\left(a \quad \cr b\right) .$$", r"$$(a \\ b)$$"),
        (r"$γ_h, \frac{m}{{p_t}}$", r"$\gamma_h$ 와 $\frac m {p_t}$"),
        (r"$$x \text{ if } y % comment$$", "$$x 이면 y$$"),
        ("the $k^{th}$ of $2$, and $k$", "2 개 가운데 $k$"),
        ("use the model", "`model` 을 쓴다"),
        ("[a](https://en.wikipedia.org/wiki/A)", "[가](https://ko.example.org/a)"),
    ],
)
def test_the_same_in_other_signs_is_no_difference(parts: TinyBook, english: str, korean: str) -> None:
    for code in PROSE:
        text = korean if code == "ko" else english
        parts.write(f"chapters/{code}/01-one.md", f'+++ {{"id": "all"}}\n\n{text}\n')
    assert check_parity(parts.book) == []


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        (r"$\exp(m - p)$", r"$\exp(m / p)$"),
        (r"$\bar x$", r"$\hat x$"),
        ("$x^{12}$", "$x^12$"),
        ("$x_t$ and $y = x_t$", "$x_t$"),
        ("$a$ and $b$", "$b$ 와 $b$"),
        ("$3$", "4"),
        ("[a](https://en.wikipedia.org/wiki/A)", "가"),
    ],
)
def test_another_formula_or_link_is_one(parts: TinyBook, english: str, korean: str) -> None:
    for code in PROSE:
        text = korean if code == "ko" else english
        parts.write(f"chapters/{code}/01-one.md", f'+++ {{"id": "all"}}\n\n{text}\n')
    assert [each.file for each in check_parity(parts.book)] == [KO]


def test_words_in_code_may_differ_where_the_book_says_so(tiny: TinyBook) -> None:
    tiny.edit(KO, "x * 7)", "x * 7, '나'  # 곱\n)")
    tiny.edit("chapters/en/01-one.md", "x * 7)", "x * 7, 'me')")
    assert any("the code differs" in str(each) for each in check_translations(tiny.book))
    tiny.write("polyglot.yml", "free_words: true\n")
    assert not any(each.file == KO for each in check_translations(tiny.book))
    tiny.edit(KO, "x * 7", "x * 8")
    assert any("the code differs" in str(each) for each in check_translations(tiny.book) if each.file == KO)
