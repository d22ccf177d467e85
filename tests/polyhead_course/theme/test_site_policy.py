"""A page loads what its own site holds, and nothing else, whatever it is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from polyglot_book.config import Book
from polyhead_course.handouts.decks import deck_of
from tests.browser import Browser, serve, visit
from tests.building import Built
from tests.pages import parse, value

# Something that a page must not do -> the script that tries it, and the rule that forbids it.
FORBIDDEN = {
    "another host's script": ("new_('script', {src: 'https://elsewhere.example/a.js'})", "script-src-elem"),
    "a script in the text": ("new_('script', {text: 'window.intruder = 1'})", "script-src-elem"),
    "a script in an attribute": (
        "document.body.setAttribute('onclick', 'window.intruder = 1'); document.body.click()",
        "script-src-attr",
    ),
    "another host's picture": ("new_('img', {src: 'https://elsewhere.example/a.png'})", "img-src"),
    "another host's page": ("new_('iframe', {src: 'https://elsewhere.example/'})", "frame-src"),
    "another host's data": ("fetch('https://elsewhere.example/').catch(() => 0)", "connect-src"),
}
TRY = """
script => new Promise(done => {
  document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
  setTimeout(() => done('nothing'), 2000);
  const new_ = (name, its) => document.body.append(Object.assign(document.createElement(name), its));
  eval(script);
})
"""


# What a chapter or an output may hold, since Markdown takes HTML as it is; each would set `window.intruder`.
IN_A_SENTENCE = """
<script>window.intruder = 'script'</script>
<img src="nowhere.png" alt="x" onerror="window.intruder = 'error'">
<svg width="9" height="9" onload="window.intruder = 'svg'"><script>window.intruder = 'svg script'</script>
<a href="javascript:void(window.intruder = 'svg link')"><text id="svg-link" y="9">svg</text></a></svg>
<a id="link" href="javascript:void(window.intruder = 'link')">link</a>
<b id="click" onclick="window.intruder = 'click'">click</b>
"""
HOSTILE = f"""
{IN_A_SENTENCE}
<script type="module">window.intruder = 'module'</script>
<script src="data:text/javascript,window.intruder='data'"></script>
<details open ontoggle="window.intruder = 'toggle'"><summary>x</summary></details>
<iframe srcdoc="<script>parent.intruder = 'srcdoc'</script>"></iframe>
<iframe src="javascript:void(parent.intruder = 'frame')"></iframe>
<object data="data:text/html,<script>parent.intruder = 'object'</script>"></object>
<base href="https://elsewhere.example/">
<meta http-equiv="refresh" content="0; url=javascript:void(window.intruder = 'meta')">
<form action="javascript:void(window.intruder = 'form')"><button id="form">form</button></form>
"""
CLICK = "elements => elements.forEach(one => one.dispatchEvent(new MouseEvent('click', {bubbles: true})))"


def test_nothing_that_a_chapter_holds_runs_on_its_page_or_slides(
    four: Built, window: Browser, tmp_path: Path
) -> None:
    site = shutil.copytree(four.html, tmp_path / "html")
    path = site / "book/ko/01-masks.html"
    path.write_text(path.read_text("utf-8").replace("</article>", f"{HOSTILE}</article>"), "utf-8")
    page = f"<article><section><h1>x</h1><p>{IN_A_SENTENCE}</p></section></article>"
    (tmp_path / "page.html").write_text(page, "utf-8")
    slides = deck_of(tmp_path / "page.html", Book.load(four.root).languages["ko"], "", "")
    (site / "slides.html").write_text(slides, "utf-8")
    with serve(site) as base, visit(window, base) as seen:
        for address, there in (("/book/ko/01-masks.html", 4), ("/slides.html", 3)):
            seen.page.goto(address, wait_until="load")
            buttons = seen.page.locator("#click, #link, #svg-link, #form")
            assert buttons.count() == there, "the text is not on the page"
            buttons.evaluate_all(CLICK)
            seen.page.wait_for_timeout(200)
            assert seen.page.evaluate("window.intruder") is None, address
            assert seen.page.url == f"{base}{address}"
        assert seen.page.evaluate("slides.length") == 1, "their own script runs"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x"]
)
def test_markdown_makes_no_link_of_an_address_that_runs(link: str) -> None:
    from markdown_it.renderer import RendererHTML
    from myst_parser.config.main import MdParserConfig
    from myst_parser.parsers.mdit import create_md_parser

    html = create_md_parser(MdParserConfig(), RendererHTML).render(f"[here]({link}) ![x]({link}) <{link}>")
    assert "href" not in html and "src" not in html


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_page_does_not_do_what_is_forbidden(four: Built, window: Browser, name: str) -> None:
    script, rule = FORBIDDEN[name]
    with serve(four.html) as base, visit(window, base) as seen:
        seen.page.goto("/book/ko/01-masks.html", wait_until="networkidle")
        assert seen.problems() == []
        assert seen.page.evaluate(TRY, script) == rule
        assert seen.page.evaluate("window.intruder") is None


@pytest.mark.parametrize("book", ["four", "full"])
def test_every_page_has_the_policy(book: str, request: pytest.FixtureRequest) -> None:
    for path in request.getfixturevalue(book).html.rglob("*.html"):
        page = parse(path.read_text(encoding="utf-8"))
        policy = page.css("meta[http-equiv='Content-Security-Policy']")
        assert len(policy) == 1, path
        assert "default-src 'none'" in value(policy[0], "content")
