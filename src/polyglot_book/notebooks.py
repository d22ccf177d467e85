"""Makes the notebooks from the chapters' text, and executes only those whose code or library changed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from polyglot_book.chapters import Chapter, read_chapter, read_text, stems
from polyglot_book.config import Book
from polyglot_book.edits import write_atomically
from polyglot_book.execution import CellFailure, execute, is_starter
from polyglot_book.freshness import Records, pair_hash, state

_v4: Any = nbformat.v4  # its functions carry no types
_new_node: Any = nbformat.NotebookNode
COMMAND = "make notebooks"
# A folded cell, in Jupyter's words and in Colab's; the site goes by the tag.
_FOLDED = {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "cellView": "form"}
Say = Callable[[str], None]


def make_notebook(chapter: Chapter) -> NotebookNode:
    """Make a chapter's notebook without outputs; of a starter, nothing is compared either."""
    notebook = chapter.notebook()
    for cell in notebook.cells:
        if "hide-cell" in cell.metadata.get("tags", []):
            cell.metadata |= _new_node(_FOLDED)
        if is_starter(cell):
            cell.metadata["tags"] = [*cell.metadata["tags"], "nbval-ignore-output"]
    notebook.metadata["polyglot_book"] = {"derived_from": chapter.where, "command": COMMAND}
    return notebook


def to_bytes(notebook: NotebookNode) -> bytes:
    """Write a notebook the way Jupyter does, so that saving it there changes nothing."""
    nbformat.validate(notebook)
    text: str = _v4.writes(notebook)
    return f"{text}\n".encode()


def read_notebook(path: Path) -> NotebookNode | None:
    """Read a stored notebook; None where there is none, or not one of today's format, with ids of cells."""
    try:
        notebook: NotebookNode = _v4.reads(read_text(path))
        nbformat.validate(notebook)
    except Exception:  # nbformat's reader stumbles over bad files in any way
        return None
    return notebook if all("id" in cell for cell in notebook.cells) else None


def _code(notebook: NotebookNode) -> list[tuple[str, str, bool, bool]]:
    """Give what execution depends on; the other tags only change what a page shows."""
    return [
        (cell.id, cell.source, "raises-exception" in cell.metadata.get("tags", []), is_starter(cell))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def carry_outputs(fresh: NotebookNode, stored: NotebookNode | None) -> bool:
    """Give a fresh notebook the outputs of the stored one.

    Returns:
        Whether that was possible: every code cell is the same, and all were executed in order.
    """
    if stored is None or _code(fresh) != _code(stored):
        return False
    new, old = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (fresh, stored))
    if [cell.execution_count for cell in old] != list(range(1, len(old) + 1)):
        return False
    for cell, executed in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    return True


@dataclass(frozen=True)
class _Job:
    """A notebook that is not what its chapter makes, and what it will have been executed with."""

    name: str
    chapter: Chapter
    notebook: NotebookNode
    path: Path
    state: str


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


def _plan(book: Book, names: Iterable[str], everything: bool = False) -> tuple[list[_Job], list[_Job]]:
    """Find the notebooks to execute, and those that need only their new text.

    A notebook that there is no record of came with the project: it counts as made with the present library.
    """
    records = Records.read(book)
    library = records.library_hash(book)
    execute, write = [], []
    for code, stem in select(book, names):
        name, path = f"{code}/{stem}", book.notebooks_dir(code) / f"{stem}.ipynb"
        source = book.chapters_dir(code) / f"{stem}.md"
        text, stored = source.read_bytes(), path.read_bytes() if path.is_file() else b""
        now, pair = state(book, code, text.decode(errors="replace"), library), pair_hash(text, stored)
        if not everything and (records.executed.get(name), records.compared.get(name)) == (now, pair):
            continue
        chapter = read_chapter(book, source)
        job = _Job(name, chapter, make_notebook(chapter), path, now)
        executed = not everything and carry_outputs(job.notebook, read_notebook(path))
        if not executed or records.executed.setdefault(name, now) != now:
            execute.append(job)
        elif to_bytes(job.notebook) != stored:
            write.append(job)
        else:
            records.compared[name] = pair
    records.write(book)
    return execute, write


def pending(book: Book) -> list[str]:
    """Name the notebooks that `make_notebooks` would execute or rewrite.

    Raises:
        ChapterError: A chapter cannot be read.
    """
    return [job.name for jobs in _plan(book, ()) for job in jobs]


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
    todo, write = _plan(book, names, everything)
    for job in write:
        write_atomically(job.path, to_bytes(job.notebook))
        say(f"{job.name}: new text, outputs kept")
    return not todo or asyncio.run(_execute(book, todo, max(1, jobs or os.cpu_count() or 1), say))


async def _execute(book: Book, todo: list[_Job], limit: int, say: Say) -> bool:
    """Execute notebooks side by side, and start no new ones after a failure."""
    limit = min(limit, len(todo))
    say(f"executing {len(todo)} notebook{'s' * (len(todo) > 1)}, {limit} at a time")
    gate, records = asyncio.Semaphore(limit), Records.read(book)
    done, failed = 0, False

    async def run(job: _Job) -> None:
        nonlocal done, failed
        async with gate:
            if failed:
                return
            job.path.parent.mkdir(parents=True, exist_ok=True)
            started = time.perf_counter()
            try:
                await execute(job.notebook, job.path.parent)
            except CellFailure as failure:
                failed = True
                indented = failure.traceback.replace("\n", "\n    ")
                say(f"{job.chapter.where}#{failure.cell}: the cell failed; mend it\n    {indented}")
                return
            write_atomically(job.path, to_bytes(job.notebook))
            records.executed[job.name] = job.state
            records.write(book)
            done += 1
            say(f"[{done}/{len(todo)}] {job.name} {time.perf_counter() - started:.1f} s")

    await asyncio.gather(*map(run, todo))
    return not failed
