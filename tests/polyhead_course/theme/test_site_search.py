"""The search: what is indexed, what it finds, and that a page loads nothing of it before somebody asks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from polyhead_course.theme.search import sections, write_indexes
from tests.browser import Browser, serve, visit
from tests.building import Built
from tests.searching import DIALOG, FIELD, search


@pytest.fixture(scope="module")
def address(four: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site below a path, as hosts of projects put it."""
    host = tmp_path_factory.mktemp("host")
    (host / "tiny").symlink_to(four.html)
    with serve(host) as base:
        yield f"{base}/tiny/book/"


# Pages of one language: [anchor, heading, text, where it leads].
PAGES = [
    ["", "Masks", "How to hide what is not to be seen, in a row of some length.", []],
    ["causal", "The triangle", "A causal mask hides the future, and `causal_mask` of PyTorch draws it.", []],
    ["pad", "Filling up", "A sentence that is short is filled up, and a mask hides what is no word.", []],
    ["root", "Dividing by √d_k", "The scores are divided, so that the softmax does not become too hard.", []],
    [
        "exercises",
        "Exercises: the root",
        "Divide by the root, divide by the root, and divide by it once more.",
        [],
    ],
    [
        "why",
        "Why is batch norm rare?",
        "The section on the filling says that rows have other lengths.",
        ["a.html#pad"],
    ],
    [
        "zh",
        "多頭注意力",
        "每個頭各有自己的投影矩陣，輸出再串接起來，乘上輸出矩陣，得到最後的結果；這就是多個頭一起算的意思。",
        [],
    ],
    [
        "ko",
        "점수를 나누기",
        "점수를 제곱근으로 나누면 소프트맥스가 지나치게 뾰족해지지 않습니다. 그래서 학습이 더 잘됩니다.",
        [],
    ],
]
VOCABULARY = {
    "same": {
        "root": ["root", "√", "根號", "제곱근", "루트"],
        "causal_mask": ["causal mask", "look-ahead mask"],
        "heads": ["multi-head attention", "多頭注意力", "멀티헤드"],
    },
    "about": {"a#pad": ["heads"]},
    "asking": {"latin": "why is the not or what", "han": "為什麼 要", "hangul": "왜 이유"},
    "common": ["PyTorch"],
}
RANK = """async ([pages, vocabulary, queries]) => {
  const { Index } = await import(new URL("../../_static/ranking.js", location));
  const index = await Index.of({ pages: [{ uri: "a.html", sections: pages }], ...vocabulary });
  const found = (query) => index.search(query).map(({ section }) => section.anchor);
  const all = Object.fromEntries(queries.map((query) => [query, found(query)]));
  const { excerpt } = await import(new URL("../../_static/search-words.js", location));
  const text = excerpt(pages[1][2], index.worth("causal mask"), index.synonyms, 60);
  return [all, text, index.match("futur").rarity];
}"""


def test_ranking(window: Browser, address: str) -> None:
    wanted = {
        "masks": "",  # the heading, before sections that have it in their text
        "mask": "",
        "dividing": "root",  # a section before an exercise that says it more often
        "why divide": "root",
        "square root of d_k": "root",  # √ is a root, and `d_k` is one word
        "dk": "root",
        "look-ahead mask": "causal",  # means the same
        "CausalMask": "causal",
        "causal_mask pytorch": "causal",
        "futrue": "causal",  # two letters swapped
        "futu": "causal",  # the beginning of a word
        "fútúré": "causal",  # with accents or without
        "batch norm": "why",
        "為什麼要多頭注意力": "zh",
        "輸出矩陣": "zh",
        "為什麼 multi-head attention": "zh",  # English in a Chinese query
        "점수는": "ko",  # another particle
        "왜 나눌까요": "ko",  # another ending
        "루트": "root",
    }
    with visit(window, address) as seen:
        seen.page.goto("en/01-masks.html")
        found, excerpt, rarity = seen.page.evaluate(RANK, [PAGES, VOCABULARY, [*wanted, "zzzzzz"]])
        assert found.pop("zzzzzz") == []
        assert {query: places[:1] for query, places in found.items()} == {
            query: [place] for query, place in wanted.items()
        }
        # The words of a question are words of the section that it leads to.
        assert found["batch norm"] == ["why", "pad"]
        # One of eight sections has it: the logarithm of 1 + 7.5 / 1.5.
        assert rarity == pytest.approx(1.791759)
        assert [piece for piece, asked in excerpt if asked] == ["causal mask", "causal_mask"]
        assert (
            "".join(piece for piece, _ in excerpt) == "A causal mask hides the future, and `causal_mask` of …"
        )
        assert seen.problems() == []


