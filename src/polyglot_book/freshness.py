"""Knows which stored outputs are still what the library would compute.

Each execution of a notebook is a `Run`: a hash of what went in (the library, the entries of the terminology
that it read, the contents of other chapters where it lists them) and a hash of the code and the outputs. A
notebook is up to date if a run is known with the present input and the present result. What a run says stays
true, so after a switch of branches, or when a change is undone, nothing is executed again.

The last run of each notebook is committed, in `runs.jsonl` beside the notebooks, for fresh clones. All runs
of this machine, and what takes time to compute, are in a file below `_build`, which may be lost.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from polyglot_book.config import Book
from polyglot_book.contents import outline, overview
from polyglot_book.files import write_atomically
from polyglot_book.ipynb import code_cells, is_starter, tags

RUNS = "runs.jsonl"
CACHE = "_build/notebooks.json"
_SITE_ONLY = {".js", ".css", ".html"}  # no notebook reads them
_RUNS_OF_A_NOTEBOOK, _RESULTS = 20, 1000  # that this machine remembers


def library_hash(book: Book) -> str:
    """Hash the files of the library that the notebooks import, without its docstrings and the terminology."""
    return _hash_files(
        (name, _without_docstrings(data) if name.endswith(".py") else data) for name, data in _files(book)
    )


def _files(book: Book) -> Iterator[tuple[str, bytes]]:
    for folder in book.library:
        for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).as_posix()):
            parts = path.relative_to(folder).parts
            hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
            if path.is_file() and not hidden and path.suffix not in _SITE_ONLY and path != book.terms:
                yield book.relative(path), path.read_bytes()


def _hash_files(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _hash(value: Any) -> str:
    """Hash a value of JSON's types."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _without_docstrings(source: bytes) -> bytes:
    """Blank out docstrings and empty lines; comments remain, since a chapter may print the source."""
    lines = source.splitlines()
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the chapters that import it will fail
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


def pair_hash(chapter: bytes, notebook: bytes) -> str:
    """Hash a chapter, its stored notebook, and the code that compares them."""
    digest = hashlib.sha256(_tools())
    for each in (chapter, notebook):
        digest.update(hashlib.sha256(each).digest())
    return digest.hexdigest()


@cache
def _tools() -> bytes:
    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return b"".join([*sources, *(version(each).encode() for each in ("jupytext", "nbformat"))])


def execution_key(cell: NotebookNode) -> tuple[str, str, bool, bool]:
    """Give what the execution of a code cell depends on; other tags only change what a page shows."""
    return cell.id, cell.source, "raises-exception" in tags(cell), is_starter(cell)


def result_hash(notebook: NotebookNode) -> str:
    """Hash what an execution stores: the code that ran, and its outputs."""
    return _hash([[execution_key(cell), cell.outputs] for cell in code_cells(notebook)])


@dataclass(frozen=True)
class Run:
    """One execution of a notebook.

    Attributes:
        notebook: Its name, as in `ko/01-single-head`.
        inputs: The hash of what the outputs depend on beside the code, by `Inputs.hash`.
        result: The `result_hash` of what it stored.
        terms: The entries of the terminology that it read, as in `labels/key/ko`; None if that is not known.
    """

    notebook: str
    inputs: str
    result: str
    terms: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, line: str) -> list[Run]:
        """Read a line of a file of runs. A line of anything else, such as a merge's mark, gives none."""
        try:
            fields = json.loads(line)
            terms = fields.pop("terms", None)
            return [cls(**fields, terms=None if terms is None else tuple(terms))]
        except (ValueError, TypeError, AttributeError):
            return []

    def __str__(self) -> str:
        """Write the line that `parse` reads."""
        return json.dumps(asdict(self), ensure_ascii=False)


