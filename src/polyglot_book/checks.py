"""Runs every check of a book; checks what no language changes, the contents, and the stored notebooks.

In the notebooks it finds what nbval accepts: cells never executed, old text, bitmaps, output on stderr.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from posixpath import join
from typing import Any

import yaml
from nbformat import NotebookNode

from polyglot_book import ipynb
from polyglot_book.chapters import read_all, stems
from polyglot_book.config import Book
from polyglot_book.markdown import CellParts, formula_key, parse_cell
from polyglot_book.notebooks import make_notebook, orphans
from polyglot_book.translations import check_translations, finished_cells
from polyglot_book.violations import Violation
from polyglot_book.wording import check_wording

TOC = "_toc.yml"
_PAGE_LINK = re.compile(r"([\w.-][\w./ -]*)\.(?:ipynb|md)(?:#.*)?")
_COUNTS = (
    ("links", "link to the same places, as often"),
    ("formulas", r"only the words in \text{…} may differ"),
    ("code", "keep the same `code` in the prose"),
    ("directives", "use the same directives, roles and fences"),
)
_WIKIPEDIA = re.compile(r"https?://\w+\.(m\.)?wikipedia\.org/").match
_BITMAPS = ("image/png", "image/jpeg", "image/gif")
_MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|tmp|var|opt|usr|private|mnt|work|workspace|builds?|srv|data)/[\w.@-]+"
    r"|\b[A-Za-z]:\\+(?:Users|Windows|Program|tmp|Temp)\b"
)
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_AGAIN = "run `polyglot run`"
_Finding = tuple[str, str, str]  # the cell's id, what is wrong, what to do


def check_book(book: Book) -> list[Violation]:
    """Run every check.

    Returns:
        All violations, those of chapters that cannot be read first.
    """
    # check_translations names the chapters that cannot be read.
    checks = (check_translations, check_parity, check_wording, check_notebooks, check_toc)
    return list(dict.fromkeys(violation for check in checks for violation in check(book)))


def summary(book: Book, violations: list[Violation]) -> str:
    """Summarize in one line what was checked and how many violations there are."""
    chapters, _ = read_all(book)
    cells = sum(len(chapter.cells) for chapter in chapters.values())
    count = len({stem for _, stem in chapters})
    numbers = {"chapter": count, "language": len(book.languages), "cell": cells, "violation": len(violations)}
    *checked, found = (f"{number} {noun}{'' if number == 1 else 's'}" for noun, number in numbers.items())
    return f"{', '.join(checked)}: {found}"


def check_parity(book: Book) -> list[Violation]:
    """Compare every Markdown cell with the reference's cell of the same id."""
    return [
        Violation(chapter.file, cell.id, *finding)
        for code, chapter, cell, other in finished_cells(book)
        if other and cell.kind == other.kind == "markdown"
        for finding in _differences(
            parse_cell(other.source, book.reference.code, book.extensions),
            parse_cell(cell.source, code, book.extensions),
            more_links=other.metadata.get("links") == "more",
        )
    ]


def _differences(expected: CellParts, actual: CellParts, *, more_links: bool) -> Iterator[tuple[str, str]]:
    if expected.headings != actual.headings:
        problem = f"headings of levels {actual.headings} where the reference has {expected.headings}"
        yield problem, "give the headings the same levels, in order"
    for name, remedy in _COUNTS:
        first, second = getattr(expected, name), getattr(actual, name)
        lacks, adds = first - second, second - first
        if name == "links":
            # Of Wikipedia's pages, each language has its own.
            own = [each for each in adds.elements() if "://" in each]
            for each, other in zip([*filter(_WIKIPEDIA, lacks.elements())], own, strict=False):
                lacks, adds = lacks - Counter([each]), adds - Counter([other])
            adds = Counter() if more_links else adds
        elif name == "code":  # a name may become code
            adds = Counter({each: adds[each] for each in adds if not _mentions(expected, each)})
        elif name == "formulas":
            lacks, adds = _other_formulas(expected, actual)
        differences = {"lacks": lacks, "adds": adds}.items()
        if parts := [f"{word} {', '.join(map(repr, each.elements()))}" for word, each in differences if each]:
            yield f"{name}: {' and '.join(parts)}", remedy


