"""All uses by the theme of what is not public in Sphinx and other extensions."""

import os
from collections.abc import Sequence
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import ParallelTasks

# More pages than this are worth several processes; and extensions that do not declare that they allow them.
_MANY, _MOST = 20, 8
_UNDECLARED = {"sphinx_multitoc_numbering", "sphinx_jupyterbook_latex"}


# Sphinx event: builder-inited
def disable_search_index(app: Sphinx) -> None:
    """Keep Sphinx from writing its own search index.

    Not public: the attribute `search` of the HTML builder. There is no setting.
    """
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]


# Sphinx event: builder-inited
def write_letters_in_json(app: Sphinx) -> None:
    """Let the filter `tojson` of the templates write letters as they are: their numbers take more room.

    Not public: the environment of Jinja in `builder.templates`.
    """
    if app.builder.format == "html":
        policies = app.builder.templates.environment.policies
        policies["json.dumps_kwargs"] = {"ensure_ascii": False}


# Sphinx event: env-before-read-docs
def use_all_processors(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Read and write many pages in several processes; a few pages are faster in one.

    Not public: `app.parallel`, for which Jupyter Book has no option, and `app.extensions`: two do
    not declare that pages can be read in parallel. One numbers sections when all are read, one writes LaTeX.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if app.parallel == 1 < processors and len(docnames) > _MANY:
        # The main process only waits for the others.
        app.parallel = min(processors, _MOST) + 1
    for extension in app.extensions.values():
        if extension.name in _UNDECLARED:
            extension.parallel_read_safe = True


# Sphinx event: builder-inited
def write_by_chapter(app: Sphinx) -> None:
    """Resolve and write a chapter in all languages in one process, which converts their common formulas once.

    Not public: the builder's methods `_write_parallel` and `_write_serial`, and `images`, which it copies at
    the end. Sphinx itself resolves all pages in one process, and writes them in others in order of name.
    """
    builder: Any = app.builder
    if builder.format != "html":
        return

    def write(docnames: list[str]) -> dict[str, str]:
        builder._write_serial(docnames)
        images: dict[str, str] = builder.images
        return images

    def write_parallel(docnames: Sequence[str], nproc: int) -> None:
        write([docnames[0]])  # in this process: the others inherit what it loads and compiles
        chapters: dict[str, list[str]] = {}
        for docname in docnames[1:]:
            chapters.setdefault(docname.rpartition("/")[2], []).append(docname)
        tasks = ParallelTasks(nproc)
        # The last task is started first; the short ones, started last, keep all processes busy until the end.
        for chapter in sorted(chapters.values(), key=lambda each: sum(map(length, each))):
            tasks.add_task(write, chapter, lambda _, images: builder.images.update(images))
        tasks.join()

    def length(docname: str) -> int:
        return os.path.getsize(app.env.doc2path(docname))

    builder._write_parallel = write_parallel


# Sphinx event: config-inited
def number_no_figures(app: Sphinx, config: Config) -> None:
    """Number no figures: no page shows such numbers, and for them Sphinx reads all pages in each build.

    Not public: `sphinx_jupyterbook_latex` sets `numfig` for every builder, whatever the book's settings say.
    """
    config.numfig = False


# Sphinx event: config-inited
def remove_thebe(app: Sphinx, config: Config) -> None:
    """Remove sphinx-thebe, which Jupyter Book always loads and which adds another host's address to pages.

    Not public: `app.events.listeners` and `app.registry.css_files`, which extensions fill.
    """
    for listeners in app.events.listeners.values():
        listeners[:] = [each for each in listeners if each.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [each for each in app.registry.css_files if "thebe" not in each[0]]