class Inputs:
    """What outputs depend on beside the code, as it is when this is made."""

    def __init__(self, book: Book, library: str) -> None:
        """Take the book and its `library_hash`."""
        self._book, self._library = book, library
        self._text = book.terms.read_bytes() if book.terms and book.terms.is_file() else b""

    def of_chapter(self, language: str, text: str) -> list[Any]:
        """Give what a chapter reads: the library, and the other chapters' contents where it lists them."""
        folder = self._book.notebooks_dir(language)
        lists = [each(folder) for each in (outline, overview) if f"{each.__name__}(" in text]
        return [self._library, lists] if lists else [self._library]

    def hash(self, chapter: list[Any], terms: tuple[str, ...] | None) -> str:
        """Hash what `of_chapter` gave, and entries of the terminology.

        Args:
            chapter: What `of_chapter` gave.
            terms: The entries. None means all of them if the terminology is a file of the library, else none:
                then nothing but the checks of the text reads it.
        """
        if terms is None:
            inside = any(
                self._book.terms and self._book.terms.is_relative_to(each) for each in self._book.library
            )
            return _hash([chapter, hashlib.sha256(self._text).hexdigest() if inside else ""])
        return _hash([chapter, [[path, self._entry(path)] for path in terms]])

    def _entry(self, path: str) -> Any:
        entry: Any = self._document
        for key in path.split("/") if path else ():
            entry = entry.get(key) if isinstance(entry, dict) else None
        return entry

    @cached_property
    def _document(self) -> Any:
        try:
            # Not everywhere PyYAML has its fast loader, which takes a tenth of the time.
            return yaml.load(self._text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError:
            return self._text.decode(errors="replace")  # no entry is what it was


class Memory:
    """The runs that are known, and what takes time to compute.

    Attributes:
        results: The `result_hash` of each notebook that is what its chapter makes, by `pair_hash`.
    """

    def __init__(self, book: Book) -> None:
        """Read the files. What cannot be read is not known."""
        self._book = book
        self._path = book.root / book.folder / RUNS
        text = self._path.read_text(encoding="utf-8") if self._path.is_file() else ""
        self._committed = _by_notebook(text.splitlines())
        self._library: dict[str, str] = {}
        self.results: dict[str, str] = {}
        self._history: dict[str, list[Run]] = {}
        try:
            cached = json.loads((book.root / CACHE).read_bytes())
            self._library, self.results = dict(cached["library"]), dict(cached["results"])
            self._history = _by_notebook(cached["runs"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def library_hash(self) -> str:
        """Give the `library_hash`, which takes time only where a file has changed."""
        files = _hash_files([("", _tools()), *_files(self._book)])
        if files not in self._library:
            self._library = {files: library_hash(self._book)}
        return self._library[files]

    def find(self, notebook: str, result: str, inputs: Inputs, chapter: list[Any]) -> Run | None:
        """Find a run of a notebook with the present result and the present input."""
        for run in self._committed.get(notebook, []) + self._history.get(notebook, []):
            if run.result == result and run.inputs == inputs.hash(chapter, run.terms):
                return run
        return None

    def add(self, run: Run) -> None:
        """Make a run the last one of its notebook."""
        self._committed[run.notebook] = [run]
        others = [each for each in self._history.get(run.notebook, ()) if each != run]
        self._history[run.notebook] = [run, *others][:_RUNS_OF_A_NOTEBOOK]

    def write(self, notebooks: Container[str]) -> None:
        """Write both files, the committed one with the runs of these notebooks alone."""
        runs = [run for name, each in sorted(self._committed.items()) if name in notebooks for run in each]
        _write(self._path, "".join(f"{run}\n" for run in runs))
        self.write_cache()

    def write_cache(self) -> None:
        """Write the file that git ignores."""
        history = [str(run) for _, each in sorted(self._history.items()) for run in each]
        results = dict(list(self.results.items())[-_RESULTS:])
        cached = {"library": self._library, "results": results, "runs": history}
        _write(self._book.root / CACHE, json.dumps(cached, indent=0))


def _by_notebook(lines: Iterable[str]) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {}
    for run in (run for line in lines for run in Run.parse(line)):
        runs.setdefault(run.notebook, []).append(run)
    return runs


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_bytes() != text.encode():
        write_atomically(path, text.encode())
