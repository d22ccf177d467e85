"""What the programs share that make files of the built site in a browser: their command line, Chromium."""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from polyglot_book.config import Book

# The first is the same engine without its window, and takes half the time.
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class PrintError(ValueError):
    """A file that cannot be made here."""


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """Start the system's Chromium, and close it at the end.

    Raises:
        PrintError: There is none.
    """
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        raise PrintError("no Chromium on the PATH (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


def run_program(
    name: str,
    description: str | None,
    make: Callable[[Book, Path, Path, Iterable[str]], Iterable[Path]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Make the files of the languages that a command line names, by default all; return the exit status.

    Args:
        name: The program's package, and the folder in `_build`.
        description: What `--help` says.
        make: Makes the files, of the book and its built site, in a folder, in these languages.
        arguments: The command line. If it names no language, what else is in the folder is removed.
    """
    parser = argparse.ArgumentParser(prog=f"python -m polyhead_course.{name}", description=description)
    parser.add_argument("languages", nargs="*", metavar="language", help="as in ko; default: all")
    parser.add_argument("--root", type=Path, default=Path(), help="the folder of _config.yml")
    options = parser.parse_args(arguments)
    try:
        book = Book.load(options.root)
        if unknown := {*options.languages} - {*book.languages}:
            raise PrintError(f"no such language: {', '.join(sorted(unknown))}")
        folder = book.root / "_build" / name
        folder.mkdir(parents=True, exist_ok=True)
        made = {*make(book, book.root / "_build" / "html", folder, options.languages or book.languages)}
        for path in () if options.languages else {*folder.iterdir()} - made:
            path.unlink()
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
