"""The checks of built pages find what they are for, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import check_site, english_left, parse


def test_the_scanner_finds_english() -> None:
    page = parse(
        '<html lang="ko"><body title="Close"><p>한국어</p><p>Next page</p><code>len</code>'
        "<p><b>쿼리</b>(query, key)는</p><p><a>值</a>（attention head）。</p></body></html>"
    )
    assert english_left(page) == ["Close", "Next page"]
    assert english_left(page, {"Close"}) == ["Next page"]
    assert english_left(page, ignore="p") == ["Close"]


# What a check finds in a page that breaks its rule, and nothing else.
BROKEN = {
    "<p>Left in English</p>": "English is left: 'Left in English'",
    '<p id="a">가</p><p id="a">나</p>': "the id 'a' stands twice",
    '<img src="a.png">': "no alternative text: a.png",
    '<article><img src="a.png" alt=""></article>': "no alternative text: a.png",
    "<article><img src='a.png' alt></article>": "no alternative text: a.png",
    '<svg class="polyglot-figure" id="f"></svg>': "no alternative text: f",
    '<img src="//a.example/b.png" alt="">': "loads from another host: //a.example/b.png",
    '<link rel="x icon" href="http://a.example/b">': "loads from another host: http://a.example/b",
    "<style>p { background: url('//a.example/b') }</style>": "loads from another host: //a.example/b",
    '<p style="background: url(//a.example/b)"></p>': "loads from another host: //a.example/b",
    "<script>fetch('https://a.example/b')</script>": "loads from another host: https://a.example/b",
    '<a href="nowhere.html">가</a>': "nowhere.html: this link leads nowhere",
    '<a href="#nowhere">가</a>': "#nowhere: this link leads nowhere",
    '<a href="a.html#nowhere">가</a>': "a.html#nowhere: this link leads nowhere",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_check_finds_what_is_broken(tmp_path: Path, broken: str) -> None:
    page = f'<!DOCTYPE html><html lang="ko"><body><h1 id="top">가</h1>{broken}</body></html>'
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert check_site(tmp_path) == [f"a.html: {BROKEN[broken]}"]


RIGHT = [
    '<img src="a.png" alt="">',
    '<article><img src="a.png" alt="가"></article>',
    '<p lang="en">In English <b title="Also">here</b></p>',
    "<!-- A comment --><noscript><p>Turn it on</p></noscript>",
    "<svg><title>In a figure</title><text>Query</text></svg>",
    '<link rel="canonical" href="http://a.example/b">',
    '<script type="application/json">{"at": "https://a.example/b"}</script>',
    '<a href="https://a.example">가</a><a href="#top">나</a><a href="a.html#top">다</a><a href>라</a>',
]


@pytest.mark.parametrize("right", RIGHT)
def test_the_checks_let_pass_what_is_right(tmp_path: Path, right: str) -> None:
    page = f'<!DOCTYPE html><html lang="ko"><body><h1 id="top">가</h1>{right}</body></html>'
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert check_site(tmp_path) == []


def test_a_template_is_refused() -> None:
    with pytest.raises(AssertionError, match="template"):
        parse("<template><p>No check sees this</p></template>")
