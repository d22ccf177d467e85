"""Finds out which stored outputs are still what the library would compute.

Each execution of a notebook is a `Run`: a hash of what went in (the library, the entries of the terminology
that it read, the contents of other chapters where it lists them) and a hash of the code and the outputs. A
notebook is up to date if there is a run with the present input and the present result. A run stays true, so
after a switch of branches, or when a change is undone, nothing is executed again.

The last run of each notebook is committed, in `runs.jsonl` beside the notebooks, for fresh clones; earlier
runs on this machine are in a file below `_build`, which may be lost. So is a file of what was up to date when
it was last compared, so that only what has changed since then is parsed.
"""

import ast
import contextlib
import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from polyglot_book.config import SETTINGS, Book
from polyglot_book.contents import overview
from polyglot_book.ipynb import code_cells, is_starter, tags, write_atomically

RUNS = "runs.jsonl"
HISTORY = "_build/runs.jsonl"
VERIFIED = "_build/verified.json"
_SITE_ONLY = {".js", ".css", ".html"}  # no notebook reads them
_RUNS_OF_A_NOTEBOOK = 20  # in this machine's history


def library_hash(book: Book) -> str:
    """Hash the files of the library that the notebooks import, without its docstrings and the terminology."""
    digest = hashlib.sha256()
    for name, data in _library_files(book):
        if name.endswith(".py"):
            data = _without_docstrings(data)
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _library_files(book: Book) -> Iterator[tuple[str, bytes]]:
    for folder in book.library:
        for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).as_posix()):
            parts = path.relative_to(folder).parts
            hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
            if path.is_file() and not hidden and path.suffix not in _SITE_ONLY and path != book.terms:
                yield book.relative(path), path.read_bytes()


def short_hash(value: Any) -> str:
    """Hash a value of JSON's types.

    >>> short_hash([1, "a"])
    '4a72386a027702c1'
    """
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


def execution_key(cell: NotebookNode) -> tuple[str, str, bool, bool]:
    """Return what the execution of a code cell depends on; other tags change only what a page shows."""
    return cell.id, cell.source, "raises-exception" in tags(cell), is_starter(cell)


def result_hash(notebook: NotebookNode) -> str:
    """Hash what an execution stores: the executed code and its outputs."""
    return short_hash([[execution_key(cell), cell.outputs] for cell in code_cells(notebook)])


@dataclass(frozen=True)
class Run:
    """One execution of a notebook.

    Attributes:
        notebook: Its name, as in `ko/01-single-head`.
        inputs: The hash of what the outputs depend on beside the code, by `Inputs.hash`.
        result: The `result_hash` of the executed notebook.
        terms: The entries of the terminology that it read, as in `labels/key/ko`; None if that is unknown.
    """

    notebook: str
    inputs: str
    result: str
    terms: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, line: str) -> list["Run"]:
        """Read a line of a file of runs; a line of anything else, such as a conflict marker, has none.

        >>> Run.parse('{"notebook": "ko/01-x", "inputs": "a1", "result": "b2", "terms": null}')
        [Run(notebook='ko/01-x', inputs='a1', result='b2', terms=None)]
        >>> Run.parse("<<<<<<< HEAD")
        []
        """
        try:
            fields = json.loads(line)
            terms = fields.pop("terms", None)
            run = cls(**fields, terms=None if terms is None else tuple(terms))
            return [run] if hash(run) else []
        except (ValueError, TypeError, AttributeError, RecursionError):
            return []

    def __str__(self) -> str:
        """Format the line that `parse` reads."""
        return json.dumps(asdict(self), ensure_ascii=False)


