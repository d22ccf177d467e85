"""Makes the notebooks from the chapters' text, and executes only those whose code or library changed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from polyglot_book.chapters import Chapter, read_chapter, stems
from polyglot_book.config import Book
from polyglot_book.execution import LIMIT, PATIENCE, CellFailure, execute
from polyglot_book.freshness import Inputs, Memory, Run, execution_key, pair_hash, result_hash
from polyglot_book.ipynb import (
    NotebookError,
    code_cells,
    is_starter,
    read_notebook,
    tags,
    to_bytes,
    write_notebook,
)

_new_node: Any = NotebookNode  # its methods carry no types
COMMAND = "make notebooks"
# A folded cell, in Jupyter's words and in Colab's; the site goes by the tag.
_FOLDED = {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "cellView": "form"}
Say = Callable[[str], None]


def make_notebook(chapter: Chapter) -> NotebookNode:
    """Make a chapter's notebook without outputs."""
    notebook = chapter.notebook()
    for cell in notebook.cells:
        if "hide-cell" in tags(cell):
            cell.metadata |= _new_node(_FOLDED)
        if is_starter(cell):  # its output is not stored, so there is nothing to compare
            cell.metadata["tags"] = [*tags(cell), "nbval-ignore-output"]
    notebook.metadata["polyglot_book"] = {"derived_from": chapter.where, "command": COMMAND}
    return notebook


def carry_outputs(new: NotebookNode, last: NotebookNode) -> bool:
    """Give a new notebook the outputs of the last one.

    Returns:
        Whether that was possible: every code cell is the same, and all were executed in order.
    """
    pairs = list(zip_longest(code_cells(new), code_cells(last)))
    for number, (cell, executed) in enumerate(pairs, start=1):
        if cell is None or executed is None or execution_key(cell) != execution_key(executed):
            return False
        if executed.execution_count != number:
            return False
    for cell, executed in pairs:
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    return True


@dataclass(frozen=True)
class _Job:
    """A notebook that is not what its chapter makes, and what its outputs depend on."""

    name: str
    chapter: Chapter
    notebook: NotebookNode
    path: Path
    inputs: list[Any]


@dataclass
class _Plan:
    """The notebooks to execute, those that need only their new text, and what is known of all."""

    memory: Memory
    inputs: Inputs
    execute: list[_Job]
    write: list[_Job]


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
    """Find the notebooks whose chapter does not exist."""
    return [
        path
        for code in book.languages
        for path in sorted(book.notebooks_dir(code).glob("*.ipynb"))
        if path.stem not in stems(book, code)
    ]


def _remove_orphans(book: Book, say: Say) -> None:
    for path in orphans(book):
        where = book.relative(path)
        notebook = _read_valid(path)
        if notebook is not None and "polyglot_book" in notebook.metadata:
            path.unlink()
            say(f"removed {where}: its chapter does not exist")
        else:
            say(f"{where}: made from no chapter; left alone, remove it or write its chapter")


def _read_valid(path: Path) -> NotebookNode | None:
    try:
        return read_notebook(path)
    except (NotebookError, FileNotFoundError):
        return None


def _make_plan(book: Book, names: Iterable[str], everything: bool = False) -> _Plan:
    """Find the notebooks to execute, and those that need only their new text."""
    memory = Memory(book)
    plan = _Plan(memory, Inputs(book, memory.library_hash()), [], [])
    for code, stem in select(book, names):
        name, path = f"{code}/{stem}", book.notebooks_dir(code) / f"{stem}.ipynb"
        source = book.chapters_dir(code) / f"{stem}.md"
        text, data = source.read_bytes(), path.read_bytes() if path.is_file() else b""
        inputs, pair = plan.inputs.of_chapter(code, text.decode(errors="replace")), pair_hash(text, data)
        result = None if everything else memory.results.get(pair)
        if result and (run := memory.find(name, result, plan.inputs, inputs)):
            memory.add(run)
            continue
        chapter = read_chapter(book, source)
        job = _Job(name, chapter, make_notebook(chapter), path, inputs)
        last = None if everything else _read_valid(path)
        if last is None or not carry_outputs(job.notebook, last):
            plan.execute.append(job)
            continue
        result = result_hash(job.notebook)
        same = to_bytes(job.notebook) == data
        if same:
            memory.results[pair] = result
        if run := memory.find(name, result, plan.inputs, inputs):
            memory.add(run)
            plan.write += [] if same else [job]
        else:
            plan.execute.append(job)
    memory.write_cache()
    return plan


def pending(book: Book) -> list[str]:
    """Name the notebooks that `make_notebooks` would execute or rewrite.

    Raises:
        ChapterError: A chapter cannot be read.
    """
    plan = _make_plan(book, ())
    return [job.name for jobs in (plan.execute, plan.write) for job in jobs]


def make_notebooks(
    book: Book,
    names: Iterable[str] = (),
    *,
    everything: bool = False,
    jobs: int | None = None,
    limit: float = LIMIT,
    say: Say = lambda line: print(line, flush=True),
) -> bool:
    """Bring the notebooks up to date.

    Args:
        book: The book.
        names: The chapters, as `select` takes them; none means all.
        everything: Execute even what is up to date.
        jobs: How many kernels run at a time; as many as there are CPUs where None.
        limit: How many seconds a cell may take.
        say: Gets every line for the user.

    Returns:
        Whether every cell of every chapter did what it should.

    Raises:
        ChapterError: A chapter cannot be read.
        ValueError: A name fits no chapter.
        OSError: A notebook cannot be written.
    """
    names = list(names)
    if not names:
        _remove_orphans(book, say)
    plan = _make_plan(book, names, everything)
    for job in plan.write:
        write_notebook(job.notebook, job.path)
        say(f"{job.name}: new text, outputs kept")
    plan.memory.write(_every_name(book))
    kernels = max(1, jobs or os.cpu_count() or 1)
    return not plan.execute or asyncio.run(_execute(book, plan, kernels, limit, say))


def _every_name(book: Book) -> set[str]:
    return {f"{code}/{stem}" for code, stem in select(book, ())}


async def _execute(book: Book, plan: _Plan, kernels: int, limit: float, say: Say) -> bool:
    """Execute notebooks side by side, and start no new ones after a failure."""
    total, names = len(plan.execute), _every_name(book)
    kernels = min(kernels, total)
    say(f"executing {total} notebook{'s' * (total > 1)}, {kernels} at a time")
    gate = asyncio.Semaphore(kernels)
    done, failed = 0, False

    async def run(job: _Job) -> None:
        nonlocal done, failed

        def slow(cell: str) -> None:
            say(f"{job.chapter.where}#{cell}: not finished after {PATIENCE:g} s; a cell may take {limit:g} s")

        async with gate:
            if failed:
                return
            job.path.parent.mkdir(parents=True, exist_ok=True)
            started = time.perf_counter()
            try:
                terms = await execute(job.notebook, job.path.parent, limit, slow)
            except CellFailure as failure:
                failed = True
                indented = failure.traceback.replace("\n", "\n    ")
                say(f"{job.chapter.where}#{failure.cell}: the cell failed; mend it\n    {indented}")
                return
            write_notebook(job.notebook, job.path)
            inputs = plan.inputs.hash(job.inputs, terms)
            plan.memory.add(Run(job.name, inputs, result_hash(job.notebook), terms))
            plan.memory.write(names)
            done += 1
            say(f"[{done}/{total}] {job.name} {time.perf_counter() - started:.1f} s")

    await asyncio.gather(*map(run, plan.execute))
    return not failed
