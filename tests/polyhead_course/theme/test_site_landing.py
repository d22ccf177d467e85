"""The page where a language is chosen: what the book holds in each language, and a picture."""

from __future__ import annotations

import json
from pathlib import Path

from tests.building import Built, build

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text x="1" y="9">잎</text></svg>'
FACTS = "1 chapters, 2 exercises with solutions. {} code cells, each executed again and compared."
KO_FACTS = "전체 1장, 풀이가 딸린 연습 문제 2개. 코드 셀 {}개를 모두 다시 실행해 출력을 비교했습니다."


def _exercise(name: str) -> dict[str, object]:
    text = f":::{{admonition}} {name}\n:class: exercise\nWhy?\n:::"
    return {"cell_type": "markdown", "id": f"exercise-{name}", "metadata": {}, "source": [text]}


def _change(path: Path, *cells: dict[str, object], **metadata: object) -> int:
    """Add cells and metadata to a notebook; give the number of code cells in its folder."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] += cells
    notebook["metadata"] |= metadata
    path.write_text(json.dumps(notebook), encoding="utf-8")
    texts = [each.read_text(encoding="utf-8") for each in path.parent.glob("*.ipynb")]
    return sum(cell["cell_type"] == "code" for text in texts for cell in json.loads(text)["cells"])


def _facts(built: Built) -> list[str]:
    return [each.text() for each in built.page("book/index").css(".polyglot-card-facts")]


def test_a_book_without_chapters_has_no_facts(four: Built) -> None:
    assert _facts(four) == []
    assert not four.page("book/index").css(".polyglot-welcome")


def test_each_card_counts_what_its_language_holds(fresh: Path) -> None:
    cells = [
        _change(fresh / f"book/{code}/01-masks.ipynb", _exercise("a"), _exercise("b"), needs=[])
        for code in ("en", "ko")
    ]
    built = build(fresh)
    assert built.code == 0, built.log
    assert _facts(built) == [FACTS.format(cells[0]), KO_FACTS.format(cells[1])]

    _change(fresh / "book/ko/02-heads.ipynb", _exercise("c"), needs=["01-masks"])
    again = build(fresh)
    assert "book/index" in again.written()
    assert "2장" in _facts(again)[1]
    assert build(fresh).written() == set()


def test_a_picture_from_a_notebook_stands_beside_the_cards(fresh: Path) -> None:
    notebook, page = fresh / "book/ko/01-masks.ipynb", fresh / "book/index.md"
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/svg+xml": SVG, "text/plain": "leaf"},
    }
    image = {"mystnb": {"image": {"alt": "잎"}}}
    drawn = {"cell_type": "code", "id": "leaf", "metadata": image, "source": [], "execution_count": 9}
    _change(notebook, {**drawn, "outputs": [output]})
    fence = "```{choose-language}\n"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace(fence, f"{fence}:figure: ko/01-masks#leaf\n:alt: A leaf\n"), encoding="utf-8"
    )
    built = build(fresh)
    assert built.code == 0, built.log
    picture = built.page("book/index").css_first(".polyglot-welcome > .polyglot-cards-picture")
    assert picture.attributes["lang"] == "ko"
    assert picture.css_first("svg").attributes["lang"] == "en"
    assert picture.css_first("svg").attributes["aria-label"] == "A leaf"
    assert picture.css_first("text").text() == "잎"

    notebook.write_text(notebook.read_text(encoding="utf-8").replace('"leaf"', '"bough"'), encoding="utf-8")
    gone = build(fresh)
    assert gone.code != 0
    assert "no cell of a notebook has drawn 'ko/01-masks#leaf'" in gone.log
