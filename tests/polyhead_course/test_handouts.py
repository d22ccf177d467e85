"""Slides made of a built page, and the archive of a language's figures."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from polyglot_book.config import Book
from polyhead_course.handouts.__main__ import main
from polyhead_course.handouts.archives import pack_figures
from polyhead_course.handouts.decks import Slide, sentences_of, slides_of
from polyhead_course.workshop.browser import run_program
from tests.browser import Browser
from tests.building import Built

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="70" height="30">'
    '<path fill="#f00" d="M0 0h70v30H0z"/></svg>'
)
PAGE = """<article><section id="top"><h1>Masks<a class="headerlink">#</a></h1>
<p>Who sees whom? A question.</p>
<section><h2>In rows</h2><p>Before.</p>
<div class="cell"><div class="cell_input"><pre>plot()</pre></div>
<div><svg class="polyglot-figure" id="a"></svg></div></div>
<p>Rows are queries, e.g. 2.5 of them. The rest is said later.</p></section>
<section><h2>As a formula</h2><p>First this. Then that:</p>
<div><math display="block"><mi>A</mi></math></div></section>
<section><h2>A word</h2><p>Nothing yet. A <strong>blind</strong> row sees nothing. More.</p></section>
<section><h2>Nothing to show</h2><p>Just text.</p>
<details><p><strong>folded</strong> text</p></details></section>
<section><h2>Exercises</h2>
<div class="exercise admonition"><p class="admonition-title">One (easy)</p></div>
<div class="exercise admonition"><p class="admonition-title">Two (hard)</p></div>
</section></section></article>"""


def test_a_page_becomes_its_title_its_pictures_its_terms_and_its_exercises() -> None:
    first, figure, formula, term, exercises = slides_of(PAGE)
    assert first == Slide("Masks", "Who sees whom? A question.")
    assert (figure.heading, figure.sentence) == ("In rows", "Rows are queries, e.g. 2.5 of them.")
    assert figure.picture.startswith("<svg") and "plot" not in figure.picture
    assert (formula.sentence, formula.picture[:5]) == ("Then that:", "<math")
    assert term == Slide("A word", "A <strong>blind</strong> row sees nothing.")
    assert exercises.picture == "<ol><li>One (easy)</li><li>Two (hard)</li></ol>"


@pytest.mark.parametrize(
    ("paragraph", "first"),
    [
        ("他說：「看不見。」然後走了。", "他說：「看不見。」"),
        ("가중치의 합은 1입니다. 출력은 평균입니다.", "가중치의 합은 1입니다."),
        ("Vaswani et al. (2017) add <math><mi>a.</mi></math> to it! Why?", None),
    ],
)
def test_sentences_end_where_those_of_their_language_do(paragraph: str, first: str | None) -> None:
    assert sentences_of(paragraph)[0] == (first or paragraph.removesuffix(" Why?"))


def test_a_page_of_another_site_is_refused() -> None:
    with pytest.raises(ValueError, match="no article"):
        slides_of("<p>text</p>")


def test_an_archive_has_each_figure_as_svg_and_png(window: Browser, tmp_path: Path) -> None:
    output = nbformat.v4.new_output("display_data", data={"image/svg+xml": SVG})
    cells = [
        nbformat.v4.new_code_cell("show()", id="strip", outputs=[output]),
        nbformat.v4.new_code_cell("1"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "02-masks.ipynb")
    assert pack_figures(tmp_path, tmp_path / "figures.zip", window) == 1
    before = (tmp_path / "figures.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "figures.zip") as packed:
        assert packed.namelist() == ["02-masks/strip.svg", "02-masks/strip.png"]
        assert packed.read("02-masks/strip.svg").decode() == SVG
        picture = Image.open(BytesIO(packed.read("02-masks/strip.png"))).convert("RGB")
    assert picture.size == (210, 90) and picture.getpixel((100, 40)) == (255, 0, 0)
    pack_figures(tmp_path, tmp_path / "figures.zip", window)
    assert (tmp_path / "figures.zip").read_bytes() == before


def test_every_chapter_with_exercises_gets_its_slides(full: Built, window: Browser) -> None:
    line = [sys.executable, "-m", "polyhead_course.handouts", "ko", "--root", str(full.root)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "ko, slides of 1 chapters" in done.stdout
    files = {path.name for path in (full.root / "_build" / "handouts").iterdir()}
    assert files == {"tiny-ko-01-masks-slides.html", "tiny-ko-figures.zip"}
    deck = (full.root / "_build/handouts/tiny-ko-01-masks-slides.html").read_text("utf-8")
    assert deck.startswith("<!DOCTYPE html>") and 'lang="ko"' in deck and "https://example.org/tiny/" in deck


def test_what_is_no_longer_made_is_removed_when_all_languages_are(tmp_path: Path) -> None:
    languages = "{en: {locale: en, name: English, title: T}, ko: {locale: ko, name: 한국어, title: T}}"
    (tmp_path / "polyglot.yml").write_text(f"languages: {languages}\n", encoding="utf-8")
    folder = tmp_path / "_build" / "slides"
    folder.mkdir(parents=True)
    (folder / "left").write_text("of a chapter that is gone")

    def make(book: Book, site: Path, target: Path, codes: Iterable[str]) -> Iterator[Path]:
        assert (site, target) == (tmp_path / "_build" / "html", folder)
        for code in codes:
            (target / code).write_text("new")
            yield target / code

    for arguments, expected in ((["ko"], {"ko", "left"}), ([], {"en", "ko"})):
        assert run_program("slides", "", make, ["--root", str(tmp_path), *arguments]) == 0
        assert {path.name for path in folder.iterdir()} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--root", "/nowhere"], "no such file; run this in the book's root or give --root"),
        (["xx"], "no such language: xx"),
        (["ko"], "no built site; `make site` builds it"),
    ],
)
def test_what_is_missing_is_an_error_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    languages = "{ko: {locale: ko, name: 한국어, title: T}}"
    (tmp_path / "polyglot.yml").write_text(f"languages: {languages}\n", encoding="utf-8")
    assert main(["--root", str(tmp_path), *arguments]) == 1
    output, errors = capsys.readouterr()
    assert output == "" and message in errors and errors.count("\n") == 1
