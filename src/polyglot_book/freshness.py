"""Knows what a notebook's outputs depend on beside its code, and remembers it in a file that git ignores."""

from __future__ import annotations

import ast
import hashlib
import json

from polyglot_book.chapters import Chapter
from polyglot_book.config import Book
from polyglot_book.contents import outline, overview

RECORDS = ".notebooks.json"
_OF_THE_SITE = {".js", ".css"}  # no notebook reads them


def library_hash(book: Book) -> str:
    """Hash the files of the library that the notebooks import, but for its docstrings."""
    digest = hashlib.sha256()
    for folder in book.library:
        for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).as_posix()):
            parts = path.relative_to(folder).parts
            if not path.is_file() or "__pycache__" in parts or any(part.startswith(".") for part in parts):
                continue
            if path.suffix in _OF_THE_SITE:
                continue
            data = path.read_bytes()
            if path.suffix == ".py":
                data = _without_docstrings(data)
            digest.update(f"{book.relative(path)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _without_docstrings(source: bytes) -> bytes:
    """Blank out docstrings and empty lines; comments stay, since a chapter may print the source."""
    lines = source.splitlines()
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the chapters that import it will say so
        return source
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            start, end = text.lineno - 1, text.end_lineno or text.lineno
            rest = lines[start][: text.col_offset] + lines[end - 1][text.end_col_offset :]
            lines[start:end] = [rest] + [b""] * (end - start - 1)
    return b"\n".join(line for line in lines if line.strip())


def state(book: Book, code: str, chapter: Chapter, library: str) -> str:
    """Give the state of what a chapter's outputs depend on beside its code.

    Args:
        book: The book.
        code: The chapter's language.
        chapter: The chapter.
        library: The hash of the library, which all chapters share.
    """
    source = "\n".join(cell.source for cell in chapter.code)
    asked = [each for each in (outline, overview) if f"{each.__name__}(" in source]
    told = "".join(json.dumps(each(book.notebooks_dir(code))) for each in asked)
    return hashlib.sha256(f"{library}{told}".encode()).hexdigest() if told else library


def read_records(book: Book) -> dict[str, str]:
    """Read with which state each notebook was last executed; in a fresh clone nothing is known."""
    try:
        records = json.loads((book.root / RECORDS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def write_records(book: Book, records: dict[str, str]) -> None:
    """Write with which state each notebook was last executed."""
    text = json.dumps(records, indent=0, sort_keys=True)
    (book.root / RECORDS).write_text(text, encoding="utf-8")
