"""Makes the notebooks from the chapters' text, and executes only those whose code or library changed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from polyglot_book.chapters import Chapter, read_chapter, read_text, stems
from polyglot_book.config import Book
from polyglot_book.edits import write_atomically
from polyglot_book.execution import CellFailure, Execution

_v4: Any = nbformat.v4  # its functions carry no types
COMMAND = "make notebooks"
# The tags that change what execution does; the others only change what a page shows.
_EXECUTION_TAGS = {"raises-exception", "skip-execution"}
Say = Callable[[str], None]


def library_hash(book: Book) -> str:
    """Hash the files of the library that the notebooks import."""
    digest = hashlib.sha256()
    for folder in book.library:
        for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).as_posix()):
            parts = path.relative_to(folder).parts
            if not path.is_file() or "__pycache__" in parts or any(part.startswith(".") for part in parts):
                continue
            data = path.read_bytes()
            digest.update(f"{book.relative(path)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def inputs_hash(book: Book, chapter: Chapter, library: str) -> str:
    """Hash everything that a chapter's outputs depend on.

    Args:
        book: The book.
        chapter: The chapter.
        library: The hash of the library, which all chapters share.
    """
    code = [[cell.id, cell.source, sorted(_EXECUTION_TAGS.intersection(cell.tags))] for cell in chapter.code]
    inputs = {"code": code, "library": library, "environment": dict(book.kernel_environment)}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def make_notebook(book: Book, chapter: Chapter, library: str) -> NotebookNode:
    """Make a chapter's notebook without outputs."""
    notebook = chapter.notebook()
    notebook.metadata["polyglot_book"] = {
        "derived_from": chapter.where,
        "command": COMMAND,
        "inputs": inputs_hash(book, chapter, library),
    }
    return notebook


def to_bytes(notebook: NotebookNode) -> bytes:
    """Write a notebook the way Jupyter does, so that saving it there changes nothing."""
    nbformat.validate(notebook)
    text: str = _v4.writes(notebook)
    return f"{text}\n".encode()


def read_notebook(path: Path) -> NotebookNode | None:
    """Read a stored notebook; None where there is none, or not one that can be read."""
    try:
        notebook: NotebookNode = _v4.reads(read_text(path))
        nbformat.validate(notebook)
    except Exception:  # nbformat's reader stumbles over bad files in any way
        return None
    return notebook


