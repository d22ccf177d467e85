"""Formulas are MathML that browsers draw as TeX would."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from polyhead_course.theme.mathml import TexError, to_mathml
from tests.building import Built, build

SPACE = "{http://www.w3.org/1998/Math/MathML}"


def _find(tex: str, tag: str, *, display: bool = True) -> list[ET.Element]:
    return ET.fromstring(to_mathml(tex, display=display)).findall(f".//{SPACE}{tag}")


def _texts(tex: str, tag: str) -> list[str]:
    return [each.text or "" for each in _find(tex, tag)]


def test_display_and_source_are_named() -> None:
    math = ET.fromstring(to_mathml(" a < b ", display=True))
    assert (math.get("display"), math.get("alttext")) == ("block", "a < b")
    assert ET.fromstring(to_mathml("a", display=False)).get("display") == "inline"


def test_a_function_has_thin_spaces_and_none_before_a_parenthesis() -> None:
    (softmax,) = [e for e in _find(r"x\operatorname{softmax}\left(x\right)", "mo") if e.text == "softmax"]
    assert (softmax.get("lspace"), softmax.get("rspace")) == ("0.1667em", "0.1667em")
    (sine,) = [e for e in _find(r"\sin(x)", "mo") if e.text == "sin"]
    assert (sine.get("lspace"), sine.get("rspace")) == ("0em", "0em")


def test_limits_stand_below_in_display_and_beside_in_a_line() -> None:
    assert _find(r"\max_j s_j", "munder")[0][0].get("movablelimits") == "false"
    assert _find(r"\max_j s_j", "munder", display=False)[0][0].get("movablelimits") == "true"


@pytest.mark.parametrize("name", ["aligned", "align", "align*", "split"])
def test_aligned_equations_are_a_table(name: str) -> None:
    cells = _find(rf"\begin{{{name}}} a &= b \\ c &= d \end{{{name}}}", "mtd")
    assert len(cells) == 4
    assert [("right" in str(e.get("style"))) for e in cells[:1]] == [True]
    assert "text-align: -webkit-left" in str(cells[1].get("style"))


def test_matrices_cases_and_text() -> None:
    assert len(_find(r"\begin{bmatrix}1&0\\0&1\end{bmatrix}", "mtd")) == 4
    assert _texts(r"\begin{cases} 1 & x>0 \\ 0 & \text{中文 其他} \end{cases}", "mtext") == [
        "中文\N{NO-BREAK SPACE}其他"
    ]


def test_variants_are_characters() -> None:
    assert _texts(r"\mathbb{R}\boldsymbol{x}\mathbb{1}", "mi")[:2] == ["ℝ", "𝒙"]
    assert _texts(r"\mathbb{1}", "mn") == ["𝟙"]
    assert _texts(r"\mathrm{head}_i", "mi") == ["head", "i"]
    assert _texts(r"10{,}000", "mn") == ["10,000"]
    assert _texts(r"1{,}050{,}624", "mn") == ["1,050,624"]


def test_lines_without_an_environment_are_lines() -> None:
    assert len(_find(r"a \\ b", "mtr")) == 2


@pytest.mark.parametrize(
    "tex", [r"\unknown x", r"\frac{1}", "a & b", r"\left( x", r"\begin{bmatrix} 1", "{a", r"x^\wrong"]
)
def test_wrong_tex_is_refused(tex: str) -> None:
    with pytest.raises(TexError):
        to_mathml(tex, display=True)


def test_pages_have_mathml(four: Built) -> None:
    page = four.page("book/en/01-masks")
    assert len(page.css('.polyglot-math > math[display="block"]')) == 2
    assert len(page.css('article p math[display="inline"]')) == 3


def test_wrong_tex_fails_the_build_and_names_the_page(fresh: Path) -> None:
    path = fresh / "book/en/01-masks.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("operatorname", "wrongname"), encoding="utf-8")
    built = build(fresh)
    assert built.code != 0
    assert len(built.warnings) == 1
    assert "01-masks.ipynb" in built.warnings[0] and "wrongname" in built.warnings[0]


def test_a_sign_belongs_to_what_follows_an_operator() -> None:
    signs = [e.get("form") for e in _find("a - b = (-1, -2)", "mo") if e.text in {"−", "-"}]
    assert signs == [None, "prefix", "prefix"]


def test_a_brace_below_is_no_small_script() -> None:
    below, label = (each.get("accentunder") for each in reversed(_find(r"\underbrace{a}_{b}", "munder")))
    assert (below, label) == ("true", None)


def test_a_prime_is_no_superscript() -> None:
    assert _find("x'", "msup") == [] and "′" in _texts("x'", "mo")
    assert len(_find("x_i'", "msub")) == 1
