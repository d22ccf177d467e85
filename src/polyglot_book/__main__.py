"""The commands: `python -m polyglot_book <command>`, run in the book's root."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polyglot_book.config import Book
from polyglot_book.violations import NOTEBOOKS


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m polyglot_book", description="Tools for a book in several languages."
    )
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the folder of _config.yml (default: this one)"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, text in {
        "check": "run every check",
        "lab": "copy the notebooks to lab/, to work in; existing copies stay",
        "outdated": "list the notebooks that are not what their chapters and the library make",
        "sync": "copy the reference's code cells, and missing cells, to the translations",
        "translations": "show how many cells of each language are current, stale or missing",
    }.items():
        commands.add_parser(name, help=text)
    mark = commands.add_parser("mark", help="record that a translation is up to date")
    mark.add_argument("cell", help="<lang>/<chapter>#<cell>, or <lang>/<chapter> for all of its cells")
    notebooks = commands.add_parser("notebooks", help="make the notebooks, executing what changed")
    add = notebooks.add_argument
    add("chapters", nargs="*", metavar="chapter", help="as in ko/01-x, 01-x, or ko; default: all")
    add("--all", action="store_true", help="execute even what is up to date")
    add("--jobs", type=int, metavar="N", help="kernels at a time (default: one per CPU)")
    add("--limit", type=float, default=900, metavar="S", help="seconds a cell may take (default: 900)")
    return parser.parse_args(argv)


def _run(arguments: argparse.Namespace) -> bool:
    # Each command imports what it needs: jupytext and the kernels' client take a second.
    book = Book.load(arguments.root)
    match arguments.command:
        case "notebooks":
            from polyglot_book.notebooks import make_notebooks

            return make_notebooks(
                book, arguments.chapters, everything=arguments.all, jobs=arguments.jobs, limit=arguments.limit
            )
        case "lab":
            from polyglot_book.copies import LAB, copy_notebooks

            if names := copy_notebooks(book):
                print(f"{len(names)} notebooks copied to {LAB}/")
        case "outdated":
            from polyglot_book.notebooks import outdated

            if names := outdated(book):
                print(f"Notebooks older than their chapters or the library (run `{NOTEBOOKS}`):", *names)
            return not names
        case "check":
            from polyglot_book.checks import check_book, summary

            violations = check_book(book)
            print(*violations, summary(book, violations), sep="\n")
            return not violations
        case "translations":
            from polyglot_book.translations import check_translations, progress_table

            violations = check_translations(book)
            print(progress_table(book), *violations, sep="\n")
            return not violations
        case "sync":
            from polyglot_book.translations import sync

            sync(book)
        case "mark":
            from polyglot_book.translations import mark

            mark(book, arguments.cell)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0, or 1 where something is wrong with the book.
    """
    try:
        return 0 if _run(_arguments(argv)) else 1
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
