"""What one cell of MyST Markdown consists of, whole."""

from __future__ import annotations

from collections import Counter

import pytest

from polyglot_book.markdown import CellParts, Prose, formula_key, parse_cell

EXTENSIONS = ("amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath")
EXTENSIONS += ("fieldlist", "substitution", "tasklist", "smartquotes")
CELL = r"""
(start)=
# A *short* title

Text with $a_1$, `code`, [link](one.md), [](none.md) and ![picture](two.svg); see [^note],
{eq}`soft`, {ref}`words <target>`, {doc}`page`, {math}`c`, {kbd}`Ctrl`, {sub}`low`.\
Next <a href="three.html" title="no">line</a> <img src="four.png" alt="seen"> https://example.org/five.

{cite:p}`key1, key2`

[nowhere]() ![no]()

[^note]: A note.

$$d$$

$$e$$ (labelled)

\begin{align}
f \text{if so} % comment
\end{align}

```{math}
:label: soft
g
```

```{figure} six.svg
:name: fig
:alt: alternative
A caption
```

```{include} seven.md
```

:::{admonition} Title **bold**
:class: tip
Body
:::

````{dropdown} Open
:open:
```{code-block} python
nothing
```
````

```{list-table}
:label: [broken
```

```python
none
```

<p lang="ko">한국</p>

| h1 | h2 |
|---|---|
| c1 | `c2` |

Term
: Definition

- [ ] item {{ sub }}

{.css}
[Last]{.css}[^note]{.css}
"""
TEXT = "Text with , , link,  and picture; see ,\n, words, , , , .\nNext line seen"


def test_every_part_of_a_cell_is_counted_once() -> None:
    links = (
        "one.md none.md two.svg soft target page three.html four.png key1 key2 (labelled) six.svg seven.md"
    )
    fences = ["{math} label=soft", "{figure} name=fig", "{include}", "{admonition} class=tip"]
    fences += ["{dropdown} open=None", "{code-block}", "{list-table}", "```python"]
    roles = [f"{{{each}}}`" for each in ("eq", "ref", "doc", "math", "kbd", "sub", "cite:p")]
    assert parse_cell(CELL, "en", EXTENSIONS) == CellParts(
        prose=[
            Prose("A short title", True, True),
            Prose(TEXT, True),
            Prose("nowhere no", True),
            Prose("A note."),
            Prose("alternative"),
            Prose("A caption"),
            Prose("Title bold", heading=True),
            Prose("Body"),
            Prose("Open", heading=True),
            *map(Prose, ("label", "[broken", "h1", "h2", "c1", "Term", "Definition", "item", "Last{.css}")),
        ],
        headings=[1],
        links=Counter([*links.split(), "[^note]", "[^note]", "", ""]),
        formulas=Counter(["a_1", "c", "d", "e", r"\begin{align} f \text{} \end{align}", "g"]),
        code=Counter(["code", "Ctrl", "c2"]),
        directives=Counter([*fences, *roles]),
    )


def test_without_its_extensions_syntax_is_text() -> None:
    parts = parse_cell("$a$ [b]{.c}\n\n:::{note}\nd\n:::\n", "en", ())
    assert [each.text for each in parts.prose] == ["$a$ [b]{.c}", ":::{note}\nd\n:::"]
    assert parts == CellParts(parts.prose)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<b lang="ko">x<i>y</i></b> z', "z"),
        ('<b lang="en">x</b> z', "x z"),
        ('<b lang="ko">x<br><i>y</b> z', "z"),
        ("<b>x</i></b> z", "x z"),
        ('<b lang="ko"><b>x</b>y</b> z', "z"),
    ],
)
def test_words_of_another_language_are_not_its_prose(text: str, words: str) -> None:
    assert [each.text for each in parse_cell(text, "en", ()).prose] == [words]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (r"x\,\;\:\!\ \quad\qquad y", "x y"),
        (r"\left( x \right) \cr y", r"( x ) \\ y"),
        (r"\widetilde x + \overline{y}", r"\tilde x + \bar y"),
        (r"γ_{λ}", r"\gamma _ \lambda"),
        (r"Ω_{Λ}", r"\Omega _ \Lambda"),
        (r"\begin{a}x.\end{a}", r"\begin a x \end a"),
        (r"2^{th} 1^st n^{\rm nd} \text{ }", "2 1 n"),
        ("x{{y}}。", "x y"),
        (r"x_{1 2}", "x _ { 1 2 }"),
    ],
)
def test_the_key_of_a_formula(text: str, key: str) -> None:
    assert formula_key(text) == key


def test_what_roles_and_directives_contain() -> None:
    for role in ("code", "kbd", "samp", "file", "literal"):
        assert parse_cell(f"{{{role}}}`a`", "en", ()).code == {"a": 1}
    for role in ("ref", "doc", "numref", "eq", "any", "download"):
        parts = parse_cell(f"{{{role}}}`b <a>`", "en", ())
        assert (parts.links, parts.prose) == ({"a": 1}, [Prose("b", True)])
    for name in ("figure", "image", "include", "literalinclude"):
        parts = parse_cell(f"```{{{name}}} a\n```", "en", ())
        assert (parts.links, parts.prose) == ({"a": 1}, [])
    literal = "code code-block code-cell sourcecode math raw mermaid eval-rst literalinclude bibliography"
    for name in (*literal.split(), "toctree"):
        assert parse_cell(f"```{{{name}}} a\nb\n```", "en", ()).prose == []
    for option in ("class", "name", "label", "open"):
        parts = parse_cell(f"```{{note}}\n:{option}: a\n:other: b\n```", "en", ())
        assert parts.directives == {f"{{note}} {option}=a": 1}
