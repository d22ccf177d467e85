"""The site has one style sheet, with the rules and icons that its pages use."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from polyhead_course.theme.stylesheet import names_of_pages, names_of_scripts, used_rules
from tests.building import Built

NAMES = {"p", "details", "a", ".card", ".open", "#top", "--used"}


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".card{color:red}", ".card{color:red}"),
        (".gone{color:red}", ""),
        ("card,.p,#card,.top{color:red}", ""),
        (".card,.gone p{color:red}", ".card{color:red}"),
        ("p:not(:is(.open,a)),.gone{color:red}", "p:not(:is(.open,a)){color:red}"),
        (".-card{color:red}", ""),
        (".card .gone{color:red}", ""),
        ("#top>p{color:red}", "#top>p{color:red}"),
        ("#bottom{color:red}", ""),
        ("video{color:red}", ""),
        # One of several in parentheses is enough; that none of them is there is not known.
        ("p:is(.gone,.open){color:red}", "p:is(.gone,.open){color:red}"),
        ("p:not(.gone)::before{color:red}", "p:not(.gone):before{color:red}"),
        ("a:hover{color:red}", "a:hover{color:red}"),
        ("[data-x=gone]{color:red}", "[data-x=gone]{color:red}"),
        (".text-wrap{top:0}p{text-wrap:balance}", "p{text-wrap:balance}"),
        ("@media print{.gone{color:red}}", ""),
        ("@media print{.card{color:red}.gone{color:red}}", "@media print{.card{color:red}}"),
        ("@import 'elsewhere.css';p{color:red}", "p{color:red}"),
        ("@font-face{font-family:x;src:url(x.woff)}", ""),
        ("@keyframes a{0%{top:0}}@keyframes b{}p{animation:a}", "@keyframes a{0%{top:0}}p{animation:a}"),
        # Properties that no rule reads go, and those that only they read.
        (":root{--a:1;--b:var(--a);--used:2}p{color:var(--c)}", ":root{--used:2}p{color:var(--c)}"),
        # Icons are not read out.
        ('p::before{content:"\uf0c9"}', 'p:before{content:"\uf0c9";content:"\uf0c9" / ""}'),
        (
            ':root{--i:var(--j);--j:"\uf0c9"}p::before{content:var(--i)}',
            'p:before{content:"\uf0c9";content:"\uf0c9" / ""}',
        ),
        ('p::before{content:"§"}', 'p:before{content:"§"}'),
        (
            ":root{--used:attr(title)}p::before{content:var(--used)}",
            ":root{--used:attr(title)}p:before{content:var(--used)}",
        ),
    ],
)
def test_rules_stay_that_can_apply(css: str, kept: str) -> None:
    assert used_rules(css, NAMES) == kept


def test_names_come_from_pages_and_scripts(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p class="one two" id="three" style="color: var(--four)">')
    script = tmp_path / "a.js"
    script.write_text('box.classList.add("seven"); make("eight"); find("> .nine"); // five-six of ten')
    names = names_of_pages([tmp_path / "a.html"]) | names_of_scripts([script])
    assert {"p", ".one", ".two", "#three", "--four", ".five-six", "#five-six"} <= names
    assert {".seven", "eight", ".nine"} <= names
    assert not {"color", "style", ".p", "one", ".eight", "of", "ten", ".ten"} & names


def test_a_page_loads_one_sheet_and_two_scripts_and_one_where_it_asks_something(four: Built) -> None:
    html = (four.html / "book/ko/01-masks.html").read_text(encoding="utf-8")
    assert re.findall(r'rel="stylesheet" href="([^"]*)"', html) == ["../../_static/site.css"]
    assert re.findall(r'<script [^>]*src="([^"]*)"', html) == [
        f"../../_static/{name}.js" for name in ("polyglot", "memory", "practice")
    ]
    assert "practice.js" not in (four.html / "book/en/03-only.html").read_text(encoding="utf-8")
    left = {path.name for path in (four.html / "_static").iterdir()}
    assert {"site.css", "polyglot.js"} <= left
    assert not left & {"basic.css", "vendor", "scripts", "styles", "pygments.css", "sphinx-design.min.css"}


def test_the_icons_of_the_pages_are_in_the_sheet(four: Built) -> None:
    css = (four.html / "_static/site.css").read_text(encoding="utf-8")
    (data,) = re.findall(r"data:font/woff2;base64,([^\"]*)", css)
    shapes = TTFont(io.BytesIO(base64.b64decode(data))).getBestCmap()
    named = {ord(each) for each in css if "\ue000" <= each <= "\uf8ff"}
    assert {0xF0C9, 0xF019, 0xF0C5} <= named  # bars, download, copy
    assert named == set(shapes)
    assert len(css) < 90_000
