"""The notebooks that a page offers, and where they can be run."""

from __future__ import annotations

from types import SimpleNamespace

import nbformat
import pytest

from polyhead_course.theme.page_links import github_name
from sphinx_polyglot.pages import site_address
from tests.building import Built
from tests.pages import value


def offers(built: Built, docname: str) -> list[tuple[str, str, str]]:
    """Give the entries of a page's menu: words, address, name of the file."""
    links = built.page(docname).css(".polyglot-download a")
    return [(link.text(), value(link, "href"), value(link, "download")) for link in links]


def notebook(built: Built, docname: str, href: str) -> nbformat.NotebookNode:
    path = (built.html / docname).parent / href
    return nbformat.read(path, as_version=4)


def test_a_page_offers_its_notebook_in_its_translations(four: Built) -> None:
    name = "tiny-ko-01-masks.ipynb"
    assert offers(four, "book/ko/01-masks") == [("노트북", f"../../notebooks/{name}", name)]
    assert offers(four, "book/zh-TW/02-heads")[0][0] == "notebook 檔"
    copy = notebook(four, "book/ko/01-masks", f"../../notebooks/{name}")
    nbformat.validate(copy)
    texts = "\n".join(cell.source for cell in copy.cells if cell.cell_type == "markdown")
    assert "<summary>풀이</summary>" in texts
    assert "(#cell-id=why)" in texts
    assert all(cell.id != "install" for cell in copy.cells)
    other = notebook(four, "book/ko/02-heads", "../../notebooks/tiny-ko-02-heads.ipynb")
    assert "[첫 쪽의 극성](https://example.org/tiny/book/ko/01-masks.html#polarity)" in nbformat.writes(other)


@pytest.mark.parametrize("docname", ["book/index", "book/ko/index"])
def test_pages_that_are_no_chapters_offer_none(four: Built, docname: str) -> None:
    assert offers(four, docname) == []


def test_a_published_book_offers_where_its_notebooks_run(full: Built) -> None:
    whole, student, sheet, colab, binder, slides, figures, paper = offers(full, "book/ko/01-masks")
    assert sheet == ("연습 문제지(인쇄용)", "?sheet", "")
    assert colab == (
        "Colab에서 열기",
        "https://colab.research.google.com/github/nobody/tiny/blob/notebooks/tiny-ko-01-masks.ipynb",
        "",
    )
    assert binder[1] == "https://mybinder.org/v2/gh/nobody/tiny/HEAD?labpath=lab%2Fko%2F01-masks.ipynb"
    assert paper == ("모든 장(PDF)", "../../pdf/tiny-ko.pdf", "tiny-ko.pdf")
    assert slides[1] == "../../handouts/tiny-ko-01-masks-slides.html"
    assert figures[1] == "../../handouts/tiny-ko-figures.zip"
    assert offers(full, "book/ko/index") == [figures, paper]
    assert student[::2] == ("풀이를 뺀 노트북", "tiny-ko-01-masks-student.ipynb")
    install = notebook(full, "book/ko/01-masks", whole[1]).cells[0]
    assert install.id == "install"
    assert "find_spec('tiny')" in install.source
    assert "    %pip install -q https://example.org/tiny/tiny-1-py3-none-any.whl" in install.source
    assert "solids" not in install.source
    imports_shapes = notebook(full, "book/ko/02-names", offers(full, "book/ko/02-names")[0][1])
    assert "    %pip install -q solids==2" in imports_shapes.cells[0].source
    copy = notebook(full, "book/ko/01-masks", student[1])
    assert copy.cells[0].source == "*학생용: 이 노트북에는 풀이와 출력이 없습니다.*"
    assert not [cell for cell in copy.cells if cell.id == "solution-one" or cell.get("outputs")]
    # A page without solutions needs no copy for students.
    names = [offer[0] for offer in offers(full, "book/ko/02-names")]
    assert names == ["노트북", colab[0], binder[0], figures[0], paper[0]]


@pytest.mark.parametrize(
    ("baseurl", "repository", "expected"),
    [
        ("", "", ("", "")),
        ("https://book.example/", "", ("", "")),
        ("https://b.org", "https://github.com/a/b.git", ("https://b.org/", "a/b")),
        ("https://book.org/x/", "https://code.org/a/b/", ("https://book.org/x/", "")),
        ("", "https://github.com/nobody/tiny/", ("", "nobody/tiny")),
    ],
)
def test_addresses_are_normalised(baseurl: str, repository: str, expected: tuple[str, ...]) -> None:
    config = SimpleNamespace(html_baseurl=baseurl, polyglot_repository=repository)
    assert (site_address(config), github_name(config)) == expected
