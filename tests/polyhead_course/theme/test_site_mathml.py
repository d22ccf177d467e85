"""Formulas are MathML, with the TeX as their name and a text that readers can search for."""

from __future__ import annotations

import pytest
from math_core import LatexError
from selectolax.lexbor import LexborHTMLParser, LexborNode

from polyhead_course.theme.formulas import linear
from polyhead_course.theme.mathml import to_mathml
from tests.building import Built


def _math(tex: str, *, display: bool = True) -> LexborNode:
    (math,) = LexborHTMLParser(to_mathml(tex, display=display)).css("math")
    return math


def _texts(tex: str, tag: str) -> list[str]:
    return [each.text() for each in _math(tex).css(tag)]


@pytest.mark.parametrize("tex", [" a <\n b ", r'\text{"a"} & b'.replace("&", r"\&")])
def test_display_and_source_are_named(tex: str) -> None:
    attributes = _math(tex).attributes
    assert (attributes["display"], attributes["alttext"]) == ("block", " ".join(tex.split()))
    assert "display" not in _math(tex, display=False).attributes


@pytest.mark.parametrize("name", ["aligned", "align", "align*", "split"])
def test_aligned_equations_are_a_table_without_numbers(name: str) -> None:
    math = _math(rf"\begin{{{name}}} a &= b \\ c &= d \end{{{name}}}")
    cells = [each for each in math.css("mtd") if each.text()]
    assert [each.text() for each in cells] == ["a", "=b", "c", "=d"]
    sides = [(each.attributes["style"] or "").split(";")[0] for each in cells]
    assert sides == ["text-align: right", "text-align: left"] * 2


def test_lines_without_an_environment_are_lines() -> None:
    assert len(_math(r"a \\ b").css("mtr")) == 2


@pytest.mark.parametrize(
    "tex", [r"\unknown x", r"\frac{1}", "a & b", r"\left( x", r"\begin{bmatrix} 1", "{a", r"x^\wrong"]
)
def test_wrong_tex_is_refused(tex: str) -> None:
    with pytest.raises(LatexError):
        to_mathml(tex, display=True)


@pytest.mark.parametrize("tex", ["x'", "x_i'", r"x_{i'}", r"\sum_{j'}"])
def test_a_prime_is_no_superscript(tex: str) -> None:
    assert _texts(tex, "msup, msubsup") == [] and _texts(tex, "mo")[-1] == "′"


def test_the_sign_of_a_product_that_goes_on_has_a_space_behind_it() -> None:
    end, middle = (_math(tex).css_first("mo").attributes for tex in (r"2 \cdot", r"2 \cdot 3"))
    assert end == middle and end["rspace"] not in {None, "0"}


def test_an_apostrophe_is_no_prime() -> None:
    assert _texts(r"\text{it's} x'", "mtext, mo") == ["it’s", "′"]


@pytest.mark.parametrize(
    ("tex", "typed"),
    [
        (r"\sqrt{d_k}", "√d_k"),
        (r"d_{\text{model}}", "d_model"),
        (r"\frac{QK^\top}{\sqrt{d_k}}", "Q K^⊤ / √d_k"),
        (r"a_{ij}^2", "a_ij^2"),
        (r"\operatorname{softmax} x", "softmax x"),
        (r"\mathrm{head}_i", "head_i"),
        (r"1{,}050{,}624, 10", "1,050,624, 10"),
        (r"1, \dots, n", "1, …, n"),
        (r"1 + \dots + n", "1 + ⋯ + n"),
    ],
)
def test_formulas_are_linear_as_readers_type_them(tex: str, typed: str) -> None:
    assert " ".join(linear(_math(tex)).split()) == typed


def test_pages_have_mathml(four: Built) -> None:
    page = four.page("book/en/01-masks")
    assert len(page.css('.polyglot-math > math[display="block"]')) == 2
    assert len(page.css("article p math:not([display])")) == 3
