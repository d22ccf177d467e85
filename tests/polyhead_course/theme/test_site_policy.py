"""A page loads what its own site holds, and nothing else, whatever it is told."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_page_does_not_do_what_is_forbidden(four: Built, window: Browser, name: str) -> None:
    script, rule = FORBIDDEN[name]
    with serve(four.html) as base, visit(window, base) as seen:
        seen.page.goto("/book/ko/01-masks.html", wait_until="networkidle")
        assert seen.problems() == []
        assert seen.page.evaluate(TRY, script) == rule
        assert seen.page.evaluate("window.intruder") is None


def test_every_page_has_the_policy(four: Built) -> None:
    for path in four.html.rglob("*.html"):
        page = parse(path.read_text(encoding="utf-8"))
        policy = page.css("meta[http-equiv='Content-Security-Policy']")
        assert len(policy) == 1, path
        assert "default-src 'none'" in value(policy[0], "content")