def test_each_section_has_its_own_text(four: Built) -> None:
    html = (four.html / "book/en/01-masks.html").read_text(encoding="utf-8")
    found = {each.anchor: each for each in sections(html)}
    assert list(found) == ["polarity-2", "polarity", "why", ""]
    assert (found[""].heading, found["why"].heading) == ("1. Masks", "Why a mask")
    assert "code cell" not in str(found)  # of the buttons that show and hide code
    assert "import math" in found[""].text and "2.0" not in found[""].text
    assert "√d_k" in found["why"].text and "Rows" not in found["why"].text
    assert "Rows" in found["polarity"].text
    assert "Download" not in " ".join(each.text for each in found.values())


def test_what_asks_is_no_answer() -> None:
    hints = '<i id="hints-a"></i><details>first hint</details><details>second hint</details>'
    quiz = '<section id="quiz"><h2>Three questions</h2>choices</section>'
    task = f'<section id="exercises"><h2>Do</h2>task {hints}<i></i><details>solution</details></section>'
    found = sections(f'<article><section id="page"><h1>Page</h1>{quiz}{task}</section></article>')
    assert [(each.anchor, each.text) for each in found] == [("exercises", "task solution"), ("", "")]


def test_code_stands_at_the_end_and_a_question_has_links() -> None:
    question = (
        '<section id="why"><h2>Why?</h2><pre>code</pre>See <a class="internal" href="#b">b</a>.</section>'
    )
    other = '<section id="that"><h2>That</h2>See <a class="internal" href="#b">b</a>.</section>'
    found = sections(f'<article><section id="page"><h1>Page</h1>{question}{other}</section></article>')
    assert [(each.text, each.links) for each in found] == [
        ("See b.", ()),
        ("See b.\ncode", ("#b",)),
        ("", ()),
    ]


