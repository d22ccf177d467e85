"""Checks that the table of contents, `_toc.yml`, has every chapter, and that its pages exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from polyglot_book.chapters import read_all, stems
from polyglot_book.config import Book
from polyglot_book.files import read_text
from polyglot_book.markdown import anatomy
from polyglot_book.violations import Violation

TOC = "_toc.yml"
_PAGE_LINK = re.compile(r"([\w-]+)\.(?:ipynb|md)(?:#.*)?")


def check_toc(book: Book) -> list[Violation]:
    """Compare the table of contents with the chapters, and check the links between chapters."""
    return [*_toc_entries(book), *_page_links(book)]


def _toc_entries(book: Book) -> Iterator[Violation]:
    path = book.root / TOC
    if not path.is_file():
        return
    try:
        entries = list(_pages(yaml.safe_load(read_text(path))))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        yield Violation(TOC, "", f"not valid YAML: {' '.join(str(error).split())}", "correct it")
        return
    chapters = [f"{book.folder}/{code}/{stem}" for code in book.languages for stem in stems(book, code)]
    for page in chapters:
        if page not in entries:
            yield Violation(TOC, "", f"it lacks the chapter {page}", f"add `- file: {page}`")
    for page in entries:
        if page not in chapters and not any((book.root / page).parent.glob(f"{(book.root / page).name}.*")):
            yield Violation(TOC, "", f"it has {page}, which does not exist", "write it, or remove the line")


def _pages(value: Any) -> Iterator[str]:
    """List the pages of a table of contents, at any depth, without their endings."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key in ("file", "root") and isinstance(each, str):
                yield re.sub(r"\.(ipynb|md|rst)$", "", each)
            else:
                yield from _pages(each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _pages(each)


def _page_links(book: Book) -> Iterator[Violation]:
    """Find the links to a chapter that the language lacks."""
    for (code, _), chapter in read_all(book)[0].items():
        present = stems(book, code)
        for cell in chapter.cells:
            links = anatomy(cell.source, code, book.extensions).links if cell.kind == "markdown" else ()
            for link in links:
                if (page := _PAGE_LINK.fullmatch(link)) and page[1] not in present:
                    problem = f"a link to {link}: there is no chapter {page[1]} in {code}"
                    yield Violation(chapter.file, cell.id, problem, "write the chapter, or correct the link")
