"""Every hook of the theme into a part that Sphinx or another extension keeps to itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import ParallelTasks

# How many pages are worth processes of their own; and the extensions that do not say that they allow it.
_MANY, _MOST = 20, 8
_SILENT = {"sphinx_multitoc_numbering", "sphinx_jupyterbook_latex"}


# Sphinx event: builder-inited
def switch_search_off(app: Sphinx) -> None:
    """Write no search index.

    Hooks: the attribute `search` of the HTML builder. There is no setting.
    """
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]


# Sphinx event: env-before-read-docs
def share_the_work(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Have many pages read and written by all processors; a few are done sooner by one.

    Hooks: `app.parallel`, for which Jupyter Book has no option, and `app.extensions`, two of which do not say
    that pages can be read in parallel; one adds numbers when all are read, the other writes LaTeX.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if app.parallel == 1 < processors and len(docnames) > _MANY:
        # The process that shares the work out has little to do itself.
        app.parallel = min(processors, _MOST) + 1
    for extension in app.extensions.values():
        if extension.name in _SILENT:
            extension.parallel_read_safe = True


# Sphinx event: builder-inited
def write_chapter_by_chapter(app: Sphinx) -> None:
    """Have one process resolve and write a chapter in all languages: what is the same is highlighted once.

    Hooks: the methods `_write_parallel` and `_write_serial` of the builder, and `images`, which it copies
    when all is written. Sphinx has one process resolve all pages, and others write them by their names.
    """
    builder: Any = app.builder
    if builder.format != "html":
        return

    def write(docnames: list[str]) -> dict[str, str]:
        builder._write_serial(docnames)
        images: dict[str, str] = builder.images
        return images

    def write_parallel(docnames: Sequence[str], nproc: int) -> None:
        write([docnames[0]])  # here: what is loaded and compiled for it is there for all
        chapters: dict[str, list[str]] = {}
        for docname in docnames[1:]:
            chapters.setdefault(docname.rpartition("/")[2], []).append(docname)
        tasks = ParallelTasks(nproc)
        # Of those that wait the last is begun first; the short ones are for when a process has none left.
        for chapter in sorted(chapters.values(), key=lambda each: sum(map(length, each))):
            tasks.add_task(write, chapter, lambda _, images: builder.images.update(images))
        tasks.join()

    def length(docname: str) -> int:
        return os.path.getsize(app.env.doc2path(docname))

    builder._write_parallel = write_parallel


# Sphinx event: builder-inited
def remember_highlighted(app: Sphinx) -> None:
    """Highlight the same code once.

    Hooks: `builder.highlighter`, its method `highlight_block`.
    """
    highlighter = getattr(app.builder, "highlighter", None)
    if highlighter is None:
        return
    highlight: Callable[..., str] = highlighter.highlight_block
    known: dict[str, str] = {}

    def highlight_block(*args: Any, location: Any = None, **kwargs: Any) -> str:
        key = repr((args, kwargs))
        if key not in known:
            known[key] = highlight(*args, location=location, **kwargs)
        return known[key]

    highlighter.highlight_block = highlight_block


# Sphinx event: config-inited
def silence_thebe(app: Sphinx, config: Config) -> None:
    """Keep sphinx-thebe, which Jupyter Book always loads, from writing another host's kernel into every page.

    Hooks: `app.events.listeners` and `app.registry.css_files`, where Sphinx keeps what extensions ask for.
    """
    for listeners in app.events.listeners.values():
        listeners[:] = [each for each in listeners if each.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [each for each in app.registry.css_files if "thebe" not in each[0]]
