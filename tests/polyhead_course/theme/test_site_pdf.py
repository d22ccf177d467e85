"""The PDF of the tiny book: its contents, its bookmarks, its links, its code, its solutions at the end."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from pypdf import PdfReader
from pypdf.generic import Destination

from polyglot_book.config import Book
from polyhead_course.pdf.__main__ import main
from polyhead_course.pdf.pages import Heading, Part, with_lines
from polyhead_course.pdf.printing import Document, bind, print_document
from polyhead_course.workshop.browser import PrintError
from tests.browser import Browser, serve, visit
from tests.building import Built
from tests.faults import full_disk

LONG = f"values = [{', '.join(map(str, range(100)))}]"
EXERCISE = f"""<section id="exercises"><h2>연습 문제</h2>
<div class="exercise admonition" id="exercise-one">
<p class="admonition-title">하나</p><p>무엇입니까?</p>
</div>
<span class="target" id="solution-one"></span><details class="sd-dropdown">
<summary><span class="sd-summary-text">하나의 풀이</span></summary>
<div class="sd-summary-content"><p>넷입니다.</p></div>
</details>
<div class="cell" id="solution-one-code"><div class="cell_input"><pre>{LONG}\n</pre></div></div></section>
<section id="last"><h2>끝</h2><p>마지막 문장입니다.</p></section></article>"""
WIDTH = 658  # of A4 between its margins, in CSS pixels


@dataclass
class Printed:
    """A PDF with the document that it was printed from."""

    document: Document
    path: Path
    reader: PdfReader

    @property
    def pages(self) -> list[str]:
        return [" ".join(page.extract_text().split()) for page in self.reader.pages]

    def bookmarks(self) -> list[tuple[str, int]]:
        flat: list[Destination] = []
        for each in self.reader.outline:
            flat += each if isinstance(each, list) else [each]
        return [(str(each.title), (self.reader.get_destination_page_number(each) or 0) + 1) for each in flat]

    def starts(self) -> tuple[list[Part], list[int]]:
        """Give the parts, and the pages on which they begin."""
        pages = [page for _, page in self.bookmarks()]
        parts = self.document.parts
        sizes = [len(part.headings) for part in parts]
        return parts, [pages[sum(sizes[:number])] for number in range(len(parts))]

    def links(self) -> list[tuple[int, str]]:
        """Give the pages with links, and where each leads, in the book or outside."""
        found = []
        for number, page in enumerate(self.reader.pages, 1):
            for each in page.get("/Annots") or []:
                link = each.get_object()
                found.append((number, str(link.get("/Dest") or link["/A"]["/URI"]).removeprefix("/")))
        return found


@pytest.fixture(scope="module")
def site(four: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny book's site, with an exercise whose solution has a cell of its own."""
    site = shutil.copytree(four.html, tmp_path_factory.mktemp("pdf") / "html")
    page = site / "book/ko/01-masks.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</article>", EXERCISE), encoding="utf-8")
    return site