class Inputs:
    """What outputs depend on beside the code, as it is when this object is made."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._text = book.terms.read_bytes() if book.terms and book.terms.is_file() else b""

    def lists(self, language: str, text: str) -> list[Any]:
        """Return the contents of the other chapters where a chapter's text lists them."""
        return [overview(self._book.notebooks_dir(language))] if "overview(" in text else []

    @cached_property
    def unparsed(self) -> str:
        """The hash of all that every comparison reads: library, terminology, settings, this package."""
        settings = [self._book.root / name for name in ("_config.yml", "_toc.yml", SETTINGS)]
        files = [*settings, *sorted(Path(__file__).parent.rglob("*.py"))]
        read = [(path.name, path.read_bytes()) for path in files if path.is_file()]
        return short_hash(repr([*_library_files(self._book), *read, self._text]))

    def hash(self, lists: list[Any], terms: tuple[str, ...] | None) -> str:
        """Hash what a run of a notebook reads.

        Args:
            lists: The result of the method `lists`.
            terms: The entries of the terminology. None means all of them if the terminology is a file of the
                library, else none: then only the checks of the text read it.
        """
        chapter = [self._library, lists] if lists else [self._library]
        if terms is None:
            path = self._book.terms
            inside = any(path and path.is_relative_to(folder) for folder in self._book.library)
            return short_hash([chapter, hashlib.sha256(self._text).hexdigest() if inside else ""])
        return short_hash([chapter, [[path, self._entry(path)] for path in terms]])

    def _entry(self, path: str) -> Any:
        entry: Any = self._document
        for key in path.split("/") if path else ():
            entry = entry.get(key) if isinstance(entry, dict) else None
        return entry

    @cached_property
    def _library(self) -> str:
        return library_hash(self._book)

    @cached_property
    def _document(self) -> Any:
        try:
            # Not every PyYAML has its fast loader, which takes a tenth of the time.
            return yaml.load(self._text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError:
            return self._text.decode(errors="replace")  # equal to no entry


class Runs:
    """The runs of the two files, the last one of each notebook first."""

    def __init__(self, book: Book) -> None:
        self._last, self._history = book.root / book.folder / RUNS, book.root / HISTORY
        self._in_place = book.in_place  # then there are no notebooks of chapters
        self._runs: dict[str, list[Run]] = {}
        for path in (self._history, self._last):
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            for line in reversed(text.splitlines()):
                for run in Run.parse(line):
                    self.add(run)

    def add(self, run: Run) -> None:
        """Make a run the last one of its notebook."""
        earlier = [each for each in self._runs.get(run.notebook, ()) if each != run]
        self._runs[run.notebook] = [run, *earlier][:_RUNS_OF_A_NOTEBOOK]

    def last(self, notebook: str) -> Run | None:
        """Return the last run of a notebook."""
        return next(iter(self._runs.get(notebook, ())), None)

    def find(self, notebook: str, result: str, inputs: Inputs, lists: list[Any]) -> Run | None:
        """Find a run of a notebook with the present result and the present input."""
        for run in self._runs.get(notebook, ()):
            if run.result == result and run.inputs == inputs.hash(lists, run.terms):
                return run
        return None

    def write(self, notebooks: Container[str]) -> None:
        """Write both files, the committed one with the last runs of these notebooks."""
        runs = [each for _, each in sorted(self._runs.items())]
        last = [each[0] for each in runs if each[0].notebook in notebooks]
        history = [run for each in runs for run in each]
        for path, lines in ((self._last, last), (self._history, history)):
            data = "".join(f"{run}\n" for run in lines).encode()
            if not self._in_place and (not path.is_file() or path.read_bytes() != data):
                write_atomically(path, data)


class Verified:
    """For each notebook that a comparison found up to date, the hashes of its inputs and of its files."""

    def __init__(self, book: Book) -> None:
        self._path = book.root / VERIFIED
        try:
            hashes = dict(json.loads(self._path.read_bytes()))
            self._hashes = {name: tuple(each) for name, each in hashes.items()}
        except (OSError, ValueError, TypeError, RecursionError):  # it may be lost
            self._hashes = {}

    def has(self, notebook: str, *hashes: str) -> bool:
        """Return whether a notebook was up to date with this hash of inputs, and with this one of files."""
        return bool(hashes == self._hashes.get(notebook, ())[: len(hashes)])

    def write(self, found: Mapping[str, Sequence[str]]) -> None:
        """Add what a comparison has found."""
        with contextlib.suppress(OSError):  # it saves time, and nothing depends on it
            if found:
                write_atomically(self._path, json.dumps({**self._hashes, **found}).encode())
