"""Knows what a notebook's outputs depend on beside its code, and remembers it in a file that git ignores."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path

from polyglot_book.config import Book
from polyglot_book.contents import outline, overview

RECORDS = ".notebooks.json"
_OF_THE_SITE = {".js", ".css"}  # no notebook reads them


def library_hash(book: Book) -> str:
    """Hash the files of the library that the notebooks import, but for its docstrings."""
    return _hash(
        (name, _without_docstrings(data) if name.endswith(".py") else data) for name, data in _files(book)
    )


def _files(book: Book) -> Iterator[tuple[str, bytes]]:
    for folder in book.library:
        for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).as_posix()):
            parts = path.relative_to(folder).parts
            hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
            if path.is_file() and not hidden and path.suffix not in _OF_THE_SITE:
                yield book.relative(path), path.read_bytes()


def _hash(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
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


def state(book: Book, code: str, text: str, library: str) -> str:
    """Give the state of what a chapter's outputs depend on beside its code.

    Args:
        book: The book.
        code: The chapter's language.
        text: The chapter.
        library: The hash of the library, which all chapters share.
    """
    asked = [each for each in (outline, overview) if f"{each.__name__}(" in text]
    told = "".join(json.dumps(each(book.notebooks_dir(code))) for each in asked)
    return hashlib.sha256(f"{library}{told}".encode()).hexdigest() if told else library


def pair_hash(chapter: bytes, notebook: bytes) -> str:
    """Hash a chapter, its stored notebook, and the code that compares them."""
    digest = hashlib.sha256(_tools())
    for each in (chapter, notebook):
        digest.update(hashlib.sha256(each).digest())
    return digest.hexdigest()


@cache
def _tools() -> bytes:
    own = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return b"".join([*own, *(version(each).encode() for each in ("jupytext", "nbformat"))])


@dataclass
class Records:
    """What is known of the notebooks here; in a fresh clone nothing is.

    Attributes:
        executed: With which `state` each notebook was last executed.
        compared: The `pair_hash` of each notebook that was found to be what its chapter makes.
        library: The `library_hash` by the hash of the same files as they are.
    """

    executed: dict[str, str] = field(default_factory=dict)
    compared: dict[str, str] = field(default_factory=dict)
    library: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, book: Book) -> Records:
        """Read them; what cannot be read is not known."""
        try:
            found = json.loads((book.root / RECORDS).read_text(encoding="utf-8"))
            return cls(*(dict(found[each.name]) for each in fields(cls)))
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def library_hash(self, book: Book) -> str:
        """Give the `library_hash`, which takes time only where a file has changed."""
        files = _hash([("", _tools()), *_files(book)])
        if files not in self.library:
            self.library = {files: library_hash(book)}
        return self.library[files]

    def write(self, book: Book) -> None:
        """Write them, where they are not what is written there."""
        if self != self.read(book):
            text = json.dumps(asdict(self), indent=0, sort_keys=True)
            (book.root / RECORDS).write_text(text, encoding="utf-8")