def carry_outputs(fresh: NotebookNode, stored: NotebookNode | None) -> bool:
    """Give a fresh notebook the outputs of the stored one.

    Returns:
        Whether that was possible: the inputs and every code cell are the same, and all were executed.
    """
    if (
        stored is None
        or stored.metadata.get("polyglot_book", {}).get("inputs") != fresh.metadata.polyglot_book.inputs
    ):
        return False
    cells = {cell.get("id"): cell for cell in stored.cells if cell.cell_type == "code"}
    code = [cell for cell in fresh.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        old = cells.get(cell.id)
        if old is None or old.source != cell.source or old.execution_count != number:
            return False
    for cell in code:
        cell.outputs, cell.execution_count = cells[cell.id].outputs, cells[cell.id].execution_count
    return True


@dataclass(frozen=True)
class _Job:
    """A notebook to execute."""

    name: str
    chapter: Chapter
    notebook: NotebookNode
    path: Path


def select(book: Book, names: Iterable[str]) -> list[tuple[str, str]]:
    """Find the chapters that a command names.

    Args:
        book: The book.
        names: `ko/01-x`, `01-x` (in every language), a language, or a file; none means all.

    Raises:
        ValueError: A name fits no chapter.
    """
    every = [(code, stem) for code in book.languages for stem in stems(book, code)]
    wanted = []
    for name in names:
        short = name.removeprefix("chapters/").removeprefix(f"{book.folder}/").removesuffix("/")
        short = short.removesuffix(".md").removesuffix(".ipynb")
        fits = [(code, stem) for code, stem in every if short in (f"{code}/{stem}", stem, code)]
        if not fits:
            raise ValueError(
                f"{name}: no such chapter; name one as in {every[0][0]}/{every[0][1]}" if every else name
            )
        wanted += fits
    return [each for each in every if each in wanted] if wanted else every


def orphans(book: Book) -> list[Path]:
    """Find the notebooks whose chapter is gone."""
    found = []
    for code in book.languages:
        present = set(stems(book, code))
        found += [
            path for path in sorted(book.notebooks_dir(code).glob("*.ipynb")) if path.stem not in present
        ]
    return found


def _remove_orphans(book: Book, say: Say) -> None:
    for path in orphans(book):
        where = book.relative(path)
        stored = read_notebook(path)
        if stored is not None and "polyglot_book" in stored.metadata:
            path.unlink()
            say(f"removed {where}: its chapter is gone")
        else:
            say(f"{where}: made from no chapter; left alone, remove it or write its chapter")


def make_notebooks(
    book: Book,
    names: Iterable[str] = (),
    *,
    everything: bool = False,
    jobs: int | None = None,
    say: Say = lambda line: print(line, flush=True),
) -> bool:
    """Bring the notebooks up to date.

    Args:
        book: The book.
        names: The chapters, as `select` takes them; none means all.
        everything: Execute even what is up to date.
        jobs: How many kernels run at a time; as many as there are CPUs where None.
        say: Gets every line for the user.

    Returns:
        Whether every cell of every chapter did what it should.

    Raises:
        ChapterError: A chapter cannot be read.
        ValueError: A name fits no chapter.
    """
    names = list(names)
    if not names:
        _remove_orphans(book, say)
    library = library_hash(book)
    todo = []
    for code, stem in select(book, names):
        chapter = read_chapter(book, book.chapters_dir(code) / f"{stem}.md")
        notebook = make_notebook(book, chapter, library)
        path = book.notebooks_dir(code) / f"{stem}.ipynb"
        if everything or not carry_outputs(notebook, read_notebook(path)):
            todo.append(_Job(f"{code}/{stem}", chapter, notebook, path))
        elif (data := to_bytes(notebook)) != path.read_bytes():
            write_atomically(path, data)
            say(f"{code}/{stem}: new text, outputs kept")
    return not todo or _execute(book, todo, max(1, jobs or os.cpu_count() or 1), say)


def _execute(book: Book, todo: list[_Job], jobs: int, say: Say) -> bool:
    """Execute notebooks side by side, and stop starting new ones at the first failure."""
    jobs = min(jobs, len(todo))
    say(f"executing {len(todo)} notebook{'s' * (len(todo) > 1)}, {jobs} at a time")
    running: list[Execution] = []
    stopped = False

    def execute(job: _Job) -> float | None:
        job.path.parent.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        execution = Execution(job.notebook, job.path.parent, book.kernel_environment)
        running.append(execution)
        try:
            if stopped:
                return None
            notebook = execution.run()
        finally:
            running.remove(execution)
        # The client put in what its kernel calls itself, which differs between versions of Python.
        notebook.metadata.update(job.chapter.notebook().metadata)
        write_atomically(job.path, to_bytes(notebook))
        return time.perf_counter() - started

    done = 0
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(execute, job): job for job in todo}
        try:
            for future in as_completed(futures):
                job = futures[future]
                try:
                    seconds = future.result()
                except CellFailure as failure:
                    stopped = True
                    indented = failure.traceback.replace("\n", "\n    ")
                    say(f"{job.chapter.where}#{failure.cell}: the cell failed; mend it\n    {indented}")
                else:
                    if seconds is not None:
                        done += 1
                        say(f"[{done}/{len(todo)}] {job.name} {seconds:.1f} s")
        except BaseException:
            stopped = True
            for execution in list(running):
                execution.stop()
            raise
    return not stopped
