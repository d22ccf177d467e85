"""Makes the notebooks from the chapters' text; executes only those whose code or library changed."""

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from polyglot_book import ipynb
from polyglot_book.chapters import Chapter, read_chapter, stems
from polyglot_book.config import Book
from polyglot_book.freshness import Inputs, Run, Runs, Verified, execution_key, result_hash, short_hash
from polyglot_book.violations import Report

_new_node: Any = NotebookNode  # its methods carry no types
# A folded cell, for Jupyter and for Colab; the site goes by the tag.
_FOLDED = {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "cellView": "form"}
LIMIT = 900.0  # seconds a cell may take: ten times what the slowest takes, for slow machines


def make_notebook(chapter: Chapter) -> NotebookNode:
    """Return a chapter's notebook without outputs, which says of which chapter it was made."""
    notebook = chapter.notebook()
    for cell in notebook.cells:
        if "hide-cell" in ipynb.tags(cell):
            cell.metadata |= _new_node(_FOLDED)
        if "hide-output" in ipynb.tags(cell):  # a reader predicts it first
            cell.metadata |= _new_node({"jupyter": {"outputs_hidden": True}})
        if ipynb.is_starter(cell):  # its output is not stored, so there is nothing to compare
            cell.metadata["tags"] = [*ipynb.tags(cell), "nbval-ignore-output"]
    notebook.metadata["polyglot_book"] = {"derived_from": chapter.file}
    return notebook


def carry_outputs(new: NotebookNode, last: NotebookNode) -> bool:
    """Copy the outputs of the last notebook into a new one.

    Returns:
        Whether that was possible: every code cell is the same, and all were executed in order.
    """
    cells, executed = ipynb.code_cells(new), ipynb.code_cells(last)
    in_order = [each.execution_count for each in executed] == [*range(1, len(executed) + 1)]
    if not in_order or [*map(execution_key, cells)] != [*map(execution_key, executed)]:
        return False
    for cell, other in zip(cells, executed, strict=True):
        cell.outputs, cell.execution_count = other.outputs, other.execution_count
    return True


@dataclass(frozen=True)
class _Job:
    """A notebook that is not what its chapter makes, and what its outputs depend on."""

    name: str
    chapter: Chapter
    notebook: NotebookNode
    path: Path
    lists: list[Any]


@dataclass
class _Plan:
    """Notebooks whose code changed, that the library alone made old, and whose text alone is new."""

    runs: Runs
    inputs: Inputs
    changed: list[_Job] = field(default_factory=list)
    older: list[_Job] = field(default_factory=list)
    write: list[_Job] = field(default_factory=list)

    @property
    def execute(self) -> list[_Job]:
        """Those to execute: first what somebody has changed, and waits for."""
        return self.changed + self.older


def select(book: Book, names: Iterable[str]) -> list[tuple[str, str]]:
    """List the chapters that the arguments of a command name.

    Args:
        book: The book.
        names: `ko/01-x`, `01-x` (in every language), a language, or a file; none means all.

    Raises:
        ValueError: A name fits no chapter.
    """
    every = [(code, stem) for code in book.languages for stem in stems(book, code)]
    chosen = set()
    for name in names:
        short = name.removeprefix("chapters/").removeprefix(f"{book.folder}/").removesuffix("/")
        short = short.removesuffix(".md").removesuffix(".ipynb")
        matches = {(code, stem) for code, stem in every if short in (f"{code}/{stem}", stem, code)}
        if not matches:
            example = f"; expected a name as in {'/'.join(every[0])}" if every else ""
            raise ValueError(f"{name}: no such chapter{example}")
        chosen |= matches
    return [each for each in every if each in chosen] if chosen else every


def orphans(book: Book) -> list[Path]:
    """List the notebooks whose chapter does not exist."""
    kept = {book.notebooks_dir(code) / f"{stem}.ipynb" for code, stem in select(book, ())}
    folders = [book.notebooks_dir(code) for code in book.languages if not book.in_place]
    paths = (path for folder in folders for path in sorted(folder.rglob("*.ipynb")))
    return [path for path in paths if path not in kept and ".ipynb_checkpoints" not in path.parts]


def _remove_orphans(book: Book, report: Report) -> None:
    for path in orphans(book):
        file = book.relative(path)
        notebook = _read_valid(path)
        if notebook is not None and "polyglot_book" in notebook.metadata:
            path.unlink()
            report(f"removed {file}: its chapter does not exist")
        else:
            report(f"{file}: a notebook without a chapter, left alone; remove it or write its chapter")


def _read_valid(path: Path) -> NotebookNode | None:
    try:
        return ipynb.read_notebook(path)
    except (ipynb.NotebookError, FileNotFoundError):
        return None