@pytest.fixture(scope="module")
def korean(four: Built, site: Path, window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    book = Book.load(four.root)
    path = tmp_path_factory.mktemp("pdf") / "ko.pdf"
    document = bind(book, book.languages["ko"], site)
    try:
        pages = print_document(window, document, site, path)
    except PrintError as error:
        if os.environ.get("CI", "").lower() == "true":
            raise
        pytest.skip(str(error))
    assert pages == len(PdfReader(path).pages)
    return Printed(document, path, PdfReader(path))


def test_the_cover_says_what_it_is(korean: Printed) -> None:
    for text in ("작은 책", "시험용 책", "한국어", "© 2026", "https://example.org/tiny/"):
        assert text in korean.pages[0]
    assert korean.reader.metadata is not None
    assert korean.reader.metadata.title == "작은 책"
    assert korean.reader.trailer["/Root"]["/Lang"] == "ko"


def test_nothing_in_it_tells_when_or_after_what_it_was_printed(korean: Printed) -> None:
    """So the same site gives the same bytes, where the browser takes the same fonts."""
    assert not {"/CreationDate", "/ModDate"} & {*(korean.reader.metadata or {})}
    elements = [each for each in korean.reader.xref_objStm if "/ID" in (korean.reader.get_object(each) or ())]
    assert min(str(korean.reader.get_object(each)["/ID"]) for each in elements) == "node00000000"


def test_the_bookmarks_are_the_chapters_and_their_sections(korean: Printed) -> None:
    titles = [title for title, _ in korean.bookmarks()]
    assert titles == [each.text for part in korean.document.parts for each in part.headings]
    assert titles[:4] == ["두 쪽", "1. 마스크", "마스크가 필요한 이유", "연습 문제"]
    assert titles[-3:] == ["풀이", "1. 마스크", "2. 헤드"]


def test_the_contents_number_the_pages_as_the_bookmarks_do(korean: Printed) -> None:
    entries = " ".join(f"{title} {page}" for title, page in korean.bookmarks())
    assert korean.pages[1] == f"2 목차 {entries}"


def test_each_page_bears_its_number_and_the_title_of_its_part(korean: Printed) -> None:
    title, starts = "", {page: part.headings[0].text for part, page in zip(*korean.starts(), strict=True)}
    for number, text in enumerate(korean.pages[2:], 3):
        title = starts.get(number, title)
        assert text.startswith(f"{title} {number} ")


def test_no_line_of_code_is_cut(korean: Printed, site: Path, window: Browser) -> None:
    assert "".join(LONG.split()) in "".join("".join(korean.pages).split())
    (site / "book/ko/all.html").write_text(korean.document.html, encoding="utf-8")
    with serve(site) as base, visit(window, base, viewport={"width": WIDTH, "height": 900}) as seen:
        seen.page.emulate_media(media="print")
        seen.page.goto("/book/ko/all.html")
        code = seen.page.locator("pre, pre *")
        assert code.evaluate_all("all => Math.max(...all.map(e => e.getBoundingClientRect().right))") <= WIDTH
        # Beside all lines of a wrapped line but its first stands the mark.
        line = seen.page.locator("#solutions .polyglot-line")
        whole = line.evaluate("e => e.getBoundingClientRect().height")
        one = line.evaluate("e => parseFloat(getComputedStyle(e).lineHeight)")
        mark = line.evaluate("e => parseFloat(getComputedStyle(e, '::before').height)")
        assert whole > 3 * one and mark == pytest.approx(whole - one, abs=1)


def test_a_part_has_nothing_that_paper_cannot_use(korean: Printed) -> None:
    for mark in ("headerlink", "<summary></summary>", "<button"):
        assert mark not in korean.document.html


def test_solutions_stand_at_the_end_and_point_back(korean: Printed) -> None:
    pages = dict(korean.bookmarks())
    last = pages["풀이"]
    exercise = next(number for number, text in enumerate(korean.pages, 1) if "무엇입니까?" in text)
    assert [number for number, text in enumerate(korean.pages, 1) if "넷입니다." in text] == [last]
    assert max(number for number, text in enumerate(korean.pages, 1) if "마지막 문장입니다." in text) < last
    assert f"하나의 풀이 · {last}쪽" in korean.pages[exercise - 1]
    assert f"하나 · {exercise}쪽" in korean.pages[last - 1]
    assert (exercise, "page-01-masks--solution-one") in korean.links()
    assert (last, "page-01-masks--exercise-one") in korean.links()


class SamePages:
    """A browser that prints the same file whatever it is shown."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def new_page(self, **_: Any) -> SamePages:
        return self

    def pdf(self, **_: Any) -> bytes:
        return self.data

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def test_a_full_disk_leaves_the_last_file_and_is_told_in_one_line(
    korean: Printed, four: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    target, printed = tmp_path / "tiny-ko.pdf", korean.path.read_bytes()
    target.write_bytes(b"the last good one")

    def print_it(*_: object) -> Iterator[Path]:
        browser: Any = SamePages(printed)
        print_document(browser, korean.document, tmp_path, target)
        yield target

    monkeypatch.setattr("polyhead_course.pdf.__main__.print_book", print_it)
    with full_disk(len(printed) // 2):
        assert main(["--root", str(four.root)]) == 1
    assert capsys.readouterr().err == f"[Errno 27] File too large: '{target}'\n"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        target.name: b"the last good one"
    }
    assert main(["--root", str(four.root)]) == 0
    assert len(PdfReader(target).pages) == len(korean.reader.pages)


def test_links_within_the_book_stay_in_it(korean: Printed) -> None:
    links = [target for _, target in korean.links()]
    assert "page-01-masks--polarity" in links
    assert all(each.startswith(("page-", "solutions", "https://")) for each in links)
    assert not [each for each in links if "book.invalid" in each]
    ids = re.findall(r'\sid="([^"]*)"', korean.document.html)
    assert len(ids) == len(set(ids))
    assert {each for each in links if not each.startswith("https:")} <= set(ids)


def test_long_lines_of_code_stand_in_elements_of_their_own() -> None:
    assert with_lines("<pre>x = 1\n</pre>") == '<pre class="polyglot-short">x = 1\n</pre>'
    for line in ("x" * 61, "注" * 31):
        wrapped = f'<pre class="polyglot-short"><span class="polyglot-line">{line}\n</span>y\n</pre>'
        assert with_lines(f"<pre>{line}\ny</pre>") == wrapped
    assert with_lines(f"<pre>{'&lt;' * 60}</pre>").count("span") == 0
    assert "short" not in with_lines("<pre>" + "x\n" * 13 + "</pre>")
    # Where a page may end inside it, every line can be counted.
    assert with_lines(f"<pre>{'x' * 61}\n" + "y\n" * 13 + "</pre>").count("polyglot-line") == 14


def test_a_heading_with_a_formula_has_a_plain_text() -> None:
    assert Heading("x", "Why <math><msqrt><mi>n</mi></msqrt></math>, <code>f</code>").text == "Why √n, f"


def command(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "polyhead_course.pdf", "--root", str(root), *arguments]
    return subprocess.run(
        line, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_the_command_writes_a_file_for_a_language(four: Built, window: Browser, tmp_path: Path) -> None:
    root = shutil.copytree(four.root, tmp_path / "book")
    done = command(root, "en")
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = (root / "_build" / "pdf").iterdir()
    pages = len(PdfReader(path).pages)
    assert path.name == "tiny-en.pdf" and pages > 4
    assert done.stdout.startswith(f"{path}: {pages} pages, ")


def test_killed_at_random_moments_it_leaves_the_last_file_or_a_whole_one(
    four: Built, window: Browser, tmp_path: Path
) -> None:
    root = shutil.copytree(four.root, tmp_path / "book")
    target = root / "_build" / "pdf" / "tiny-en.pdf"
    start = time.monotonic()
    assert command(root, "en").returncode == 0
    takes, pages = time.monotonic() - start, len(PdfReader(target).pages)
    chance, kept = random.Random(27), 0
    for _ in range(3):
        target.write_bytes(b"the last good one")
        line = [sys.executable, "-m", "polyhead_course.pdf", "--root", str(root), "en"]
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(chance.uniform(0, takes))
            process.kill()
        kept += (last := target.read_bytes() == b"the last good one")
        assert last or len(PdfReader(target).pages) == pages
    assert kept > 0
    assert command(root, "en").returncode == 0
    assert len(PdfReader(target).pages) == pages


def test_without_a_font_for_its_language_nothing_is_printed(
    four: Built, window: Browser, tmp_path: Path
) -> None:
    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    config = f"<fontconfig><dir>{fonts}</dir><cachedir>{tmp_path}</cachedir></fontconfig>"
    (tmp_path / "fonts.conf").write_text(config, encoding="utf-8")
    done = command(four.root, "ko", FONTCONFIG_FILE=str(tmp_path / "fonts.conf"))
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"no font has 국.*\(한국어\); Debian: apt-get install fonts-noto-cjk\n", done.stderr)
    assert not (four.root / "_build" / "pdf" / "tiny-ko.pdf").exists()


@pytest.mark.parametrize(
    ("built", "code", "message"),
    [
        (True, "xx", "no such language: xx"),
        (False, "ko", "no built site with pages in ko; `make site` builds it"),
        (True, "ko", "apt-get install chromium"),
    ],
)
def test_what_is_missing_is_an_error_in_one_line(
    four: Built,
    four_copy: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    built: bool,
    code: str,
    message: str,
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["--root", str(four.root if built else four_copy), code]) == 1
    output, errors = capsys.readouterr()
    assert output == "" and message in errors and errors.count("\n") == 1