def _mentions(cell: CellParts, word: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", each.text, re.ASCII) for each in cell.prose)


def _other_formulas(expected: CellParts, actual: CellParts) -> tuple[Counter[str], Counter[str]]:
    """Return the formulas that only one of two cells has, written in whatever way."""
    sides = expected, actual
    keys = [Counter(map(formula_key, side.formulas.elements())) for side in sides]
    only = [keys[0] - keys[1], keys[1] - keys[0]]
    # As several formulas, `$a, b$` is `$a$ and $b$`.
    parts = [Counter(part.strip() for key in each.elements() for part in key.split(",")) for each in only]
    if parts[0] == parts[1]:
        return Counter(), Counter()
    if not all(only):
        # A sign may be repeated or not, and a number be a word.
        for this, other in ((0, 1), (1, 0)):
            for key in [*only[this]]:
                if "=" not in key and (key in keys[other] or _mentions(sides[other], key.replace(" ", ""))):
                    del only[this][key]
    lacks, adds = ({each: only[n][formula_key(each)] for each in sides[n].formulas} for n in (0, 1))
    return +Counter(lacks), +Counter(adds)


def check_toc(book: Book) -> list[Violation]:
    """Compare the table of contents with the chapters, and check the links between chapters."""
    return [*_toc_entries(book), *_page_links(book)]


def _toc_entries(book: Book) -> Iterator[Violation]:
    path = toc_file(book.root)
    if path is None:
        return
    try:
        entries = toc_pages(path)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        yield Violation(path.name, "", f"not valid YAML: {' '.join(str(error).split())}", "correct it")
        return
    chapters = [join(book.folder, code, stem) for code in book.languages for stem in stems(book, code)]
    for page in chapters:
        if not any(fnmatch(page, entry) for entry in entries):
            yield Violation(path.name, "", f"it lacks the chapter {page}", f"add `- file: {page}`")
    remedy = "write it, or remove the line"
    for page in entries:
        if page not in chapters and not any(path.parent.glob(f"{page}.*")):
            yield Violation(path.name, "", f"it has {page}, which does not exist", remedy)


def toc_file(root: Path) -> Path | None:
    """Return the file with the table of contents, `_toc.yml`, or `myst.yml` of MyST's own engine."""
    files = (root / name for name in (TOC, "myst.yml"))
    return next((path for path in files if path.is_file()), None)


def toc_pages(path: Path) -> list[str]:
    """List the pages and the patterns of a table of contents, without their endings."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name != TOC:
        document = ((document or {}).get("project") or {}).get("toc")
    return list(_pages(document))


def _pages(value: Any) -> Iterator[str]:
    """List the pages of a table of contents, at any depth, without their endings."""
    if isinstance(value, dict):
        pages = (value[key] for key in ("root", "file", "glob") if isinstance(value.get(key), str))
        yield from (re.sub(r"\.(ipynb|md|rst)$", "", page) for page in pages)
        value = [*value.values()]
    for each in value if isinstance(value, list) else ():
        yield from _pages(each)


def _page_links(book: Book) -> Iterator[Violation]:
    """Find the links to a chapter that the language lacks."""
    present = {code: stems(book, code) for code in book.languages}
    for language in filter(lambda each: each.partial, book.translations):
        present[language.code] = present[book.reference.code]
    for code, chapter, cell, _ in finished_cells(book):
        links = parse_cell(cell.source, code, book.extensions).links if cell.kind == "markdown" else ()
        here = (book.root / chapter.file).parent
        for link in links:
            page = _PAGE_LINK.fullmatch(link)
            stem = os.path.relpath(here / page[1], book.chapters_dir(code)) if page else ".."
            if not stem.startswith("..") and stem not in present[code]:
                problem = f"a link to {link}: there is no chapter {stem} in {code}"
                yield Violation(chapter.file, cell.id, problem, "write the chapter, or correct the link")


def check_notebooks(book: Book) -> list[Violation]:
    """Compare every notebook with its chapter, and find what its outputs must not hold."""
    orphan = ("", "a notebook without a chapter", f"{_AGAIN}, which removes it")
    violations = [Violation(book.relative(path), *orphan) for path in orphans(book)]
    for (code, stem), chapter in read_all(book)[0].items() if not book.in_place else ():
        path = book.notebooks_dir(code) / f"{stem}.ipynb"
        try:
            notebook = ipynb.read_notebook(path)
            expected = make_notebook(chapter)
            findings = [*_compare(expected, notebook), *_outputs(notebook, book)]
        except FileNotFoundError:
            findings = [("", f"{chapter.file} has no notebook", _AGAIN)]
        except ipynb.NotebookError:
            findings = [("", "not a valid notebook", _AGAIN)]
        violations += [Violation(book.relative(path), *finding) for finding in findings]
    return violations


def _compare(expected: NotebookNode, actual: NotebookNode) -> Iterator[_Finding]:
    """Compare a notebook with what its chapter makes, except for its outputs."""
    if (expected.metadata, expected.nbformat_minor) != (actual.metadata, actual.nbformat_minor):
        yield "", "its metadata is not what the chapter makes", _AGAIN
    cells, others = (
        {cell.id: (cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells}
        for notebook in (expected, actual)
    )
    if list(cells) != list(others) and cells.keys() == others.keys():
        yield "", "its cells are in another order than the chapter's", _AGAIN
    differ = [each for each in {**cells, **others} if cells.get(each) != others.get(each)]
    remedy = f"edit the chapter, then {_AGAIN}"
    if len(differ) == 1:
        yield differ[0], "it differs from the chapter's cell", remedy
    elif differ:
        yield "", f"{len(differ)} cells differ from the chapter's: {', '.join(differ)}", remedy


def _outputs(notebook: NotebookNode, book: Book) -> Iterator[_Finding]:
    for number, cell in enumerate(ipynb.code_cells(notebook), start=1):
        if "execution" in cell.metadata:
            yield cell.id, "execution timestamps", _AGAIN
        if cell.execution_count is None:
            yield cell.id, "never executed", _AGAIN
        elif cell.execution_count != number:
            yield cell.id, f"executed as number {cell.execution_count}, expected {number}", _AGAIN
        if cell.outputs and ipynb.is_starter(cell):
            yield cell.id, "the output of a starter", _AGAIN
        for output in cell.outputs:
            yield from ((cell.id, *finding) for finding in _output(cell, output, book))
        if ipynb.is_solution(cell) and book.verdicts:
            lines = [line for output in cell.outputs for text in _texts(output) for line in text.splitlines()]
            judged = [line for line in lines if line.startswith(tuple(book.verdicts.values()))]
            # The last verdict counts: a solution may show a mistake first.
            if judged and judged[-1].startswith(book.verdicts["wrong"]):
                yield cell.id, f"its check calls the solution wrong: {judged[-1]}", "correct one of them"


def _output(cell: NotebookNode, output: NotebookNode, book: Book) -> Iterator[tuple[str, str]]:
    if output.output_type == "error" and "raises-exception" not in ipynb.tags(cell):
        yield f"stored error {output.ename}", "correct the code, or tag it raises-exception"
    if output.output_type == "stream" and output.name == "stderr":
        start = " ".join(output.text.split())[:80]
        yield f"output on stderr: {start}", "remove the cause of the warning"
    data = output.get("data", {})
    for kind in _BITMAPS:
        if kind in data and book.vector_figures:
            yield f"a bitmap ({kind}), which nbval does not compare", "draw it as SVG"
    if ipynb.SVG in data and not ipynb.alternative_text(cell).strip():
        yield "a figure without alternative text", "describe it under mystnb: image: alt"
    texts = _texts(output)
    for pattern, what in ((_MACHINE_PATH, "a path of one machine"), (_ADDRESS, "a memory address")):
        if match := next(filter(None, map(pattern.search, texts)), None):
            yield f"{what} in its output: {match.group()}", "print what every machine prints"


def _texts(output: NotebookNode) -> list[str]:
    """List the texts of an output, of every kind."""
    if output.output_type == "error":
        return [output.evalue, *output.traceback]
    values = output.data.values() if "data" in output else [output.text]
    return [value for value in values if isinstance(value, str)]