def test_a_page_loads_nothing_of_the_search_before_it_is_used(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        requests: list[str] = []
        seen.page.on("request", lambda request: requests.append(request.url))
        seen.page.goto("en/01-masks.html", wait_until="networkidle")
        assert not [url for url in requests if "search" in url or "ranking" in url]
        assert search(seen.page, "mask")
        assert [url for url in requests if url.endswith("/tiny/search/en.json")]
        assert not [url for url in requests if "/search/ko" in url]
        assert seen.problems() == []


FOUND = {
    "en": [
        ("polarity", "01-masks.html#polarity", "1. Masks › Polarity", None),
        ("halve", "03-only.html", "3. Only in English", "halve"),
        ("translating", "03-only.html", "3. Only in English", "translated"),
        ("√d_k", "01-masks.html#why", "1. Masks › Why a mask", "√d_k"),
    ],
    "zh-TW": [
        ("遮罩", "01-masks.html", "1. 遮罩", "遮罩"),
        ("注意力", "02-heads.html", "2. 注意力頭", None),
        ("意力頭", "02-heads.html", "2. 注意力頭", None),
    ],
    "ko": [
        ("극성을", "01-masks.html#polarity", "1. 마스크 › 극성", None),
        ("쿼리에서", "01-masks.html", "1. 마스크", "쿼리"),
    ],
}


@pytest.mark.parametrize("code", FOUND)
def test_the_search_finds(window: Browser, address: str, code: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto(f"{code}/index.html")
        for query, place, title, marked in FOUND[code]:
            found = search(seen.page, query)
            by_address = {each.address.removeprefix(f"/tiny/book/{code}/"): each for each in found}
            assert place in list(by_address)[:2], (query, list(by_address))
            result = by_address[place]
            assert (result.title, result.language) == (title, code), query
            if marked:
                assert marked in result.marked, query
            # However the index is split, a text reads as on its page.
            assert not re.search("[一-鿿。，] [一-鿿。，]", result.title + result.excerpt), query
        assert seen.problems() == []


def test_no_result_is_a_message(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("ko/index.html")
        assert search(seen.page, "zzzz") == []
        assert seen.page.locator(".polyglot-search-status").inner_text() == "검색 결과가 없습니다"
        assert seen.page.locator(FIELD).get_attribute("aria-label") == "검색"


@pytest.mark.parametrize("key", ["/", "Control+k", "Meta+k"])
def test_the_search_works_from_the_keyboard(window: Browser, address: str, key: str) -> None:
    focused = "document.activeElement.className || document.activeElement.getAttribute('href')"
    with visit(window, address) as seen:
        seen.page.goto("en/01-masks.html")
        seen.page.keyboard.press(key)
        seen.page.wait_for_selector(f"{DIALOG}[open]")
        # In the field the key is a sign like others.
        seen.page.keyboard.type("polarity /")
        assert seen.page.locator(FIELD).input_value() == "polarity /"
        seen.page.wait_for_selector(".polyglot-search-results a")
        seen.page.keyboard.press("ArrowDown")
        assert seen.page.evaluate(focused).endswith("/tiny/book/en/01-masks.html#polarity")
        seen.page.keyboard.press("ArrowUp")
        assert seen.page.evaluate(focused) == "polyglot-search-field"
        seen.page.keyboard.press("Escape")
        assert not seen.page.locator(DIALOG).evaluate("e => e.open")
        expect(
            seen.page.locator("button.polyglot-search")
        ).to_be_focused()  # which the event "close" brings about


def test_enter_follows_the_first_result_even_before_it_is_shown(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 1280, "height": 500}) as seen:
        seen.page.goto("en/01-masks.html")
        seen.page.click(".polyglot-search")
        seen.page.wait_for_selector(f"{DIALOG}[open]")
        seen.page.keyboard.type("polarity")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/en/01-masks.html#polarity")
        assert not seen.page.locator(DIALOG).evaluate("e => e.open")
        top = seen.page.evaluate("document.getElementById('polarity').getBoundingClientRect().top")
        assert -1 <= top < 300


def test_the_search_works_by_touch(window: Browser, address: str) -> None:
    options = {"viewport": {"width": 390, "height": 700}, "has_touch": True}
    with visit(window, address, **options) as seen:
        seen.page.goto("zh-CN/01-masks.html")
        seen.page.tap(".polyglot-search")
        seen.page.locator(FIELD).fill("掩码")
        seen.page.wait_for_selector(".polyglot-search-results a")
        box = seen.page.locator(DIALOG).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] + box["height"] <= 700
        seen.page.locator(".polyglot-search-results a").last.scroll_into_view_if_needed()
        seen.page.tap(".polyglot-search-close")
        assert not seen.page.locator(DIALOG).evaluate("e => e.open")


def test_pages_opened_as_files_say_why_there_is_no_search(window: Browser, four: Built) -> None:
    page = window.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    page.goto((four.html / "book/ko/01-masks.html").as_uri())
    page.click(".polyglot-search")
    page.wait_for_timeout(500)
    page.close()
    assert said == ["검색은 웹사이트에서만 할 수 있습니다. 파일로 연 페이지에서는 작동하지 않습니다."]


def test_no_old_index_remains(four: Built, tmp_path: Path, window: Browser) -> None:
    site = Path(shutil.copytree(four.html, tmp_path / "site"))
    docs = [str(path.relative_to(site).with_suffix("")) for path in site.glob("book/**/*.html")]
    languages = {
        code: {"locale": code, "name": code, "title": code} for code in ("en", "zh-TW", "zh-CN", "ko")
    }
    builder = SimpleNamespace(format="html", get_target_uri=lambda docname: f"{docname}.html")
    config = SimpleNamespace(polyglot_languages=languages, polyglot_folder="book", polyglot_shared=[])
    app = SimpleNamespace(outdir=site, builder=builder, config=config, env=SimpleNamespace(found_docs=docs))
    (site / "search/gone.json").touch()
    before = {code: (site / "search" / f"{code}.json").read_bytes() for code in languages}
    page = site / "book/en/03-only.html"
    page.write_text(page.read_text(encoding="utf-8").replace("Nobody", "Zebras"), encoding="utf-8")
    write_indexes(app)
    changed = [code for code in languages if (site / "search" / f"{code}.json").read_bytes() != before[code]]
    assert changed == ["en"]
    assert not (site / "search/gone.json").exists()
    assert "Nobody" not in (site / "search/en.json").read_text(encoding="utf-8")
    with serve(site) as base, visit(window, base) as seen:
        seen.page.goto("/book/en/01-masks.html")
        assert [each.address for each in search(seen.page, "zebra")] == ["/book/en/03-only.html"]
