"""Builds a book as a reader of the README would, for tests."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.pages import Page, parse

_COLOUR = re.compile("\x1b\\[[0-9;]*m")


@dataclass
class Built:
    """A book that was built.

    Attributes:
        root: The folder of its `_config.yml`.
        code: The exit status.
        log: What the build printed.
    """

    root: Path
    code: int
    log: str

    @property
    def html(self) -> Path:
        """The folder of the pages."""
        return self.root / "_build" / "html"

    @property
    def warnings(self) -> list[str]:
        """The lines that warn."""
        return [line for line in self.log.splitlines() if "WARNING" in line or "ERROR" in line]

    def read(self) -> set[str]:
        """Give the pages that this build read, where its log names them."""
        return set(re.findall(r"reading sources\.\.\. \[ *\d+%\] (\S+)", self.log))

    def written(self) -> set[str]:
        """Give the pages that this build wrote."""
        return set(re.findall(r"writing output\.\.\. \[ *\d+%\] (\S+)", self.log))

    def page(self, docname: str) -> Page:
        """Give a page."""
        return parse((self.html / f"{docname}.html").read_text(encoding="utf-8"))


def copy(source: Path, target: Path) -> Path:
    """Copy a book, without what was built of it."""
    return shutil.copytree(source, target, ignore=shutil.ignore_patterns("_build"))


def build(root: Path) -> Built:
    """Build the book in a folder, with every warning an error."""
    log = root / "_build" / "log"
    log.parent.mkdir(exist_ok=True)
    process = _BUILDERS.Process(target=_build, args=(root, log, dict(os.environ)))
    process.start()
    process.join()
    return Built(root, process.exitcode or 0, _COLOUR.sub("", log.read_text(encoding="utf-8")))


# Each build is a process of its own, forked from one that has loaded what every build loads.
_BUILDERS = multiprocessing.get_context("forkserver")
_BUILDERS.set_forkserver_preload(["jupyter_book.cli.main", "polyhead_course.theme"])


def _build(root: Path, log: Path, environment: dict[str, str]) -> None:
    """Do in this process what the command `jupyter-book build` does, with its output in a file."""
    from jupyter_book.cli.main import main

    os.chdir(root)
    os.environ.update(environment)
    os.environ.pop(
        "JUPYTER_PATH", None
    )  # a book is executed by Jupyter's own kernel, not by that of our notebooks
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, sys.stdout.fileno())
    os.dup2(output, sys.stderr.fileno())
    main(["build", ".", "-W", "--keep-going", "-n"], prog_name="jupyter-book")