def _make_plan(book: Book, names: Iterable[str], everything: bool = False) -> _Plan:
    """Find the notebooks to execute, and those that need only their new text."""
    plan, verified, found = _Plan(Runs(book), Inputs(book)), Verified(book), {}
    for code, stem in select(book, names):
        if book.in_place:  # of text notebooks, the site's build stores the outputs
            path = book.chapter_file(code, stem)
            notebook = _read_valid(path) if path.suffix == ".ipynb" else None
            counts = [each.execution_count for each in ipynb.code_cells(notebook)] if notebook else []
            if notebook and (everything or None in counts):
                plan.changed.append(_Job(f"{code}/{stem}", read_chapter(book, path), notebook, path, []))
            continue
        name, path = f"{code}/{stem}", book.notebooks_dir(code) / f"{stem}.ipynb"
        file = book.chapter_file(code, stem)
        text, stored = file.read_bytes(), path.read_bytes() if path.is_file() else b""
        lists, run = plan.inputs.lists(code, text.decode(errors="replace")), plan.runs.last(name)
        inputs = short_hash([plan.inputs.unparsed, lists, str(run)])
        files = short_hash([text.hex(), stored.hex()])
        if verified.has(name, inputs, files) and not everything:
            continue
        chapter = read_chapter(book, file)
        job = _Job(name, chapter, make_notebook(chapter), path, lists)
        last = None if everything else _read_valid(path)
        if last is None or not carry_outputs(job.notebook, last):
            plan.changed.append(job)
            continue
        result = result_hash(job.notebook)
        if run is None or run.result != result or not verified.has(name, inputs):
            run = plan.runs.find(name, result, plan.inputs, lists)
        if run is None:
            plan.older.append(job)
            continue
        plan.runs.add(run)
        if ipynb.to_bytes(job.notebook, check=False) == stored:
            found[name] = (short_hash([plan.inputs.unparsed, lists, str(run)]), files)
        else:
            plan.write.append(job)
    verified.write(found)
    return plan


def outdated(book: Book) -> list[str]:
    """List the notebooks that `make_notebooks` would execute or rewrite.

    Raises:
        ChapterError: A chapter cannot be read.
    """
    plan = _make_plan(book, ())
    return [job.name for job in plan.execute + plan.write]


def make_notebooks(
    book: Book,
    names: Iterable[str] = (),
    *,
    everything: bool = False,
    jobs: int | None = None,
    limit: float = LIMIT,
    report: Report = lambda line: print(line, flush=True),
) -> bool:
    """Bring the notebooks up to date.

    Args:
        book: The book.
        names: The chapters, as `select` takes them; none means all.
        everything: Execute even what is up to date.
        jobs: The number of kernels that run at a time; the number of CPUs where None.
        limit: The seconds that a cell may take.
        report: Called with every line for the user.

    Returns:
        Whether every cell of every chapter succeeded.

    Raises:
        ChapterError: A chapter cannot be read.
        ValueError: A name fits no chapter.
        OSError: A notebook cannot be written.
    """
    names = list(names)
    if not names:
        _remove_orphans(book, report)
    plan = _make_plan(book, names, everything)
    for job in plan.write:
        ipynb.write_notebook(job.notebook, job.path)
        report(f"{job.name}: new text, outputs kept")
    if book.in_place and not plan.execute:
        report("nothing to execute here: the site's build executes text notebooks")
    plan.runs.write(_names(book))
    kernels = max(1, jobs or os.cpu_count() or 1)
    return not plan.execute or asyncio.run(_execute(book, plan, kernels, limit, report))


def _names(book: Book) -> set[str]:
    return {f"{code}/{stem}" for code, stem in select(book, ())}


async def _execute(book: Book, plan: _Plan, kernels: int, limit: float, report: Report) -> bool:
    """Execute notebooks side by side, and start no new ones after a failure."""
    # The kernels' client takes a third of a second to import: not for a change of the text alone.
    from polyglot_book.execution import PATIENCE, PROFILES, CellFailure, execute

    total = len(plan.execute)
    kernels = min(kernels, total)
    why = f"; {len(plan.older)} of them because of the library, last" if plan.older else ""
    report(f"executing {total} notebook{'s' * (total > 1)}, {kernels} at a time{why}")
    gate = asyncio.Semaphore(kernels)
    done, failed = 0, False

    async def run(job: _Job) -> None:
        nonlocal done, failed

        def warn(cell: str) -> None:
            report(f"{job.chapter.file}#{cell}: not finished after {PATIENCE:g} s; the limit is {limit:g} s")

        async with gate:
            if failed:
                return
            job.path.parent.mkdir(parents=True, exist_ok=True)
            start = time.perf_counter()
            try:
                profile = book.root / PROFILES / job.name
                terms = await execute(job.notebook, job.path.parent, profile, limit, warn)
            except CellFailure as failure:
                failed = True
                indented = failure.traceback.replace("\n", "\n    ")
                report(f"{job.chapter.file}#{failure.cell}: the cell failed\n    {indented}")
                return
            ipynb.write_notebook(job.notebook, job.path)
            inputs = plan.inputs.hash(job.lists, terms)
            plan.runs.add(Run(job.name, inputs, result_hash(job.notebook), terms))
            plan.runs.write(_names(book))
            done += 1
            report(f"[{done}/{total}] {job.name} {time.perf_counter() - start:.1f} s")

    await asyncio.gather(*map(run, plan.execute))
    return not failed
