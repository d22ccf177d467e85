"""Builds a book as a reader of the README would, for tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.pages import Page, parse

_SRC = Path(__file__).parents[1] / "src"
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
    command = Path(sys.executable).with_name("jupyter-book")
    done = subprocess.run(
        [str(command), "build", ".", "-W", "--keep-going", "-n"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(_SRC), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Built(root, done.returncode, _COLOUR.sub("", done.stdout + done.stderr))
